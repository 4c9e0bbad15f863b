// SPDX-License-Identifier: Apache-2.0
// Tells which other stores have the file open, by locks on single bytes far beyond any byte of the file. The kernel
// releases the locks when their process dies, however it dies, so a dead process can't block anybody.
//
//   offset                  held
//   2^61          gate      for a moment by a process that finds out whether a writer lives: shared by readers,
//                           exclusive by a writer until its life has begun
//   2^61 + 1      writer    exclusive by the one store that may write, as long as it is open
//   2^61 + 2      attendance    shared by every store that has the file open for reading, from before it looks for
//                           the newest state
//   2^61 + 3      arrears   exclusive by the writer while there is a durable commit that it hasn't told: it doesn't
//                           write for others while no other process reads
//   2^61 + 2^60   life      exclusive by the writer, once it may change the file: a random byte of 2^60, which names
//     + life                its life, so that readers know whether the shared root is from it or from a former writer
//   2^62 + t      reader    shared by every store in another process with a snapshot of transaction t
//
// A reader's pin is the lock itself: it needs no right to write and no slot, and there is no limit on the number of
// pins. All locks are open-file-description locks on a description of their own: the mapping keeps the file's first
// description alive, and a forked child keeps all that it inherited (see fork.c).

import CHornbeamShims
import Glibc

/// The system's calls, so that tests can replace them. Both return 0 or an errno. A count of 0 in `set` means: to the
/// greatest offset.
package struct LockCalls: Sendable {
    package enum Mode: Int32, Sendable { case none, shared, exclusive }

    package var set: @Sendable (_ descriptor: Int32, Mode, _ start: UInt64, _ count: UInt64) -> Int32
    /// Finds a lock of another process in the range; count 0 if there is none.
    package var find: @Sendable (_ descriptor: Int32, Range<UInt64>) -> (code: Int32, start: UInt64, count: UInt64)

    package static let system = LockCalls(
        set: { descriptor, mode, start, count in
            hbs_lock(descriptor, mode.rawValue, Int64(start), Int64(count))
        },
        find: { descriptor, range in
            var start: Int64 = 0
            var count: Int64 = 0
            let code = hbs_find_lock(
                descriptor, Int64(range.lowerBound), Int64(range.upperBound - range.lowerBound), &start, &count)
            return (code, UInt64(start), UInt64(count))
        })
}

/// One store's locks on its file. Any thread may use it; in a forked child it does nothing.
package final class FileLocks: Neighbours {
    private let descriptor: Int32
    private let path: String
    let calls: LockCalls
    private let generation = hbs_fork_generation()

    static var gate: UInt64 { 1 << 61 }
    static var writer: UInt64 { gate + 1 }
    /// Numbers of lives are less than this.
    static var lives: UInt64 { 1 << 60 }
    private static var attendance: UInt64 { gate + 2 }
    private static var arrears: UInt64 { gate + 3 }
    private static var firstLife: UInt64 { gate + lives }
    /// The first reader's byte, which stands for transaction 0.
    package static var readers: UInt64 { 1 << 62 }

    /// Opens a second file description of the file behind `descriptor`.
    init(of descriptor: Int32, path: String, canWrite: Bool, calls: LockCalls) throws(StorageError) {
        let mode = canWrite ? O_RDWR : O_RDONLY
        var own = Self.open(path, mode, as: descriptor) ?? hbs_reopen(descriptor, mode)
        // A file without a name, and no /proc: the locks belong to its first description, which a forked child keeps.
        if own < 0 { own = dup(descriptor) }
        guard own >= 0 else { throw .io(operation: "open", path: path, errno: errno) }
        guard hbs_fork_close(own) == 0 else {
            close(own)
            throw .io(operation: "open", path: path, errno: ENOMEM)
        }
        self.descriptor = own
        self.path = path
        self.calls = calls
    }

    /// Opens the file at `path`, if it is still the one behind `descriptor`.
    private static func open(_ path: String, _ mode: Int32, as descriptor: Int32) -> Int32? {
        let own = Glibc.open(path, mode | O_CLOEXEC | O_NOCTTY)
        guard own >= 0 else { return nil }
        var first = stat()
        var second = stat()
        if fstat(descriptor, &first) == 0, fstat(own, &second) == 0, FileIdentity(first) == FileIdentity(second) {
            return own
        }
        close(own)
        return nil
    }

    deinit {
        // A forked child has closed the descriptor already, and its number may be another file's by now.
        guard generation == hbs_fork_generation() else { return }
        hbs_fork_forget(descriptor)
        _ = calls.set(descriptor, .none, 0, 0)
        close(descriptor)
    }

    /// The locks of a store on the file of `descriptor`. For writing, takes the writer's lock and the gate, or throws
    /// `.busy`.
    package convenience init(
        on descriptor: Int32, path: String, options: StoreOptions, calls: LockCalls
    ) throws(StorageError) {
        try self.init(of: descriptor, path: path, canWrite: !options.readOnly, calls: calls)
        if !options.readOnly { _ = try Claim(locks: self, path: path, options: options) }
    }

    /// Gives up all locks, which can be taken again.
    package func releaseAll() { change(.none, 0, 0) }

    // MARK: Gate and writer

    /// Takes the gate. Returns false if another process has it; none holds it for long.
    func tryGate(_ mode: LockCalls.Mode) throws(StorageError) -> Bool { try take(mode, Self.gate) }

    package func begin(life: UInt64) throws(StorageError) {
        guard try take(.exclusive, Self.firstLife + life) else {
            throw .io(operation: "lock", path: path, errno: EAGAIN)
        }
    }

    package func hasBegun() { openGate() }

    /// The life of the writer that has the file in another process; nil if there is none, or if its life has not begun.
    func life() throws(StorageError) -> UInt64? {
        try find(Self.firstLife..<Self.firstLife + Self.lives).map { $0.lowerBound - Self.firstLife }
    }

    func openGate() { change(.none, Self.gate, 1) }

    /// Takes the writer's lock. Returns false if another store has it.
    func tryWriter() throws(StorageError) -> Bool { try take(.exclusive, Self.writer) }

    /// Whether another process has the file open for writing.
    func isWritten() throws(StorageError) -> Bool {
        let found = try find(Self.writer..<Self.writer + 1)
        return found != nil
    }

    // MARK: Readers

    /// Notes that this store reads, so that the writer announces each durable commit at once. Lasts until `releaseAll`.
    func attend() throws(StorageError) {
        guard try take(.shared, Self.attendance) else { throw .io(operation: "lock", path: path, errno: EAGAIN) }
    }

    package func attendsAny() throws(StorageError) -> Bool {
        try find(Self.attendance..<Self.attendance + 1) != nil
    }

    package func beginArrears() throws(StorageError) {
        guard try take(.exclusive, Self.arrears) else { throw .io(operation: "lock", path: path, errno: EAGAIN) }
    }

    package func endArrears() { change(.none, Self.arrears, 1) }

    /// Whether the writer has durable commits that it hasn't told.
    func isInArrears() throws(StorageError) -> Bool { try find(Self.arrears..<Self.arrears + 1) != nil }

    func pin(_ transaction: UInt64) throws(StorageError) {
        guard try take(.shared, Self.readers + transaction) else {
            throw .io(operation: "lock", path: path, errno: EAGAIN)
        }
    }

    func unpin(_ transaction: UInt64) { change(.none, Self.readers + transaction, 1) }

    /// The transactions that readers in other processes have snapshots of, in no order.
    package func pins() throws(StorageError) -> [Range<UInt64>] {
        var pinned: [Range<UInt64>] = []
        // The system names any one lock in a range, so the rest of the range on both sides of it is asked for again.
        var ranges = [Self.readers..<Self.readers + FileFormat.maximumNumber]
        while let range = ranges.popLast() {
            guard let found = try find(range) else { continue }
            pinned.append(found.lowerBound - Self.readers..<found.upperBound - Self.readers)
            if range.lowerBound < found.lowerBound { ranges.append(range.lowerBound..<found.lowerBound) }
            if found.upperBound < range.upperBound { ranges.append(found.upperBound..<range.upperBound) }
        }
        return pinned
    }

    // MARK: Calls

    private func take(_ mode: LockCalls.Mode, _ start: UInt64) throws(StorageError) -> Bool {
        while true {
            switch calls.set(descriptor, mode, start, 1) {
            case 0: return true
            case EINTR: continue
            case EAGAIN, EACCES: return false
            case let code: throw failure(code)
            }
        }
    }

    private func change(_ mode: LockCalls.Mode, _ start: UInt64, _ count: UInt64) {
        guard generation == hbs_fork_generation() else { return }
        while calls.set(descriptor, mode, start, count) == EINTR {}
    }

    /// Finds a lock in the range, cut to the range.
    private func find(_ range: Range<UInt64>) throws(StorageError) -> Range<UInt64>? {
        while true {
            let found = calls.find(descriptor, range)
            if found.code == EINTR { continue }
            guard found.code == 0 else { throw failure(found.code) }
            let places = (found.start..<found.start + found.count).clamped(to: range)
            return places.isEmpty ? nil : places
        }
    }

    private func failure(_ code: Int32) -> StorageError {
        switch code {
        case ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL:
            let reason = SystemErrorText.of(code)
            return .unsupported(
                "locks on \(path): \(reason) (errno \(code)). Without them two processes could write at once: "
                    + "keep the store on a file system with file locks, such as a local disk")
        default: return .io(operation: "lock", path: path, errno: code)
        }
    }
}
