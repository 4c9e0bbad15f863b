// SPDX-License-Identifier: Apache-2.0
// Builds a registered index beside readers and writers, in short write transactions. Each one waits behind the writers
// that are already waiting.
//
// 1. The first transaction makes a record of the build. From then on the former state of each row that changes is noted
//    once, as for any index that a program hasn't registered. So the state of all rows at the beginning can be read
//    later.
// 2. Entries are made of that state, sorted in runs, and merged into the index's tree.
// 3. The changes of the noted rows are applied, round by round.
// 4. The last transaction applies the rest and makes the tree the index. Queries never see it before.
//
// After a crash the record has the progress of the build, which continues when it is requested again.

import HornbeamPages
import HornbeamTree

struct BackgroundBuilder {
    /// The limits of a build. Only tests change the defaults.
    struct Limits: Sendable {
        /// Number of threads that call the map function at the same time.
        var threads = RowBatch.standardThreads
        /// Maximum size of the entries in memory, in bytes, before they are written to a run.
        var runSize = EntrySorter.standardBound
        /// Size of the entries that one transaction stores, in bytes. Writers wait some milliseconds for it.
        var sliceSize = 1 << 18
        /// Number of rows that a thread reads in one transaction.
        var rowsAtOnce = 1024
        /// Number of changed rows that one transaction applies. The map function is called twice for each.
        var catchUpRows = 512
        /// Called where the build has no transaction open.
        var whenFree: (@Sendable (IndexBuild.Progress.Phase) throws -> Void)?
    }

    /// The error if the file no longer has this build, because the index was registered with other settings, or
    /// dropped.
    struct Superseded: Error {}

    let database: Database
    let registration: IndexRegistration
    let build: IndexBuild
    let limits: Limits

    private var store: TreeStore { database.store }

    /// Builds the index, or brings it up to date. If it throws, the build's record stays.
    func run() throws {
        guard let index = try begin(anew: false) else { return }
        guard index.record.build == nil else { return try finish(index) }
        do {
            try catchUp(index)
        } catch is HornbeamError {
            // For example, a row's former state can't be read. The present rows are enough to build the index.
            guard let index = try begin(anew: true) else { return }
            try finish(index)
        }
    }

    private func finish(_ index: StoredIndex) throws {
        var index = index
        if index.record.build?.isLoaded == false { try load(&index) }
        while let last = index.record.build.map({ $0.runs - 1 }), last >= 0 {
            let name = index.runName(last)
            try change(&index) { transaction, build in
                _ = try transaction.dropTree(name)
                build.runs = last
            }
        }
        try catchUp(index)
    }

    /// Removes the build and all that it has stored.
    func drop() throws {
        let transaction = try store.beginWrite(.behindOthers)
        do {
            // A build of another version belongs to another program, which may continue it.
            guard let build = try RegisteredCatalogue.readBuild(of: registration.name, in: transaction),
                build.identity == registration.identity
            else { return transaction.abort() }
            try RegisteredCatalogue.drop(build, in: transaction)
            try database.commit(transaction) { $0.removing(build.name) }
        } catch {
            transaction.abort()
            throw error
        }
    }

    // MARK: The beginning

    /// Returns the index with the state of its build, or nil if the index is ready.
    private func begin(anew: Bool) throws -> StoredIndex? {
        let transaction = try store.beginWrite(.behindOthers)
        do {
            let registering = IndexRegistering(
                registration: registration, transaction: transaction, schema: database.schema)
            let work = anew ? .building : try registering.work()
            let index = try registering.index()
            switch work {
            case .none, .completion:
                transaction.abort()
                try database.register(registration, progress: nil)
                return nil
            case .missedRows:
                transaction.abort()
                return index
            case .building: break
            }
            if let begun = try resumable(index, registering) {
                transaction.abort()
                return begun
            }
            try RegisteredCatalogue.dropBuild(of: registration.name, in: transaction)
            var record = index.record
            record.build = StoredIndex.Build(began: transaction.number ?? 0)
            let begun = StoredIndex(
                name: StoredIndex.buildName(of: index.name), identity: index.identity, record: record)
            try RegisteredCatalogue.begin(begun, in: transaction)
            let options = TreeOptions(reduction: registration.reduction)
            _ = try IndexTrees(of: begun, in: transaction, create: true, options)
            _ = try transaction.tree(begun.missedName, create: true)
            try database.commit(transaction) { $0.adding(begun) }
            return begun
        } catch {
            transaction.abort()
            throw error
        }
    }

    /// Returns the index's build in the file, or nil if there is none that can continue.
    private func resumable(_ index: StoredIndex, _ registering: IndexRegistering) throws -> StoredIndex? {
        let transaction = registering.transaction
        guard let begun = try RegisteredCatalogue.readBuild(of: index.name, in: transaction),
            begun.identity == index.identity, begun.record.finished == index.record, let build = begun.record.build,
            let tree = try IndexTrees(of: begun, in: transaction)?.first, try registering.hasReduction(tree),
            let missed = try transaction.tree(begun.missedName),
            try registering.isShort(missed, of: registering.type())
        else { return nil }
        for run in 0..<build.runs where try transaction.tree(begun.runName(run)) == nil { return nil }
        return begun
    }

    // MARK: Sorting and loading

    private func load(_ index: inout StoredIndex) throws {
        let type = try database.schema.type(registration.entity)
        // The trees come from the file, not from the registration.
        guard let trees = try inRead({ try IndexTrees(of: index, in: $0) }) else { throw Superseded() }
        let total = try inRead { Int(clamping: try $0.count(type.rows)) }
        let scan = BuildScan(
            store: store, type: type, registration: registration,
            follower: try registration.emitter.follower(of: [MaintainedIndex(registration, trees, type)]),
            missedName: index.missedName, limits: limits
        ) { [self] rows in try release(.reading, adding: rows, of: total) }
        let read = try inRead { try rowsRead(index, $0, type) }
        try release(.reading, adding: read, of: total)
        var position = index.record.build?.position
        var rest: [EntryBuffer] = []
        while true {
            let result = try scan.run(after: position)
            position = result.position
            if result.isAtEnd {
                rest = result.buffers
                break
            }
            try putAside(result, &index)
        }
        let runs = (0..<(index.record.build?.runs ?? 0)).map(index.runName)
        let (last, entries) = try inRead { read in
            (
                try trees.lastKey(in: read),
                try runs.reduce(0) { sum, name in
                    sum + (try read.tree(name).map { Int(clamping: try read.count($0)) } ?? 0)
                }
            )
        }
        var merge = BuildMerge(store, buffers: rest, runs: runs, after: last)
        let all = rest.reduce(entries) { $0 + $1.count }
        try write(&merge, &index, total: all) { (transaction, index) in
            guard let trees = try IndexTrees(of: index, in: transaction) else { throw Superseded() }
            return trees
        } last: {
            $0.isLoaded = true
        }
    }

    /// Returns the number of present rows that are already in the runs.
    private func rowsRead(_ index: StoredIndex, _ read: Transaction, _ type: EntityType) throws -> Int {
        guard let position = index.record.build?.position, let next = RowID(rawValue: position).next else { return 0 }
        return Int(clamping: try read.count(type.rows, from: [], to: next.key))
    }

    /// Makes a run of the entries that were read.
    private func putAside(_ result: BuildScan.Result, _ index: inout StoredIndex) throws {
        guard let number = index.record.build?.runs, number < StoredIndex.Build.mostRuns else {
            throw HornbeamError(.tooLarge, "index “\(registration.name)” has more entries than can be sorted")
        }
        let name = index.runName(number)
        // Dropped first, because a run that a crash has left is incomplete.
        try change(&index) { transaction, _ in
            _ = try transaction.dropTree(name)
            _ = try transaction.tree(name, create: true)
        }
        var merge = BuildMerge(store, buffers: result.buffers)
        try write(&merge, &index, total: 0) { (transaction, _) in
            guard let tree = try transaction.tree(name) else { throw Superseded() }
            return IndexTrees(first: tree)
        } last: { build in
            build.runs = number + 1
            build.position = result.position
        }
    }

    /// Stores the entries of a merge, slice by slice. The last slice also changes the build's record.
    /// - Parameter total: number of entries, for reports of progress; 0 for no reports.
    private func write(
        _ merge: inout BuildMerge, _ index: inout StoredIndex, total: Int,
        into trees: (Transaction, StoredIndex) throws -> IndexTrees, last: (inout StoredIndex.Build) -> Void
    ) throws {
        var slice = EntryBuffer()
        var isLast = false
        while !isLast {
            isLast = try merge.next(into: &slice, size: limits.sliceSize)
            let former = index
            try change(&index) { transaction, build in
                let trees = try trees(transaction, former)
                try slice.forEach { (key, _, value) throws(StorageError) in
                    try trees.append(key, value, in: transaction)
                }
                if isLast { last(&build) }
            }
            if total > 0 { try release(.loading, adding: slice.count, of: total) } else { try release(.reading) }
        }
    }

    // MARK: Catching up

    private func catchUp(_ index: StoredIndex) throws {
        var (size, former) = (limits.catchUpRows, Int.max)
        while true {
            let left = try catchUp(index, upTo: size)
            if left == 0 { return }
            try release(.catchingUp, adding: size, of: left + size)
            // The index must become ready even if others write faster than it catches up.
            if left >= former { size *= 2 }
            former = left
        }
    }

    /// Applies the changes of some rows. Returns the number of remaining rows, 0 once the index is ready.
    private func catchUp(_ index: StoredIndex, upTo size: Int) throws -> Int {
        let transaction = try store.beginWrite(.behindOthers)
        do {
            try verify(index, transaction)
            let registering = IndexRegistering(
                registration: registration, transaction: transaction, schema: database.schema)
            let type = try registering.type()
            guard let missed = try transaction.tree(index.missedName),
                let trees = try IndexTrees(of: index, in: transaction)
            else { throw Superseded() }
            let maintained = try MaintainedIndex(registration, trees, type)
            let follower = registration.emitter.follower(of: [maintained])
            var rows: [(key: [UInt8], noted: [UInt8])] = []
            var cursor = try transaction.cursor(missed)
            while rows.count < size, try cursor.next() { rows.append((Array(cursor.key), Array(cursor.value))) }
            for row in rows {
                guard row.key.count == 8, let rowID = row.key.withUnsafeBytes({ RowID(key: $0) }) else {
                    throw StorageError.corrupt(Corruption(tree: index.missedName, reason: "a key is no row id"))
                }
                try registering.catchUp(rowID, noted: row.noted, follower, type)
                _ = try transaction.delete(missed, row.key)
            }
            let left = Int(clamping: try transaction.count(missed))
            if left > 0 {
                relax(transaction)
                try transaction.commit()
                return left
            }
            try transaction.completeReductions(trees.first)
            _ = try transaction.dropTree(index.missedName)
            let ready = index.record.build == nil ? index : try RegisteredCatalogue.finish(index, in: transaction)
            try database.commit(transaction) { registered in
                (index.record.build == nil ? registered : registered.removing(index.name)).adding(ready, maintained)
            }
            return 0
        } catch {
            transaction.abort()
            throw error
        }
    }

    // MARK: Transactions

    private func inRead<Result>(_ body: (Transaction) throws -> Result) throws -> Result {
        let read = try store.beginRead()
        defer { read.abort() }
        return try body(read)
    }

    /// Runs one transaction of a build, and stores the resulting state of the build.
    private func change(
        _ index: inout StoredIndex, _ body: (Transaction, inout StoredIndex.Build) throws -> Void
    ) throws {
        let transaction = try store.beginWrite(.behindOthers)
        var changed = index
        do {
            try verify(index, transaction)
            guard var build = index.record.build else { throw Superseded() }
            try body(transaction, &build)
            changed.record.build = build
            if changed != index { try RegisteredCatalogue.store(changed, in: transaction) }
            relax(transaction)
            try transaction.commit()
        } catch {
            transaction.abort()
            throw error
        }
        index = changed
    }

    /// Throws `Superseded` if the file's index isn't the one that is being built.
    private func verify(_ index: StoredIndex, _ transaction: Transaction) throws {
        guard try RegisteredCatalogue.read(index.name, in: transaction) == index else { throw Superseded() }
    }

    /// Steps before the last one don't wait for the medium. Power loss may undo some of them.
    private func relax(_ transaction: Transaction) {
        if transaction.durability == .full { transaction.durability = .process }
    }

    /// Notes the progress while no transaction is open. Throws if the build must end.
    private func release(_ phase: IndexBuild.Progress.Phase, adding done: Int = 0, of total: Int? = nil) throws {
        try build.note(phase, adding: done, of: total)
        try limits.whenFree?(phase)
    }
}
