// SPDX-License-Identifier: Apache-2.0
// Reads that outlive a closure: a state that stays as it is until its owner moves on to a newer one, and then learns
// the changes between the two. For lists on a screen, long exports, and any code that must see one state in several
// steps.
//
// Such a read costs space: pages that later writes replace stay in the file until it moves or ends. So every read is
// listed with its age, and may have an age at which it ends by itself.

import Dispatch
import HornbeamPages
import HornbeamTree
import Synchronization

/// A read of one state of a database, for as long as it is kept. Any thread may use it, one at a time: others wait. It
/// ends with `close`, or when the last reference to it goes.
public final class LongLivedRead: Sendable {
    /// The state of the read. Only the holder of the turn changes it.
    ///
    /// `@unchecked Sendable`: its session and the transaction in it are used by the thread that has the turn, and
    /// nothing else refers to them.
    private struct Held: @unchecked Sendable {
        var session: TypedTransaction?
        var version: UInt64 = 0
        var began = ContinuousClock.now
        var hasExpired = false
        /// Whether the log has its age.
        var isLogged = false
        /// Whether the timer runs that ends it: one for all its states.
        var hasTimer = false
        /// Numbers the states it has been at, so that a state's end by age isn't another one's.
        var generation = 0
    }

    /// The owner of a session between its turns: contexts of former turns must not be used.
    private static let nobody = UInt.max

    private let database: Database
    /// Time from the beginning of a state to its end by itself, nil if it doesn't end by itself.
    public let maximumAge: Duration?
    /// A test of an observer's read: whether two states show the same.
    package typealias Comparison = @Sendable (_ old: TypedTransaction, _ new: TypedTransaction) throws -> Bool
    private let isSame: Comparison?
    /// Whether it is the read of an observer, which the database notifies when it closes.
    var isObservers: Bool { isSame != nil }
    private let turn = DispatchSemaphore(value: 1)
    /// The thread that has the turn.
    private let owner = Atomic<UInt>(0)
    private let held = Mutex(Held())

    /// - Parameter isSame: makes it an observer's, which at its age moves on to the newest state if it shows the same.
    package init(_ database: Database, maximumAge: Duration?, isSame: Comparison? = nil) throws {
        self.database = database
        self.isSame = isSame
        self.maximumAge = maximumAge
        database.longReads.add(self)
        try begin(try database.beginLongRead())
    }

    deinit {
        held.withLock { $0.session.take()?.end() }
        database.longReads.remove(ObjectIdentifier(self))
    }

    // MARK: - Reading

    /// Runs `body` in the state of this read. Throws `.snapshotExpired` once its age has ended it, and `.invalid` once
    /// it is closed, or inside another use of it.
    public func read<Result>(_ body: (Context) throws -> Result) throws -> Result {
        try inTurn { try $0.run { try body(Context($0)) } }
    }

    /// Moves on to the newest state. Returns whether it is another one. Everything read from the former state may be
    /// outdated then.
    @discardableResult
    public func moveForward() throws -> Bool {
        let former = version
        try moveForward { _ in }
        return version != former
    }

    /// Moves to the newest state, and runs `body` with both states, for example to find the changes between them. If
    /// `body` throws, the read stays where it was.
    public func moveForward<Result>(_ body: (Step) throws -> Result) throws -> Result {
        try inTurn { old in
            let new = try database.beginLongRead()
            new.owner = ThreadNumber.current
            defer { new.owner = Self.nobody }
            do {
                let result = try body(Step(before: Context(old), after: Context(new)))
                try old.checkIsWhole()
                try new.checkIsWhole()
                try begin(new)
                return result
            } catch {
                new.end()
                throw HornbeamError.typed(error)
            }
        }
    }

    /// Begins anew with the newest state, also after it has expired. The changes since the former state aren't known.
    public func restart() throws {
        try takeTurn()
        defer { giveTurn() }
        guard held.withLock({ $0.session != nil || $0.hasExpired }) else { throw closed }
        try begin(try database.beginLongRead())
    }

    /// Ends the read. Has no effect if it has ended.
    public func close() throws {
        try takeTurn()
        defer { giveTurn() }
        held.withLock { held in
            held.session.take()?.end()
            held.hasExpired = false
        }
    }

    // MARK: - Figures

    /// The number of the state's last write.
    public var version: UInt64 { held.withLock { $0.version } }
    /// The time since it began, or moved to its state.
    public var age: Duration { ContinuousClock.now - held.withLock { $0.began } }
    /// Whether it holds a state.
    public var isOpen: Bool { held.withLock { $0.session != nil } }
    /// Whether its age has ended it.
    public var hasExpired: Bool { held.withLock { $0.hasExpired } }

    /// The age of a state that is as old as `bound` or older, for the log. Returns nil if the log has it already.
    func ageToLog(from bound: Duration) -> Duration? {
        held.withLock { held in
            let age = held.began.duration(to: .now)
            guard held.session != nil, !held.isLogged, age >= bound else { return nil }
            held.isLogged = true
            return age
        }
    }

    // MARK: - Turns

    private func takeTurn() throws(HornbeamError) {
        let thread = ThreadNumber.current
        guard owner.load(ordering: .relaxed) != thread else {
            throw HornbeamError(.invalid, "a long-lived read is used inside a use of it: pass the context on instead")
        }
        turn.wait()
        owner.store(thread, ordering: .relaxed)
    }

    private func giveTurn() {
        owner.store(0, ordering: .relaxed)
        turn.signal()
    }

    private func inTurn<Result>(_ body: (TypedTransaction) throws -> Result) throws -> Result {
        try takeTurn()
        defer { giveTurn() }
        // The timer may be late on a busy machine; the maximum age must be exact all the same. An observer only comes
        // to move on.
        if !isObservers, let maximumAge, held.withLock({ $0.began.duration(to: .now) >= maximumAge }) { letGo(nil) }
        guard let session = held.withLock({ $0.session }) else { throw hasExpired ? expired : closed }
        session.owner = ThreadNumber.current
        defer { session.owner = Self.nobody }
        let result = try body(session)
        try session.run { try $0.checkIsWhole() }
        return result
    }

    private var closed: HornbeamError { HornbeamError(.invalid, "the long-lived read was closed") }
    private var expired: HornbeamError {
        HornbeamError(
            .snapshotExpired,
            "the long-lived read was older than \(maximumAge.map { "\($0)" } ?? "its database"), so that what it held "
                + "was let go: call restart() and load again what is shown")
    }

    /// Replaces the state by a new one.
    private func begin(_ session: TypedTransaction) throws(HornbeamError) {
        let version = try session.core.transaction.version
        let hasTimer = held.withLock { held in
            held.session?.end()
            held.session = session
            held.version = version
            held.began = .now
            held.hasExpired = false
            held.isLogged = false
            held.generation += 1
            defer { held.hasTimer = maximumAge != nil }
            return held.hasTimer
        }
        if let maximumAge, !hasTimer { setTimer(maximumAge) }
    }

    private func setTimer(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let delay = Double(seconds) + Double(attoseconds) / 1e18
        let queue = isObservers ? database.live.queue : .global()
        queue.asyncAfter(deadline: .now() + max(0, delay)) { [weak self] in self?.lookAtAge() }
    }

    /// Runs when the timer fires. A newer state gets the rest of its time. A state of the full age ends.
    private func lookAtAge() {
        guard let maximumAge else { return }
        let (generation, rest) = held.withLock { held -> (Int?, Duration?) in
            let rest = maximumAge - held.began.duration(to: .now)
            if held.session != nil, rest > .zero { return (nil, rest) }
            held.hasTimer = false
            return (held.session == nil ? nil : held.generation, nil)
        }
        if let rest { setTimer(rest) }
        guard let generation else { return }
        if isObservers { renew(generation) } else { expire(generation) }
    }

    /// Runs when an observer's read has reached its maximum age, on the hub's queue. Its state is released, but a
    /// waiting consumer is still told of the next changes.
    private func renew(_ generation: Int) {
        if moveOn(generation) || held.withLock({ $0.generation != generation }) { return }
        // Notifies waiting consumers of the latest commits. After that the read has another state.
        database.live.pass()
        expire(generation)
    }

    /// Takes the newest state if it shows the same.
    private func moveOn(_ generation: Int) -> Bool {
        turn.wait()
        defer { turn.signal() }
        guard let isSame, let old = held.withLock({ $0.generation == generation ? $0.session : nil }),
            let new = try? database.beginLongRead()
        else { return false }
        old.owner = ThreadNumber.current
        defer { old.owner = Self.nobody }
        do {
            guard try isSame(old, new) else {
                new.end()
                return false
            }
            try old.checkIsWhole()
            try new.checkIsWhole()
            try begin(new)
            return true
        } catch {
            // The error is met by the next move of the read.
            new.end()
            return false
        }
    }

    /// Releases the state. Waits for the current reader, whose pages must stay.
    func expire(_ generation: Int? = nil) {
        turn.wait()
        defer { turn.signal() }
        letGo(generation)
    }

    /// Releases the state. The caller must have the turn.
    private func letGo(_ generation: Int?) {
        held.withLock { held in
            guard held.session != nil, generation ?? held.generation == held.generation else { return }
            held.session.take()?.end()
            held.hasExpired = true
        }
    }
}

extension LongLivedRead {
    /// The two states of a move.
    public struct Step {
        public let before: Context
        public let after: Context

        /// Returns the entities of a type that were added, changed and removed.
        public func changes<Entity>(of type: Entity.Type) throws -> EntityChanges<Entity> {
            try EntityChanges(from: before, to: after)
        }
    }
}

/// A long-lived read, as listed by `longLivedReads`.
public struct LongLivedReadDescription: Sendable, Equatable {
    /// The number of the state's last write.
    public let version: UInt64
    /// The time since it began, or moved to its state.
    public let age: Duration
    public let maximumAge: Duration?
}

/// The open long-lived reads of a database.
final class LongLivedReads: Sendable {
    private struct Known {
        weak var read: LongLivedRead?
    }

    private let known = Mutex<[ObjectIdentifier: Known]>([:])

    func add(_ read: LongLivedRead) { known.withLock { $0[ObjectIdentifier(read)] = Known(read: read) } }
    func remove(_ read: ObjectIdentifier) { known.withLock { $0[read] = nil } }
    var all: [LongLivedRead] { known.withLock { $0.values.compactMap(\.read) } }
}

extension Database {
    /// Begins a read of the newest state that lasts until it is closed or moved forward. Pages that writes replace
    /// meanwhile stay in the file, which grows by them. `longLivedReads` lists the open reads, and
    /// `statistics.snapshotBytes` is the size of these pages. The database can't be closed before the read is.
    ///
    /// - Parameter maximumAge: the time that it may stay at one state. Then it ends by itself, and reads throw
    /// `.snapshotExpired`. The file grows no further.
    public func longLivedRead(maximumAge: Duration? = nil) throws -> LongLivedRead {
        if let maximumAge, maximumAge <= .zero {
            throw HornbeamError(.invalid, "a long-lived read can't have the maximal age \(maximumAge)")
        }
        return try LongLivedRead(self, maximumAge: maximumAge)
    }

    /// The long-lived reads that hold a state, the oldest state first.
    public var longLivedReads: [LongLivedReadDescription] {
        longReads.all.filter(\.isOpen)
            .map { LongLivedReadDescription(version: $0.version, age: $0.age, maximumAge: $0.maximumAge) }
            .sorted { ($0.version, $1.age) < ($1.version, $0.age) }
    }
}
