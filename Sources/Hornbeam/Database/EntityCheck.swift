// SPDX-License-Identifier: Apache-2.0
// Checks what this module lays on the trees against itself: rows, ids, index entries, full text, links. The trees and
// pages below have a check of their own. Reports; never repairs.

import HornbeamPages
import HornbeamText
import HornbeamTree

/// A check of all entities in one transaction. In a write transaction the session must be flushed before.
package struct EntityCheck {
    private let session: EntitySession
    private let transaction: Transaction
    private let registered: RegisteredIndexes?

    package init(_ session: EntitySession) { self.init(session, registered: nil) }

    /// - Parameter registered: those whose code is known; nil for those that the session knows.
    init(_ session: EntitySession, registered: RegisteredIndexes?) {
        self.session = session
        transaction = session.transaction
        self.registered = registered ?? session.registered
    }

    /// Calls `report` for each problem; true if there was none. Throws only where the trees can't be read.
    package func run(report: (String) -> Void) throws -> Bool {
        var isClean = true
        func problem(_ text: String) {
            isClean = false
            report(text)
        }
        for name in session.schema.typeNames {
            let type = try session.schema.type(name)
            try checkRows(type, problem)
            try checkIDs(type, problem)
            try checkTombstones(type, problem)
            for index in type.indexes { try checkEntries(index, type, problem) }
            for index in type.textIndexes {
                let check = TextCheck(index.index, in: transaction)
                try checkText(check, index, type, problem)
            }
            for side in type.relations { try checkEdges(side, problem) }
        }
        try RegisteredCheck(session: session, registered: registered ?? RegisteredIndexes(stored: [])).run(problem)
        return isClean
    }

    /// Calls `body` with each entry of a tree.
    private func forEachEntry(_ tree: TreeID, _ body: (Bytes, Bytes) throws -> Void) throws {
        var cursor = try transaction.cursor(tree)
        var isValid = try cursor.first()
        while isValid {
            try body(cursor.key, cursor.value)
            isValid = try cursor.next()
        }
    }

    // MARK: Rows and ids

    private func checkRows(_ type: EntityType, _ problem: (String) -> Void) throws {
        let store = try session.store(type.name)
        try forEachEntry(type.rows) { key, value in
            guard key.count == 8, let rowID = RowID(key: key) else {
                return problem("\(type.name): a key is no row id")
            }
            do {
                let row = try RowReader(value, of: type)
                for column in type.layout.fields.indices { _ = try row.value(column) }
                let id = try row.value(0)
                if try id == .null || store.rowID(of: id) != rowID {
                    problem("\(type.name) \(id.text): its id doesn't lead to its \(rowID)")
                }
                for index in type.indexes {
                    let entry = index.entry(try index.key(of: row), rowID)
                    guard let found = try transaction.get(index.tree, entry.key), found.elementsEqual(entry.value)
                    else {
                        problem("\(type.name) \(id.text): index “\(index.description.name)” lacks it")
                        continue
                    }
                }
            } catch let error as HornbeamError {
                problem("\(type.name) \(rowID): \(error.message)")
            }
        }
    }

    /// An entity is stored or deleted, never both.
    private func checkTombstones(_ type: EntityType, _ problem: (String) -> Void) throws {
        guard type.isTombstone, type.counterpart != nil else { return }
        let entities = try session.store(type.counterpartName)
        try session.store(type.name).forEachRow { _, row in
            let id = try row.value(0)
            if let rowID = try entities.rowID(ofAny: id), try entities.isSaved(rowID) {
                problem("\(type.counterpartName) \(id.text) is both stored and deleted")
            }
            return true
        }
    }

    private func checkIDs(_ type: EntityType, _ problem: (String) -> Void) throws {
        let store = try session.store(type.name)
        let next = try SchemaCatalogue.nextRowID(type.name, in: transaction)
        try forEachEntry(type.ids) { key, value in
            guard let rowID = RowID(stored: value), rowID >= RowID.firstAssigned else {
                return problem("\(type.name): an id leads to no row id")
            }
            if rowID.rawValue >= next { problem("\(type.name): \(rowID) was never handed out") }
            guard let id = try store.id(of: rowID) else { return problem("\(type.name): \(rowID) has no id") }
            if try store.rowID(of: id) != rowID { problem("\(type.name) \(id.text): its id leads elsewhere") }
        }
        try forEachEntry(type.unsaved) { key, _ in
            guard let rowID = RowID(key: key), try !store.isSaved(rowID) else {
                return problem("\(type.name): a saved entity is listed as unsaved")
            }
        }
    }

    // MARK: Indexes

    private func checkEntries(_ index: EntityIndex, _ type: EntityType, _ problem: (String) -> Void) throws {
        let store = try session.store(type.name)
        let name = "index “\(index.description.name)” of \(type.name)"
        let rows = try store.count()
        let entries = Int(clamping: try transaction.count(index.tree))
        if rows != entries { problem("\(name) has \(entries) entries for \(rows) rows") }
        try forEachEntry(index.tree) { key, value in
            guard let rowID = index.rowID(key: key, value: value) else {
                return problem("\(name): an entry names no row")
            }
            guard let row = try store.row(rowID) else {
                return problem("\(name): an entry for \(rowID), which has no row")
            }
            let expected = index.entry(try index.key(of: row), rowID)
            if !key.elementsEqual(expected.key) {
                problem("\(name): the entry for \(rowID) has another key than its row")
            }
        }
    }

    private func checkText(
        _ check: TextCheck, _ index: EntityTextIndex, _ type: EntityType, _ problem: (String) -> Void
    ) throws {
        let name = "full text “\(index.description.name)” of \(type.name)"
        let store = try session.store(type.name)
        // The check knows errors of storage only; what else the rows throw is reported by checkRows.
        let problems = try check.run(
            documents: { (body) throws(StorageError) in
                do {
                    try store.forEachRow { rowID, row in
                        try body(rowID.rawValue, try index.text(of: row))
                        return true
                    }
                } catch let error as StorageError {
                    throw error
                } catch {
                    throw .corrupt(Corruption(tree: "e:\(type.name)", reason: "\(error)"))
                }
            })
        for text in problems { problem("\(name): \(text)") }
    }

    // MARK: Edges

    private func checkEdges(_ side: EdgeSide, _ problem: (String) -> Void) throws {
        let name = "relation \(side.type).\(side.name)"
        let edges = session.edges
        let inverse = try side.inverse.map { try session.schema.type(side.target).relation($0) }
        let (sources, targets) = (try session.store(side.type), try session.store(side.target))
        try forEachEntry(side.forward) { key, value in
            guard let source = RowID(key: key), let target = RowID(stored: value),
                key.count == (side.isToMany ? 16 : 8)
            else { return problem("\(name): a link is not readable") }
            // The two ends of a link are stored, or known not to be.
            if try !sources.isKnown(source) { problem("\(name): a link comes from \(source), which is unknown") }
            if try !targets.isKnown(target) { problem("\(name): a link leads to \(target), which is unknown") }
            if let lookup = side.lookup {
                let found = try transaction.get(lookup, source.key + target.key)
                if found.flatMap({ RowID(stored: $0) }) != RowID(key: key, at: 8) {
                    problem("\(name): the look-up of \(source) to \(target) gives another position")
                }
            }
            if let inverse {
                if try !edges.contains(inverse, target, source) {
                    problem("\(name): \(source) links to \(target), but not the other way round")
                }
            } else if let reverse = side.reverse, try transaction.get(reverse, target.key + source.key) == nil {
                problem("\(name): the link of \(source) to \(target) has no reverse look-up")
            }
        }
        let links = try transaction.count(side.forward)
        for tree in [side.lookup, side.reverse].compactMap({ $0 }) where try transaction.count(tree) != links {
            problem("\(name): a look-up has more or fewer entries than there are links")
        }
    }
}
