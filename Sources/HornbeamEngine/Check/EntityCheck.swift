// SPDX-License-Identifier: Apache-2.0
// Checks this module's data in the trees for consistency: rows, ids, index entries, full text, links. Trees and pages
// have a check of their own. It reports problems and repairs nothing.

import HornbeamPages
import HornbeamText
import HornbeamTree

/// A check of all entities in one transaction. A write transaction must be flushed first.
package struct EntityCheck {
    private let core: StoreTransaction
    private let transaction: Transaction
    private let registered: RegisteredIndexes?
    private let work = Work()

    /// Entries that were looked at, of the trees that the check walks. Those of registered indexes aren't counted.
    private final class Work {
        private var done: UInt64 = 0
        var total: UInt64 = 0
        var progress: ((_ done: UInt64, _ total: UInt64) -> Void)?
        private static let interval: UInt64 = 1_000

        func add() {
            done += 1
            if done.isMultiple(of: Self.interval) { progress?(done, max(done, total)) }
        }
    }

    package init(_ core: StoreTransaction) { self.init(core, registered: nil) }

    /// - Parameter registered: the registered indexes with their code; nil for those of the transaction.
    package init(_ core: StoreTransaction, registered: RegisteredIndexes?) {
        self.core = core
        transaction = core.transaction
        self.registered = registered ?? core.registered
    }

    /// Calls `report` for each problem. Returns true if there was none. Throws only if the trees can't be read: a
    /// damaged row or entry is a problem, and all others are still checked.
    /// - Parameter progress: receives the number of checked entries, and an estimate of all.
    package func run(
        report: (String) -> Void, progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws -> Bool {
        try withoutActuallyEscaping(progress) { progress in
            work.progress = progress
            defer { work.progress = nil }
            for name in core.schema.typeNames { work.total &+= try entries(try core.schema.type(name)) }
            return try run(report: report)
        }
    }

    /// Number of entries to check for the type. Counts of a damaged file may have any sum.
    private func entries(_ type: EntityType) throws -> UInt64 {
        let rows = try transaction.count(type.rows)
        let trees = [type.ids, type.unsaved, type.links] + type.indexes.map(\.tree)
        let others = try trees.reduce(0) { $0 &+ (try transaction.count($1)) }
        return rows &* UInt64(1 + type.textIndexes.count + (type.isTombstone ? 1 : 0)) &+ others
    }

    package func run(report: (String) -> Void) throws -> Bool {
        var isClean = true
        func problem(_ text: String) {
            isClean = false
            report(text)
        }
        for name in core.schema.typeNames {
            let type = try core.schema.type(name)
            try checkRows(type, problem)
            try checkIDs(type, problem)
            try checkTombstones(type, problem)
            for index in type.indexes { try checkEntries(index, type, problem) }
            for index in type.textIndexes {
                let check = TextCheck(index.index, in: transaction)
                try checkText(check, index, type, problem)
            }
            try checkLinks(type, problem)
        }
        var logCheck = ChangeLogCheck(core)
        try logCheck.run(problem)
        try RegisteredCheck(core: core, registered: registered ?? RegisteredIndexes(stored: [])).run(problem)
        return isClean
    }

    /// Calls `body` with each entry of a tree.
    private func forEachEntry(_ tree: TreeID, _ body: (Bytes, Bytes) throws -> Void) throws {
        var cursor = try transaction.cursor(tree)
        var isValid = try cursor.first()
        while isValid {
            try body(cursor.key, cursor.value)
            work.add()
            isValid = try cursor.next()
        }
    }

    /// Runs `body`, which examines an entity. An unreadable row is reported as a problem.
    private func reporting(
        _ what: @autoclosure () -> String, _ problem: (String) -> Void, _ body: () throws -> Void
    ) throws {
        do {
            try body()
        } catch let error as HornbeamError {
            problem("\(what()): \(error.message)")
        }
    }

    // MARK: Rows and ids

    private func checkRows(_ type: EntityType, _ problem: (String) -> Void) throws {
        let store = try core.store(type.name)
        try forEachEntry(type.rows) { key, value in
            guard key.count == 8, let rowID = RowID(key: key) else {
                return problem("\(type.name): a key is no row id")
            }
            try reporting("\(type.name) \(rowID)", problem) {
                let row = try RowReader(value, of: type)
                for column in type.layout.fields.indices { _ = try row.value(column) }
                let id = try row.value(0)
                if try id == .null || store.rowID(ofAny: id) != rowID {
                    problem("\(type.name) \(id.text): its id doesn't lead to its \(rowID)")
                }
                for linked in type.linkedIDs where try row.value(linked.column) != store.idByLinks(linked, of: rowID) {
                    problem(
                        "\(type.name) \(id.text): the id of its “\(linked.side.name)” isn't the linked one"
                    )
                }
                for index in type.queriedIndexes {
                    let entry = index.entry(try index.key(of: row), rowID)
                    guard let found = try transaction.get(index.tree, entry.key), found.elementsEqual(entry.value)
                    else {
                        problem("\(type.name) \(id.text): index “\(index.description.name)” lacks it")
                        continue
                    }
                }
            }
        }
    }

    /// An entity is either stored or deleted, and every deleted entity must be restorable.
    private func checkTombstones(_ type: EntityType, _ problem: (String) -> Void) throws {
        guard type.isTombstone, type.counterpart != nil else { return }
        let entities = try core.store(type.counterpartName)
        try forEachEntry(type.rows) { key, value in
            try reporting("\(type.name) \(RowID(key: key)?.description ?? "")", problem) {
                let row = try RowReader(value, of: type)
                let id = try row.value(0)
                if let rowID = try entities.rowID(ofAny: id), try entities.isSaved(rowID) {
                    problem("\(type.counterpartName) \(id.text) is both stored and deleted")
                }
                for column in 1...2 {
                    guard let text = try row.stringBytes(column), case .object? = try? JSONParser.parse(text) else {
                        let name = type.layout.fields[column].name
                        problem("\(type.name) \(id.text) can't be restored: \(name) is no object")
                        continue
                    }
                }
            }
        }
    }

    private func checkIDs(_ type: EntityType, _ problem: (String) -> Void) throws {
        let store = try core.store(type.name)
        let next = try SchemaTree.nextRowID(type.name, in: transaction)
        try forEachEntry(type.ids) { key, value in
            guard let rowID = RowID(stored: value), rowID >= RowID.firstAssigned else {
                return problem("\(type.name): an id leads to no row id")
            }
            try reporting("\(type.name) \(rowID)", problem) {
                if rowID.rawValue >= next { problem("\(type.name): \(rowID) was never assigned") }
                guard let id = try store.id(of: rowID) else { return problem("\(type.name): \(rowID) has no id") }
                if try !key.elementsEqual(store.idKey(id)) {
                    problem("\(type.name) \(id.text): another id leads to its \(rowID) too")
                }
            }
        }
        try forEachEntry(type.unsaved) { key, value in
            guard let rowID = RowID(key: key), try !store.isSaved(rowID) else {
                return problem("\(type.name): a saved entity is listed as unsaved")
            }
            if try !core.edges.isLinked(type, rowID) {
                problem("\(type.name): \(rowID) is listed as unsaved, and nothing links it")
            }
            // An integer id is its own row id: there is nothing to lead to it.
            if rowID < RowID.firstAssigned { return }
            guard let id = ValueBytes.decode(value, as: type.idType), try store.rowID(ofAny: id) == rowID else {
                return problem("\(type.name): \(rowID) is listed as unsaved, and no id leads to it")
            }
        }
    }

    // MARK: Indexes

    private func checkEntries(_ index: EntityIndex, _ type: EntityType, _ problem: (String) -> Void) throws {
        let store = try core.store(type.name)
        let name = "index “\(index.description.name)” of \(type.name)"
        let rows = try store.count()
        let entries = Int(clamping: try transaction.count(index.tree))
        if rows != entries { problem("\(name) has \(entries) entries for \(rows) rows") }
        // The entries that share the last cut key. They are adjacent.
        var (cut, whole): ([UInt8], Set<[UInt8]>) = ([], [])
        try forEachEntry(index.tree) { key, value in
            guard let rowID = index.rowID(key: key, value: value) else {
                return problem("\(name): an entry names no row")
            }
            try reporting("\(name), entry for \(rowID)", problem) {
                guard let row = try store.row(rowID) else {
                    return problem("\(name): an entry for \(rowID), but no row has that number")
                }
                // The expected keys of an index with a flaw are unknown.
                if index.flaw != nil { return }
                let own = try index.key(of: row)
                if !key.elementsEqual(index.entry(own, rowID).key) {
                    problem("\(name): the entry for \(rowID) has another key than its row")
                }
                guard index.isUnique, own.isCut, !own.isExempt else { return }
                if cut != own.bytes { (cut, whole) = (own.bytes, []) }
                if try !whole.insert(index.fullKey(of: row).key).inserted {
                    problem("\(name): \(rowID) has the same key as another row")
                }
            }
        }
    }

    private func checkText(
        _ check: TextCheck, _ index: EntityTextIndex, _ type: EntityType, _ problem: (String) -> Void
    ) throws {
        let name = "full text “\(index.description.name)” of \(type.name)"
        let store = try core.store(type.name)
        // The check can only throw storage errors. If a text can't be read, there is nothing to compare the index with.
        var unreadable: HornbeamError?
        do {
            let problems = try check.run(
                documents: { (body) throws(StorageError) in
                    do {
                        try store.forEachRow { rowID, row in
                            work.add()
                            if try index.has(row) { try body(rowID.rawValue, try index.text(of: row)) }
                            return true
                        }
                    } catch let error as StorageError {
                        throw error
                    } catch {
                        unreadable = error as? HornbeamError
                        throw .corrupt(Corruption(tree: "e:\(type.name)", reason: "\(error)"))
                    }
                })
            for text in problems { problem("\(name): \(text)") }
        } catch {
            guard let unreadable else { throw error }
            problem("\(name) was not compared with its entities: \(unreadable.message)")
        }
    }

    // MARK: Edges

    private func checkLinks(_ type: EntityType, _ problem: (String) -> Void) throws {
        try forEachEntry(type.links) { key, value in
            guard let link = LinkEntry((key, value)), let role = core.schema.role(of: link.list, in: type) else {
                return problem("links of \(type.name): an entry is not readable, or of no relation")
            }
            switch role {
            case .links(let side): try check(link, of: side, problem)
            case .reverse(let side):
                let isRight = link.end.place == link.other.row.rawValue
                if try !isRight || found(side.list, link.other) != link.end {
                    problem(
                        "\(name(side)): the look-up has a link of \(link.other.row) to \(link.end.row) that is missing"
                    )
                }
            case .pairs(let side):
                let from = LinkEnd(link.end.row, link.other.row.rawValue)
                let to = LinkEnd(RowID(rawValue: link.end.place), link.other.place)
                if try found(side.list, from) != to || side.pair(from, to).key != link.end {
                    problem("\(name(side)): the look-up of \(from.row) to \(to.row) gives another position")
                }
            }
        }
    }

    /// The other end that an entry names; nil if there is no readable entry.
    private func found(_ list: LinkList, _ end: LinkEnd) throws -> LinkEnd? {
        let value = try LinkKey(list, end).withBytes { (key) throws(StorageError) in
            try transaction.get(list.tree, key)
        }
        return value.flatMap { LinkEnd(stored: $0) }
    }

    private func name(_ side: EdgeSide) -> String { "relation \(side.type).\(side.name)" }

    /// Checks a link as one of its sides has it.
    private func check(_ link: LinkEntry, of side: EdgeSide, _ problem: (String) -> Void) throws {
        let (source, target) = (link.end.row, link.other.row)
        // The two ends of a link are stored, or known not to be.
        if try !core.store(side.type).isKnown(source) {
            problem("\(name(side)): a link comes from \(source), which is unknown")
        }
        if try !core.store(side.target).isKnown(target) {
            problem("\(name(side)): a link leads to \(target), which is unknown")
        }
        if !side.isToMany, link.end.place != 0 { problem("\(name(side)): \(source) has a link at \(link.end.place)") }
        guard let other = side.other else { return problem("\(name(side)): has links, and no other side") }
        if try found(other.list, link.other) != link.end {
            problem(
                other.form == .reverse
                    ? "\(name(side)): the link of \(source) to \(target) has no reverse look-up"
                    : "\(name(side)): \(source) links to \(target), but not the other way round")
        }
        if let pairs = side.pairs {
            let pair = side.pair(link.end, link.other)
            if try found(pairs, pair.key) != pair.value {
                problem("\(name(side)): the look-up of \(source) to \(target) gives another position")
            }
        }
    }
}
