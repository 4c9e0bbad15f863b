// SPDX-License-Identifier: Apache-2.0
// Reads that outlive a closure. They keep a state until their owner moves to a newer one, and gets the changes between
// the two. For lists on a screen, long exports, and any code that must see one state in several steps.
//
// Such a read costs space: pages that later writes replace stay in the file until it moves or ends. So all reads are
// listed with their ages, and a read may have a maximum age at which it ends.

import Dispatch
import HornbeamPages
import HornbeamTree
import Synchronization

/// A read that keeps one state of a database. Any thread may use it, one at a time: others wait. It ends with `close`,
/// or when the last reference to it is released.
public final class LongLivedRead: Sendable {
    /// The state of the read. Only the holder of the turn changes it.
    ///
    /// `@unchecked Sendable`: only the thread that has the turn uses its session and the transaction in it, and nothing
    /// else refers to them.
    private struct Held: @unchecked Sendable {
        var session: TypedTransaction?
        var version: UInt64 = 0
        var began = ContinuousClock.now
        var hasExpired = false
        /// Whether its age has been logged.
        var isLogged = false
        /// Whether the timer that ends it is running. One timer serves all its states.
        var hasTimer = false
        /// Number of states that it has had, so that the timer of one state doesn't end another.
        var generation = 0
    }

    /// The owner of a session between turns, because contexts of former turns must not be used.
    private static let nobody = UInt.max

    private let database: Database
    /// The age at which a state ends automatically, or nil if it doesn't.
    public let maximumAge: Duration?
    /// Returns whether two states give an observer equal results.
    package typealias Comparison = @Sendable (_ old: TypedTransaction, _ new: TypedTransaction) throws -> Bool
    private let isSame: Comparison?
    /// Whether it is the read of an observer, which the database ends when it closes.
    var isObservers: Bool { isSame != nil }
    private let turn = DispatchSemaphore(value: 1)
    /// The thread that has the turn.
    private let owner = Atomic<UInt>(0)
    private let held = Mutex(Held())

    /// - Parameter isSame: makes it the read of an observer. At its maximum age it moves to the newest state if that
    ///   gives equal results.
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

    /// Runs `body` in the state of this read. Throws `.snapshotExpired` if the maximum age has ended it, and `.invalid`
    /// if it is closed, or inside another use of it.
    public func read<Result>(_ body: (Context) throws -> Result) throws -> Result {
        try inTurn { try $0.run { try body(Context($0)) } }
    }

    /// Moves to the newest state. Returns whether it is another one, so that values read before may be outdated.
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

    /// Begins again with the newest state, even if the read has expired. The changes since the former state aren't
    /// known. Throws `.invalid` if it is closed.
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
    /// The time since it began, or moved to its present state.
    public var age: Duration { ContinuousClock.now - held.withLock { $0.began } }
    /// Whether it keeps a state.
    public var isOpen: Bool { held.withLock { $0.session != nil } }
    /// Whether its maximum age has ended it.
    public var hasExpired: Bool { held.withLock { $0.hasExpired } }

    /// Returns the age of a state that is at least as old as `bound`, for the log. Returns nil if the state is younger,
    /// or is logged already.
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
            throw HornbeamError(.invalid, "a long-lived read can't be used inside its own closure: pass the context on")
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
        // The maximum age must be exact, but the timer may be late on a busy machine. An observer only takes a turn to
        // move on.
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
            "the long-lived read was ended, because it was older than \(maximumAge.map { "\($0)" } ?? "its database"): "
                + "call restart(), and load the shown values again")
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

    /// Runs when the timer fires. A newer state gets the rest of its time. A state with the maximum age ends.
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
    /// waiting consumer still gets the next changes.
    private func renew(_ generation: Int) {
        if moveOn(generation) || held.withLock({ $0.generation != generation }) { return }
        // Passes the latest commits to waiting consumers. After that the read has another state.
        database.live.pass()
        expire(generation)
    }

    /// Moves to the newest state if it gives equal results. Returns whether it did.
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
            // The next move of the read will throw the error.
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
        /// The state before the move.
        public let before: Context
        /// The state after the move.
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
    /// The time since it began, or moved to its present state.
    public let age: Duration
    /// The age at which its state ends, or nil if it doesn't end automatically.
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
    /// Begins a read of the newest state that lasts until it is closed or moved forward. The file grows by the pages
    /// that writes replace meanwhile: `statistics.snapshotBytes` is their size, and `longLivedReads` lists the open
    /// reads. The database can't be closed before the read is. Throws `.invalid` if `maximumAge` isn't positive.
    ///
    /// - Parameter maximumAge: the time that it may keep one state. Then it ends automatically, and its reads throw
    /// `.snapshotExpired`.
    public func longLivedRead(maximumAge: Duration? = nil) throws -> LongLivedRead {
        if let maximumAge, maximumAge <= .zero {
            throw HornbeamError(.invalid, "a long-lived read can't have the maximum age \(maximumAge)")
        }
        return try LongLivedRead(self, maximumAge: maximumAge)
    }

    /// The long-lived reads that keep a state, the oldest state first.
    public var longLivedReads: [LongLivedReadDescription] {
        longReads.all.filter(\.isOpen)
            .map { LongLivedReadDescription(version: $0.version, age: $0.age, maximumAge: $0.maximumAge) }
            .sorted { ($0.version, $1.age) < ($1.version, $0.age) }
    }
}
