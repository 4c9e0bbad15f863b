// SPDX-License-Identifier: Apache-2.0
// Reads a file that another process may be writing: finds the newest state that its writer told, and pins it as long as
// a snapshot of it is open. Needs no right to write. See Announcer for the protocol.
//
//   process                         the newest state is
//   a writer that has told one      in the shared root, unless the writer is in arrears: then a newer one will come
//   a writer that has told none     the checkpoint's, unless the writer is recovering: then one will come in a moment.
//                                   It tells a state before it writes its first header
//   none, the file was closed       the checkpoint's
//   none, the file was not closed   found after recovering the file, which needs the right to write
//
// The result stays right as long as the shared root is unchanged and no other writer's life has begun: the shared root
// of a writer that dies stays.

import Synchronization

/// The reading store's knowledge of the newest state. Any thread may use it.
final class Follower: Sendable {
    private let file: any SharedFile
    private let verification: Verification
    /// Opens the file for writing and closes it again.
    private let recover: @Sendable () throws(StorageError) -> Void
    private let held = Mutex(Held())

    /// Guarded by the mutex.
    private struct Held {
        /// The shared root's identity when the state was found, and the writer's life then; 0 if there was no writer.
        var identity = SharedRoot.Identity(life: 0, sequence: 0)
        var life: UInt64 = 0
        var state = PublishedState(transaction: 0, root: RootRecord())
        /// The header of the state, if there is no writer.
        var header: HeaderSlot?
        var figures = PageStatistics()
        /// Open snapshots by transaction; each transaction is pinned once.
        var snapshots: [UInt64: Int] = [:]
        /// Whether no more snapshots may begin.
        var isClosed = false
    }

    /// A state, and its source.
    struct Found {
        var root: SharedRoot
        /// The writer's life; 0 if there is no writer.
        var life: UInt64
        /// The checkpoint's header, if the state is the checkpoint's and was not told.
        var header: HeaderSlot?
    }

    private static var attempts: Int { 10_000 }

    init(
        file: any SharedFile, verification: Verification, recover: @escaping @Sendable () throws(StorageError) -> Void
    ) {
        self.file = file
        self.verification = verification
        self.recover = recover
    }

    // MARK: Snapshots

    /// Returns the newest state, pinned. Throws `.busy` if new states come faster than one can be pinned.
    func begin() throws(StorageError) -> PublishedState {
        try held.withLock { (held) throws(StorageError) in
            if held.isClosed { throw .invalid("the store is closed") }
            for _ in 0..<Self.attempts {
                try renew(&held)
                if try pin(held.state.transaction, &held) { return held.state }
            }
            throw .busy("\(file.path) changes faster than a read can begin: try again")
        }
    }

    func end(_ state: PublishedState) {
        held.withLock { held in
            guard let count = held.snapshots[state.transaction] else { return }
            held.snapshots[state.transaction] = count > 1 ? count - 1 : nil
            if count == 1 { file.locks.unpin(state.transaction) }
        }
    }

    /// Prevents further snapshots. Returns false, without effect, if one is open. Both happen under one lock, because a
    /// snapshot that began between them would read a file that is released.
    func close() -> Bool {
        held.withLock { held in
            guard held.snapshots.isEmpty else { return false }
            held.isClosed = true
            return true
        }
    }

    /// Whether this header describes the newest state, as of the last snapshot that began, and no writer has come
    /// since. The transaction alone doesn't show that, and neither does the shared root: a compaction ends with
    /// checkpoints of one state, which is told once.
    func describes(_ header: HeaderSlot) -> Bool {
        held.withLock { held in
            guard held.header == header else { return false }
            do throws(StorageError) {
                guard try isCurrent(held) else { return false }
                return try PageStore.readHeader(file, verification.cipher) == header
            } catch {
                return false
            }
        }
    }

    /// Fills in the figures that the newest state came with.
    func fill(_ figures: inout PageStatistics) {
        held.withLock { held in
            figures.transaction = held.state.transaction
            figures.fileBytes = held.figures.fileBytes
            figures.usedBytes = held.figures.usedBytes
            figures.retiredBytes = held.figures.retiredBytes
            figures.journalBytes = held.figures.journalBytes
            figures.checkpoint = held.figures.checkpoint
            figures.olderSnapshots = held.snapshots.keys.count { $0 != held.state.transaction }
        }
    }

    /// Pins the state. Returns false if another one was announced meanwhile.
    private func pin(_ transaction: UInt64, _ held: inout Held) throws(StorageError) -> Bool {
        if let count = held.snapshots[transaction] {
            held.snapshots[transaction] = count + 1
            return true
        }
        try file.locks.pin(transaction)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        let isNewest: Bool
        do throws(StorageError) {
            isNewest = try isCurrent(held)
        } catch {
            file.locks.unpin(transaction)
            throw error
        }
        guard isNewest else {
            file.locks.unpin(transaction)
            return false
        }
        held.snapshots[transaction] = 1
        return true
    }

    // MARK: The newest state

    /// Whether no other state has been told since, and no other life has begun.
    private func isCurrent(_ held: Held) throws(StorageError) -> Bool {
        if let life = try file.locks.life(), life != held.life { return false }
        return try SharedRoot.identity(reader) == held.identity
    }

    /// Takes over another state if one was announced.
    private func renew(_ held: inout Held) throws(StorageError) {
        if try isCurrent(held) { return }
        let root = try told
        if let root, root.hasState, root.identity.life == held.life, try file.locks.life() == held.life {
            return try note(Found(root: root, life: held.life, header: nil), &held)
        }
        // Another life. The gate shows whether its writer is still opening the file, or died while doing so.
        let found = try find { found in found }
        try note(found, &held)
    }

    /// Makes the state that was found at opening the newest.
    func note(_ found: Found) throws(StorageError) {
        try held.withLock { (held) throws(StorageError) in try note(found, &held) }
    }

    /// Takes the used size from the space map, for a state that no writer has told.
    func noteUsed(sectors: UInt64) { held.withLock { $0.figures.usedBytes = sectors << FileFormat.sectorShift } }

    private func note(_ found: Found, _ held: inout Held) throws(StorageError) {
        let root = found.root
        guard root.fileSectors <= UInt64(file.maximumBytes) >> FileFormat.sectorShift else {
            throw .unsupported(
                "\(file.path) is larger than the address space of this process: raise the limit (ulimit -v)")
        }
        if found.life != held.life { verification.forgetBirths() }
        let sectors = Swift.min(root.fileSectors, try file.size() >> FileFormat.sectorShift)
        verification.noteFileSize(sectors: sectors)
        held.identity = root.identity
        held.life = found.life
        held.header = found.life == 0 ? found.header : nil
        held.state = PublishedState(transaction: root.transaction, root: root.root)
        held.figures.fileBytes = sectors << FileFormat.sectorShift
        held.figures.retiredBytes = root.retiredSectors << FileFormat.sectorShift
        held.figures.journalBytes = root.journalSectors << FileFormat.sectorShift
        held.figures.checkpoint = root.checkpoint
        // A header has no used size, so the last known one stays.
        if root.usedSectors > 0 { held.figures.usedBytes = root.usedSectors << FileFormat.sectorShift }
    }

    /// Finds the newest state with the gate closed, so that no writer begins meanwhile, and passes it to `body` before
    /// the gate opens. Waits for a writer that is just opening the file. A reader that has only begun to attend also
    /// waits for a writer that is in arrears.
    func find<Result>(
        isOpening: Bool = false, _ body: (Found) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        var waited = 0
        while true {
            let found = try lookOnce(isOpening)
            defer { file.locks.openGate() }
            switch found {
            case .state(let found): return try body(found)
            case .notRecovered:
                file.locks.openGate()
                try recover()
            case .opening, .inArrears:
                file.locks.openGate()
                guard waited < Claim.gateMilliseconds else {
                    let time = "\(waited / 1000) s"
                    if case .opening = found {
                        throw .busy("another process has been opening \(file.path) for \(time): is it stopped?")
                    }
                    throw .busy(
                        "another process has kept commits of \(file.path) in its memory for \(time): is it stopped, "
                            + "or has writing failed? They can be read once it closes the file or ends")
                }
                Claim.pause(milliseconds: 1)
                waited += 1
            }
        }
    }

    private enum Look {
        case state(Found)
        case notRecovered
        case opening
        case inArrears
    }

    /// Looks once. Closes the gate and leaves it closed, unless it throws.
    private func lookOnce(_ isOpening: Bool) throws(StorageError) -> Look {
        try Claim.closeGate(file.locks, .shared, file.path)
        do throws(StorageError) {
            return try look(isOpening)
        } catch {
            file.locks.openGate()
            throw error
        }
    }

    /// Reads the shared root's identity for each snapshot. All else is read with system calls, for which an unreadable
    /// sector is an error and not zeros.
    private var reader: FileReader { FileReader(file, mapping: file.mapping) }
    private var told: SharedRoot? {
        get throws(StorageError) { try SharedRoot.read(FileReader(file, mapping: nil), verification.cipher) }
    }

    private func look(_ isOpening: Bool) throws(StorageError) -> Look {
        // Before the told state is read, so that the state is as new as this answer.
        if isOpening, try file.locks.isInArrears() { return .inArrears }
        // Before all else: if a state is told meanwhile, the state found here is not the newest any more.
        let identity = try SharedRoot.identity(reader)
        let life = try file.locks.life()
        let told = try self.told
        if let told, let life, told.identity.life == life {
            return told.hasState ? .state(Found(root: told, life: life, header: nil)) : .opening
        }
        // The writer is just telling its first state.
        if told == nil, let life, identity.life == life { return .opening }
        // With the gate closed, a writer without a life can only be about to end.
        if life == nil, try file.locks.isWritten() { return .opening }
        let header = try PageStore.readHeader(file, verification.cipher)
        // A living writer would have told the states of the journal's records if they were durable.
        if life == nil, try PageStore.hasRecords(header, file, verification.cipher) { return .notRecovered }
        var root = SharedRoot(identity: identity)
        root.transaction = header.transaction
        root.root = header.root
        root.fileSectors = try file.size() >> FileFormat.sectorShift
        root.checkpoint = header.checkpoint
        return .state(Found(root: root, life: life ?? 0, header: header))
    }
}
