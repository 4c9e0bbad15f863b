// SPDX-License-Identifier: Apache-2.0
// Verifies a snapshot as a whole: every page again from its bytes, and properties that no page shows alone: order
// across nodes, the separators' bounds, counts, births, that no page is reached twice and that all space is accounted
// for. Continues after a problem if possible, and never trusts unverified bytes.

package import HornbeamPages

/// How far a check of the pages is.
package struct CheckProgress: Sendable {
    package var checkedBytes: UInt64 = 0
    /// An estimate: the bytes in use when the check began.
    package var totalBytes: UInt64 = 0
}

struct TreeCheck {
    /// Called after each piece. False stops the check.
    typealias Report = (CheckProgress) -> Bool

    private let pages: PageStore
    private let view: PageView
    /// The problems found, in words.
    private(set) var problems: [String] = []
    private var account: SpaceAccount
    /// Name of the tree being walked.
    private var name = ""
    private var longValues: UInt64 = 0
    private var numbers: Set<UInt32> = []
    /// The stamps that the walked tree's leaves and branches must have.
    private var leafStamp: NodeStamp
    private var branchStamp: NodeStamp

    private var figures = CheckProgress()
    private var reportedBytes: UInt64 = 0
    /// Whether the report has stopped the check. Nothing is a problem from then on.
    private(set) var isStopped = false

    private static let reportBytes: UInt64 = 1 << 20

    private let reductions: Reductions
    /// The fold of the walked tree. Nil if it has no reduction, or if the program doesn't know it and can't check its
    /// values.
    private var fold: ReductionFold?

    /// A check of `view`, with the account of its space.
    init(pages: PageStore, view: PageView, account: SpaceAccount, reductions: Reductions) {
        self.pages = pages
        self.reductions = reductions
        self.view = view
        self.account = account
        leafStamp = NodeStamp(tree: 0, reductionSize: 0, reserve: view.reserve)
        branchStamp = leafStamp
        let statistics = pages.statistics
        // Beside another process the size in use may be unknown.
        figures.totalBytes = statistics.usedBytes > 0 ? statistics.usedBytes : statistics.fileBytes
    }

    /// Runs the check and fills `problems`.
    mutating func run(_ report: Report = { _ in true }) {
        let root = view.root
        let top = TreeRoot(page: root.page, birth: root.birth, count: root.count, level: Int(root.level))
        var records: [(name: [UInt8], value: [UInt8])] = []
        walk("catalogue", top, longValues: 0, report) { (leaf, index) in
            let cell = leaf.cell(index)
            // Records are never that long: a long value is reported as a record without bytes.
            records.append((leaf.keyBytes(index), cell.isLong ? [] : Array(cell.valueBytes)))
        }
        for record in records { checkTree(record.name, record.value, nextTree: root.nextTree, report) }
        // Sectors can only be accounted for when all pages were found.
        if isSound, !isStopped { problems += account.leaks }
    }

    private var isSound: Bool { problems.isEmpty }

    private mutating func checkTree(_ name: [UInt8], _ value: [UInt8], nextTree: UInt32, _ report: Report) {
        let text = String(decoding: name, as: UTF8.self)
        do throws(StorageError) {
            let record = try value.withBytes { (bytes) throws(StorageError) in
                try CatalogueRecord(bytes, transaction: view.transaction)
            }
            if !numbers.insert(record.number).inserted || record.number >= nextTree {
                problem("tree “\(text)”: its number \(record.number) is another tree's or out of range")
            }
            leafStamp = NodeStamp(tree: record.number, reductionSize: 0, reserve: view.reserve)
            branchStamp = NodeStamp(
                tree: record.number, reductionSize: record.options.reductionSize, reserve: view.reserve)
            fold = reductions.find(record.options).flatMap { reduction in
                if reduction.isOptional, reduction.makeFolder == nil { return nil }
                return ReductionFold(reduction, tree: record.number, view: view)
            }
            walk(text, record.root, longValues: record.longValues, report) { (_, _) in }
        } catch {
            problem(error.inTree(text).description)
        }
    }

    private mutating func problem(_ text: String) { if !isStopped { problems.append(text) } }

    private mutating func problem(_ page: UInt64, _ reason: String, _ keys: KeyRange = KeyRange()) {
        let number = PagePointer.number(page)
        problem(Corruption(page: number, tree: name, keys: keys.description, reason: reason).description)
    }

    private mutating func problem(_ error: StorageError, _ keys: KeyRange) {
        problem(error.inTree(name).withKeys(keys.description).description)
    }

    private mutating func walk(
        _ name: String, _ root: TreeRoot, longValues expected: UInt64, _ report: Report,
        each: (NodeView, Int) -> Void
    ) {
        self.name = name
        longValues = 0
        guard root.isPlausible(transaction: view.transaction) else {
            return problem(root.page, "an impossible root")
        }
        guard !root.isEmpty else { return }
        let record = ChildRecord(page: root.page, birth: root.birth, count: root.count)
        node(record, level: root.level, bounds: KeyRange(), report, each: each)
        if isSound, longValues != expected {
            problem(root.page, "the tree has \(longValues) long values, the catalogue says \(expected)")
        }
    }

    /// Checks a node and all below it. `bounds`: the range that the separators above give its keys.
    private mutating func node(
        _ record: ChildRecord, level: Int, bounds: KeyRange, _ report: Report, each: (NodeView, Int) -> Void
    ) {
        guard !isStopped else { return }
        let stored = PagePointer.sectors(record.page)
        let sectors = stored > 0 ? stored : UInt32(view.pageSize / FileFormat.sectorSize)
        let mark = view.heldMark
        defer { view.letGo(to: mark) }
        guard take(PagePointer.number(record.page), sectors, bounds) else { return }
        tell(sectors, report)
        let node: NodeView
        do throws(StorageError) {
            try pages.verifyWholePage(
                record.page, birth: record.birth, kind: level == 0 ? .leaf : .branch,
                level: UInt8(truncatingIfNeeded: level))
            node = try view.node(record.page, birth: record.birth, level: level)
        } catch {
            return problem(error, bounds)
        }
        let bytes = Bytes(start: node.base, count: node.size)
        if let reason = NodeValidation.problem(bytes, kind: level == 0 ? .leaf : .branch) {
            return problem(record.page, reason, bounds)
        }
        if node.stamp != (level == 0 ? leafStamp : branchStamp) {
            let owner = "tree number \(node.stamp.tree)"
            problem(record.page, "it is marked as a node of \(owner), or as one of another kind", bounds)
        }
        checkBounds(node, record.page, isBranch: level > 0, bounds)
        let count = level == 0 ? UInt64(node.count) : node.childEntries
        if count != record.count {
            problem(record.page, "\(count) entries below it, its parent says \(record.count)", bounds)
        }
        for index in 0..<node.count {
            if level == 0 {
                each(node, index)
                checkLongValue(node.cell(index), of: node.keyBytes(index), report)
            } else {
                let keys = bounds.child(index, of: node)
                self.node(node.child(index), level: level - 1, bounds: keys, report, each: each)
                checkReduction(node, index, record.page, level: level, keys)
            }
        }
    }

    /// Checks a branch's reduced value of a child that was checked before.
    private mutating func checkReduction(
        _ node: NodeView, _ index: Int, _ page: UInt64, level: Int, _ keys: KeyRange
    ) {
        guard let fold, isSound, !isStopped else { return }
        do throws(StorageError) {
            let right = try fold.value(of: node.child(index), level: level - 1)
            let stored = Bytes(start: node.cell(index).value + NodeLayout.childSize, count: right.count)
            // A missing value, from a program without the reduction, is no damage.
            if fold.reduction.isOptional, ReducedState(stored) == .unknown { return }
            if !stored.elementsEqual(right) {
                problem(page, "the reduced value of entry \(index) is not that of the entries below it", keys)
            }
        } catch {
            problem(error, keys)
        }
    }

    /// Notes a page as reached. If it was reached before, or should not be in use, reports a problem and returns false.
    private mutating func take(_ page: UInt64, _ sectors: UInt32, _ keys: KeyRange) -> Bool {
        guard let reason = account.add(page, sectors: sectors) else { return true }
        problem(page, reason, keys)
        return false
    }

    private mutating func tell(_ sectors: UInt32, _ report: Report) {
        figures.checkedBytes += UInt64(sectors) * UInt64(FileFormat.sectorSize)
        guard figures.checkedBytes - reportedBytes >= Self.reportBytes else { return }
        reportedBytes = figures.checkedBytes
        figures.totalBytes = max(figures.totalBytes, figures.checkedBytes)
        isStopped = !report(figures)
    }

    private mutating func checkBounds(_ node: NodeView, _ page: UInt64, isBranch: Bool, _ bounds: KeyRange) {
        let first = isBranch ? 1 : 0
        guard first < node.count else { return }
        if let low = bounds.low, node.keyBytes(first).lexicographicallyPrecedes(low) {
            problem(page, "its first key is less than the separator before it", bounds)
        }
        if let high = bounds.high, !node.keyBytes(node.count - 1).lexicographicallyPrecedes(high) {
            problem(page, "its last key is not less than the separator after it", bounds)
        }
    }

    private mutating func checkLongValue(
        _ cell: CellView, of key: @autoclosure () -> [UInt8], _ report: Report
    ) {
        guard cell.isLong, !isStopped else { return }
        longValues += 1
        let long = LongReference(cell.value)
        let sectors = LongValue.sectors(long.size, in: view)
        let keys = KeyRange(low: key(), high: key() + [0])
        guard take(long.page, sectors, keys) else { return }
        tell(sectors, report)
        do throws(StorageError) {
            let value = try LongPageReader(view, number: long.page, birth: long.birth, size: long.size)
            try value.forEachBlock { (_) throws(StorageError) in }
        } catch {
            problem(error, keys)
        }
    }
}

extension TreeStore {
    /// Verifies every page of the newest state when it begins, and calls `report` for each problem. Returns true if
    /// there was none. Commits go on beside it.
    /// - Parameter progress: ends the check by returning false: then this throws `.cancelled`, after the problems found
    ///   so far.
    package func check(
        report: (String) -> Void, progress: (CheckProgress) -> Bool = { _ in true }
    ) throws(StorageError) -> Bool {
        let (view, account, problems) = try pages.beginCheck()
        defer { pages.endRead(view) }
        var check = TreeCheck(pages: pages, view: view, account: account, reductions: names.reductions)
        check.run(progress)
        for problem in problems + check.problems { report(problem) }
        if check.isStopped { throw .cancelled }
        return problems.isEmpty && check.problems.isEmpty
    }
}
