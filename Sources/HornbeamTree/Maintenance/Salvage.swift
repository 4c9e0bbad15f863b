// SPDX-License-Identifier: Apache-2.0
// Salvage: copies all readable parts of a damaged store to a new one. Trees are walked from the catalogue down, and
// every page is verified. If a branch is lost, the leaves below it are searched for in the whole file and recognised by
// the tree number in them. Only pages that the space map has as current count, because a replaced leaf may hold entries
// that were deleted since. If the map is lost too, such leaves go to trees of their own. Then the journal's commits are
// replayed. Entries under a tree's own name were in that tree. Missing parts are reported.

package import HornbeamPages

package enum Salvage {
    /// Reads the store at `source` and writes its readable content to a new store at `target`, which gets its name only
    /// once it is whole and durable. Throws if there is nothing to salvage, or if the new store can't be written. The
    /// damaged file is never changed. `progress` gets the number of entries found so far.
    package static func run(
        from source: String, to target: String, encryption: (any StoreEncryption)? = nil,
        progress: (UInt64) -> Void = { _ in }
    ) throws(StorageError) -> SalvageReport {
        let file = try DamagedFile(path: source, encryption: encryption)
        let place = try LinuxFile.createNew(path: target)
        place.isNameless = true
        return try run(file, to: place, progress: progress) { () throws(StorageError) in
            place.isNameless = false
            try place.giveName()
        }
    }

    /// Writes the readable content of the damaged file to a new store in the empty file `place`. Calls `name` once that
    /// is whole and durable.
    package static func run(
        _ file: DamagedFile, to place: any StoreFile, progress: (UInt64) -> Void = { _ in },
        name: () throws(StorageError) -> Void
    ) throws(StorageError) -> SalvageReport {
        var search = SalvageSearch(file: file)
        search.run()
        var options = StoreOptions()
        options.pageSize = file.pageSize
        options.encryption = file.encryption
        options.durability = .none
        let store = try TreeStore.open(
            file: place, options: options, reductions: try reductions(of: search.trees, file))
        var writer = SalvageWriter(file: file, transaction: try store.beginWrite())
        for tree in search.trees { try writer.add(tree, store, progress) }
        try file.forEachCommit { (payload) throws(StorageError) in try writer.replay(payload) }
        var report = try writer.finish()
        report.notes = file.notes + search.notes + report.notes
        if report.commits < UInt64(file.commitCount) {
            let read = "\(report.commits) of \(file.commitCount)"
            report.notes.append("the journal can't be read any more: \(read) commits are saved")
        }
        try store.checkpoint()
        try name()
        try store.close()
        return report
    }

    /// The built-in reductions of the trees that were found, and of those that the journal creates.
    private static func reductions(
        of trees: [SalvagedTree], _ file: DamagedFile
    ) throws(StorageError) -> [Reduction] {
        var names = Set(trees.map(\.options.reduction))
        try file.forEachCommit { (payload) throws(StorageError) in
            var reader = RedoReader(payload)
            // An unreadable operation ends its commit, here as in the replay.
            while let operation = try? reader.next() {
                guard operation.kind == .create, let options = try? StoredOptions(journal: operation.b) else {
                    continue
                }
                names.insert(options.reduction)
            }
        }
        return names.compactMap { Reduction.builtIn(String(decoding: $0, as: UTF8.self)) }
    }
}

/// A tree, and the leaves of it that were found.
struct SalvagedTree {
    var number: UInt32
    var name: String
    var options = StoredOptions()
    /// In key order, where the tree was whole.
    var leaves: [UInt64] = []
    /// The unreadable ranges, in key order.
    var gaps: [Gap] = []
    /// Whether the leaves may be of a former state.
    var isDoubtful = false

    /// A range of keys that no walk reached.
    struct Gap {
        var keys: KeyRange
        /// Number of missing entries; nil if that isn't known.
        var entries: UInt64?
        /// Whether as many entries were found again.
        var isClosed = false
    }

    init(number: UInt32, name: String, options: StoredOptions = StoredOptions()) {
        self.number = number
        self.name = name
        self.options = options
    }

    var lost: [Gap] { gaps.filter { !$0.isClosed } }
    var lostEntries: UInt64 { gaps.reduce(0) { $0 &+ ($1.entries ?? 0) } }

    /// Returns the gap with the key. A damaged file can have as many gaps as leaves that were found again.
    func gap(of key: [UInt8]) -> Int? {
        var (low, high) = (0, gaps.count)
        while low < high {
            let middle = (low + high) / 2
            let isBefore = gaps[middle].keys.low.map { key.lexicographicallyPrecedes($0) } ?? false
            if isBefore { high = middle } else { low = middle + 1 }
        }
        return low > 0 && gaps[low - 1].keys.contains(key) ? low - 1 : nil
    }

    /// Notes that a leaf with `entries` entries was found again whose first key is `key`.
    mutating func find(_ entries: UInt64, at key: [UInt8]) {
        guard let place = gap(of: key), let missing = gaps[place].entries else { return }
        gaps[place].entries = missing - min(missing, entries)
        gaps[place].isClosed = missing <= entries
    }

    /// The name for a tree of which only the number is known.
    static func name(of number: UInt32) -> String { "recovered-\(number)" }

    /// Returns the name from the catalogue or the journal, if a tree can have it; otherwise a name made from the
    /// number.
    static func name(_ bytes: [UInt8], _ number: UInt32, pageSize: Int) -> String {
        guard !bytes.isEmpty, bytes.count <= CatalogueRecord.maximumName(pageSize: pageSize),
            let name = String(validating: bytes, as: UTF8.self)
        else { return name(of: number) }
        return name
    }
}

/// Finds the leaves of all trees. Holds page numbers, no content.
struct SalvageSearch {
    private let file: DamagedFile
    private(set) var trees: [SalvagedTree] = []
    private(set) var notes: [String] = []
    /// Pages that the walks have reached, so that each counts once.
    private var visited: Set<UInt64> = []
    private var isCatalogueWhole = true
    /// While orphans are added: the index of each tree in `trees`, and the names that are taken.
    private var places: [Place: Int] = [:]
    private var names: Set<String> = []

    private struct Place: Hashable {
        var tree: UInt32
        var isDoubtful: Bool
    }

    init(file: DamagedFile) { self.file = file }

    mutating func run() {
        var records: [(name: [UInt8], record: CatalogueRecord)] = []
        for leaf in catalogueLeaves() { read(catalogueLeaf: leaf, &records) }
        var numbers: Set<UInt32> = []
        for entry in records where numbers.insert(entry.record.number).inserted {
            let name = SalvagedTree.name(entry.name, entry.record.number, pageSize: file.pageSize)
            walkTree(entry.record, name)
        }
        if !isCatalogueWhole || trees.contains(where: { !$0.gaps.isEmpty }) { findOrphans() }
        trees.sort { $0.name < $1.name }
    }

    // MARK: The catalogue

    private mutating func catalogueLeaves() -> [UInt64] {
        if let root = file.root {
            guard root.page != 0 else { return [] }
            var catalogue = SalvagedTree(number: 0, name: "catalogue")
            let record = ChildRecord(page: root.page, birth: root.birth, count: root.count)
            walk(record, Int(root.level), KeyRange(), &catalogue)
            guard !catalogue.gaps.isEmpty else { return catalogue.leaves }
            lose(catalogue.lostEntries)
            return catalogue.leaves + orphanedCatalogueLeaves()
        }
        lose(0)
        return orphanedCatalogueLeaves()
    }

    private mutating func lose(_ entries: UInt64) {
        isCatalogueWhole = false
        let trees = entries > 0 ? "the names of \(entries) trees are lost" : "names of trees may be lost"
        notes.append("the catalogue is damaged: \(trees) unless they were found again")
    }

    /// Current leaves of the catalogue that no walk has reached.
    private mutating func orphanedCatalogueLeaves() -> [UInt64] {
        var found: [UInt64] = []
        file.scan { (number, kind) in
            guard kind == .leaf, !visited.contains(number),
                file.standing(of: number) == .current,
                let stamp = stamp(of: number), stamp.tree == 0
            else { return }
            found.append(number)
        }
        visited.formUnion(found)
        return found
    }

    private mutating func read(
        catalogueLeaf page: UInt64, _ records: inout [(name: [UInt8], record: CatalogueRecord)]
    ) {
        guard let bytes = node(page, .leaf) else { return }
        bytes.withBytes { (bytes) in
            guard let base = bytes.baseAddress else { return }
            let leaf = NodeView(base, size: bytes.count)
            for index in 0..<leaf.count {
                let name = leaf.keyBytes(index)
                let cell = leaf.cell(index)
                do throws(StorageError) {
                    guard !cell.isLong else {
                        throw .corrupt(Corruption(reason: "a record of the damaged catalogue is a long value"))
                    }
                    records.append((name, try CatalogueRecord(cell.valueBytes, transaction: file.newestBirth)))
                } catch {
                    isCatalogueWhole = false
                    notes.append("tree “\(String(decoding: name, as: UTF8.self))”: \(error)")
                }
            }
        }
    }

    // MARK: Walking

    private mutating func walkTree(_ record: CatalogueRecord, _ name: String) {
        var tree = SalvagedTree(number: record.number, name: name, options: record.options)
        let root = record.root
        if !root.isEmpty {
            walk(ChildRecord(page: root.page, birth: root.birth, count: root.count), root.level, KeyRange(), &tree)
        }
        trees.append(tree)
    }

    /// Notes the leaves below the node. If the node can't be read, notes its keys as lost.
    private mutating func walk(_ record: ChildRecord, _ level: Int, _ keys: KeyRange, _ tree: inout SalvagedTree) {
        let kind = level == 0 ? PageKind.leaf : PageKind.branch
        guard level < NodeLayout.maximumLevels, !visited.contains(PagePointer.number(record.page)),
            let bytes = node(record.page, kind),
            Self.isRight(bytes, record, level, tree.number)
        else {
            return tree.gaps.append(SalvagedTree.Gap(keys: keys, entries: record.count))
        }
        visited.insert(PagePointer.number(record.page))
        guard level > 0 else { return tree.leaves.append(record.page) }
        bytes.withBytes { (bytes) in
            guard let base = bytes.baseAddress else { return }
            let branch = NodeView(base, size: bytes.count)
            for index in 0..<branch.count {
                walk(branch.child(index), level - 1, keys.child(index, of: branch), &tree)
            }
        }
    }

    /// Whether the page is the one that its parent refers to.
    private static func isRight(_ bytes: [UInt8], _ record: ChildRecord, _ level: Int, _ tree: UInt32) -> Bool {
        bytes.withBytes { (bytes) in
            guard let base = bytes.baseAddress else { return false }
            let node = NodeView(base, size: bytes.count)
            return base.read64(PageLayout.birth) == record.birth && node.stamp.tree == tree
                && Int(base.load(fromByteOffset: PageLayout.level, as: UInt8.self)) == level
        }
    }

    /// The raw bytes of a page if it is a whole, well-formed node.
    private func node(_ pointer: UInt64, _ kind: PageKind) -> [UInt8]? {
        let found = kind == .leaf ? file.leaf(pointer) : file.page(pointer, kind: kind, sectors: file.pageSectors)
        guard let bytes = found,
            bytes.withBytes({ NodeValidation.problem($0, kind: kind) }) == nil
        else { return nil }
        return bytes
    }

    private func stamp(of page: UInt64) -> NodeStamp? {
        node(page, .leaf)?.withBytes { (bytes) in
            bytes.baseAddress.map { NodeView($0, size: bytes.count).stamp }
        }
    }

    // MARK: Orphans

    /// A leaf that no walk has reached.
    private struct Orphan {
        var page: UInt64
        var tree: UInt32
        var first: [UInt8]
        var entries: UInt64
        var birth: UInt64
        var isCurrent: Bool
    }

    /// Finds leaves whose parents are lost. A tree that the catalogue no longer names gets a name made from its number,
    /// and so do leaves that may be of a former state.
    private mutating func findOrphans() {
        var orphans: [Orphan] = []
        file.scan { (pointer, kind) in
            guard kind == .leaf, !visited.contains(PagePointer.number(pointer)), let orphan = orphan(pointer) else {
                return
            }
            orphans.append(orphan)
        }
        orphans.sort { ($0.tree, $0.birth) < ($1.tree, $1.birth) }
        for (index, tree) in trees.enumerated() { places[Place(tree: tree.number, isDoubtful: false)] = index }
        names = Set(trees.map(\.name))
        let isWanted = orphans.map(isMissing)
        for (orphan, isWanted) in zip(orphans, isWanted) where isWanted { add(orphan) }
    }

    private func orphan(_ page: UInt64) -> Orphan? {
        let standing = file.standing(of: page)
        guard standing != .free, let bytes = node(page, .leaf) else { return nil }
        return bytes.withBytes { (bytes) in
            guard let base = bytes.baseAddress else { return nil }
            let leaf = NodeView(base, size: bytes.count)
            let birth = base.read64(PageLayout.birth)
            guard leaf.stamp.tree > 0, birth <= file.newestBirth else { return nil }
            return Orphan(
                page: page, tree: leaf.stamp.tree, first: leaf.keyBytes(0), entries: UInt64(leaf.count), birth: birth,
                isCurrent: standing == .current)
        }
    }

    /// Whether the walks found a gap for the leaf.
    private func isMissing(_ orphan: Orphan) -> Bool {
        guard let place = places[Place(tree: orphan.tree, isDoubtful: false)] else { return !isCatalogueWhole }
        return trees[place].gap(of: orphan.first) != nil
    }

    private mutating func add(_ orphan: Orphan) {
        let key = Place(tree: orphan.tree, isDoubtful: !orphan.isCurrent)
        guard let place = places[key] else {
            places[key] = trees.count
            var tree = SalvagedTree(number: orphan.tree, name: freeName(orphan.tree))
            tree.leaves = [orphan.page]
            // If a tree's name is lost, nothing else tells that it was compressed.
            if PagePointer.sectors(orphan.page) > 0 { tree.options.flags = StoredOptions.compressed }
            tree.isDoubtful = !orphan.isCurrent
            if orphan.isCurrent { tree.gaps = [SalvagedTree.Gap(keys: KeyRange())] }
            return trees.append(tree)
        }
        // Newer leaves come later, and replace entries of older ones.
        trees[place].leaves.append(orphan.page)
        if orphan.isCurrent { trees[place].find(orphan.entries, at: orphan.first) }
    }

    private mutating func freeName(_ number: UInt32) -> String {
        var name = SalvagedTree.name(of: number)
        while !names.insert(name).inserted { name += "-old" }
        return name
    }
}
