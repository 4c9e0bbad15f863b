// SPDX-License-Identifier: Apache-2.0
// A store of named trees over a paged file: opens and closes it, and begins transactions. It has no state of trees: all
// of that is reached from the root that a snapshot sees.

package import HornbeamPages
import Synchronization

/// Named trees in one file or in memory. Any thread may use it.
package final class TreeStore: Sendable {
    let pages: PageStore
    let writing: TreeWriting
    var names: TreeNames { writing.names }

    private init(
        options: StoreOptions, reductions: [Reduction],
        open: (@escaping StructureCheck, @escaping PageStore.Replay) throws(StorageError) -> PageStore
    ) throws(StorageError) {
        let names = TreeNames(reductions: try Reductions(reductions))
        // Recovery replays one record after the other, in one thread.
        let replaying = Mutex<WriterMemory?>(nil)
        pages = try open(
            { (page, kind) in NodeValidation.problem(page, kind: kind) },
            { (record, writer) throws(StorageError) in
                let memory = try replaying.withLock { (held) throws(StorageError) in
                    if let held { return held }
                    let memory = try WriterMemory(pageSize: writer.view.pageSize)
                    held = memory
                    return memory
                }
                try Transaction.replay(record, with: writer, memory: memory, names: names)
            })
        let writing = TreeWriting(names: names, durability: options.durability)
        self.writing = writing
        pages.maintenance.withLock { $0 = { writing.giveBack(in: $0, isIdle: $1) } }
    }

    deinit { pages.endThread() }

    /// Opens (or creates) the store in the file at `path`. `reductions` must have the reductions of its trees: changing
    /// a tree, or recovering such a change after a crash, needs the reduction that the tree was created with.
    package static func open(
        at path: String, options: StoreOptions = StoreOptions(), reductions: [Reduction] = []
    ) throws(StorageError) -> TreeStore {
        try TreeStore(options: options, reductions: reductions) { (structure, replay) throws(StorageError) in
            try PageStore.open(path: path, options: options, structure: structure, replay: replay)
        }
    }

    /// Opens (or creates) the store in `file`. For simulated disks, and stores without a file.
    package static func open(
        file: any StoreFile, options: StoreOptions = StoreOptions(), reductions: [Reduction] = []
    ) throws(StorageError) -> TreeStore {
        try TreeStore(options: options, reductions: reductions) { (structure, replay) throws(StorageError) in
            try PageStore.open(file: file, options: options, structure: structure, replay: replay)
        }
    }

    /// Opens the store in `file` for reading, beside a writer in another process.
    package static func follow(
        _ file: any SharedFile, options: StoreOptions, reductions: [Reduction] = []
    ) throws(StorageError) -> TreeStore {
        try TreeStore(options: options, reductions: reductions) { (structure, replay) throws(StorageError) in
            try PageStore.follow(file: file, options: options, structure: structure, replay: replay)
        }
    }

    /// Makes a store without a file.
    package static func inMemory(
        options: StoreOptions = StoreOptions(), reductions: [Reduction] = []
    ) throws(StorageError) -> TreeStore {
        try open(file: try MemoryFile(), options: options, reductions: reductions)
    }

    /// Gives the store one more reduction, or replaces the one with its name, for trees that are opened from now on.
    /// Throws `.invalid` unless its values may be absent: recovery can do without such a reduction only.
    package func register(_ reduction: Reduction) throws(StorageError) {
        guard reduction.isOptional else {
            throw .invalid("reduction “\(reduction.name)” must be given when the store is opened")
        }
        try names.reductions.add(reduction)
    }

    /// Throws in a forked child of the process that opened the store. For callers with locks of their own.
    package func checkProcess() throws(StorageError) { try pages.checkProcess() }

    /// Begins a read of the newest committed state. Any number of reads may be open, in any thread. Never blocks.
    package func beginRead() throws(StorageError) -> Transaction {
        Transaction(store: pages, view: try pages.beginRead(), writer: nil, names: names)
    }

    /// Begins the one write transaction, in the writer's turn. Throws `.busy` if it may not wait for the turn and would
    /// have to, `.invalid` if it would wait for a transaction begun by this thread.
    package func beginWrite(_ wait: TurnWait = .inOrder) throws(StorageError) -> Transaction {
        try writing.begin(pages, wait)
    }

    /// Whether this thread has a write transaction open. If so, waiting for another one would be a deadlock.
    package var isWriting: Bool { pages.isWriting }

    /// Makes all commits durable and empties the journal.
    package func checkpoint() throws(StorageError) { try pages.checkpoint() }

    /// Makes `encryption` a key of an encrypted store: see `PageStore.rekey`.
    package func rekey(_ encryption: any StoreEncryption, keepsOthers: Bool) throws(StorageError) {
        try pages.rekey(encryption, keepsOthers: keepsOthers)
    }

    /// Checkpoints and releases the file. If that is little work, moves the file's last pages into free space first
    /// (`compactEnd`). Throws `.busy` while transactions are open.
    package func close() throws(StorageError) {
        var failure: StorageError?
        do throws(StorageError) { try compactEnd() } catch { failure = error }
        try pages.close()
        if let failure { throw failure }
    }

    /// The figures of the page layer. Trees add none of their own.
    package var statistics: PageStatistics { pages.statistics }
}

/// The parts of write transactions over trees without the pages. The store's thread has a reference to it, which must
/// not keep the store alive.
final class TreeWriting: Sendable {
    let names: TreeNames
    private let durability: Durability
    /// Memory for the holder of the write transaction. Made by the first one after a time without commits.
    private let memory = Mutex<WriterMemory?>(nil)
    let removed = RemovedEntries()

    init(names: TreeNames, durability: Durability) {
        self.names = names
        self.durability = durability
    }

    private func takeMemory(pageSize: Int) throws(StorageError) -> WriterMemory {
        try memory.withLock { (held) throws(StorageError) in
            if let held { return held }
            let memory = try WriterMemory(pageSize: pageSize, removed: removed)
            held = memory
            return memory
        }
    }

    /// Releases memory that the next write transaction can make again. An open transaction keeps its own.
    func forgetMemory() { memory.withLock { $0 = nil } }

    func begin(_ pages: PageStore, _ wait: TurnWait) throws(StorageError) -> Transaction {
        let writer = try pages.beginWrite(wait)
        let memory: WriterMemory
        do throws(StorageError) {
            memory = try takeMemory(pageSize: writer.view.pageSize)
        } catch {
            writer.abort()
            throw error
        }
        memory.redo.begin(limit: pages.maximumRedoSize)
        return Transaction(
            store: pages, view: writer.view, writer: TreeWriter(pages: writer, memory: memory), names: names,
            durability: durability)
    }
}
