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

    package init(_ session: EntitySession) {
        self.session = session
        transaction = session.transaction
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
            try checkLinks(type, problem)
        }
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

    private func checkLinks(_ type: EntityType, _ problem: (String) -> Void) throws {
        try forEachEntry(type.links) { key, value in
            guard let link = LinkEntry((key, value)), let role = session.schema.role(of: link.list, in: type) else {
                return problem("links of \(type.name): an entry is not readable, or of no relation")
            }
            switch role {
            case .links(let side): try check(link, of: side, problem)
            case .reverse(let side):
                let isRight = link.end.place == link.other.row.rawValue
                if try !isRight || found(side.list, link.other) != link.end {
                    problem(
                        "\(name(side)): there is no link of \(link.other.row) to \(link.end.row), as the look-up says")
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

    /// The other end that an entry names; nil if there is no entry, or none that can be read.
    private func found(_ list: LinkList, _ end: LinkEnd) throws -> LinkEnd? {
        let value = try LinkKey(list, end).withBytes { (key) throws(StorageError) in
            try transaction.get(list.tree, key)
        }
        return value.flatMap { LinkEnd(stored: $0) }
    }

    private func name(_ side: EdgeSide) -> String { "relation \(side.type).\(side.name)" }

    /// A link as one of its sides has it.
    private func check(_ link: LinkEntry, of side: EdgeSide, _ problem: (String) -> Void) throws {
        let (source, target) = (link.end.row, link.other.row)
        // The two ends of a link are stored, or known not to be.
        if try !session.store(side.type).isKnown(source) {
            problem("\(name(side)): a link comes from \(source), which is unknown")
        }
        if try !session.store(side.target).isKnown(target) {
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
