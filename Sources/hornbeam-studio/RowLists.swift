// SPDX-License-Identifier: Apache-2.0
// Results that a grid scrolls through. Where counted trees lead to the k-th entry, a window is read from there. Other
// results (a condition, an order that no index has) are found once in a state, and kept as row ids.

import Hornbeam
import HornbeamTree
import Synchronization

/// The result that a grid shows.
struct RowRequest: Hashable {
    var type: String
    var condition: String?
    var column: Int?
    var isDescending = false

    /// - Parameter sort: a column's name, behind a dash for the other direction.
    init(_ request: Request, _ core: StoreTransaction) throws {
        type = try request.required("type")
        condition = request.argument("where").flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
        guard let sort = request.argument("sort"), !sort.isEmpty else { return }
        isDescending = sort.hasPrefix("-")
        let description = try core.schema.type(type).description
        let name = isDescending ? String(sort.dropFirst()) : sort
        guard let column = description.column(name), description.columns[column].type.isOrdered else {
            throw HornbeamError(.invalid, "\(type) can't be sorted by “\(name)”")
        }
        self.column = column
    }

    var query: EntityQuery {
        EntityQuery(type: type, sort: column.map { [.column($0, descending: isDescending)] } ?? [])
    }
}

/// A result of which windows are read.
enum RowList {
    /// The planner goes to the k-th row by counted trees.
    case counted(Int)
    /// `isCut`: whether there are more rows than are kept.
    case kept([RowID], isCut: Bool)

    var count: Int {
        switch self {
        case .counted(let count): count
        case .kept(let rows, _): rows.count
        }
    }

    var isCut: Bool { if case .kept(_, true) = self { true } else { false } }
}

/// The newest results that had to be kept. Any thread may use it. Windows of one result that are asked for at once find
/// it once; other results don't wait for it.
final class RowLists: Sendable {
    /// A result that is found by the first thread that asks; others wait for it.
    private final class Search: Sendable {
        private let list = Mutex<RowList?>(nil)

        func found(_ find: () throws -> RowList) rethrows -> RowList {
            try list.withLock { list in
                if let list { return list }
                let found = try find()
                list = found
                return found
            }
        }
    }

    private struct Entry {
        var request: RowRequest
        var version: UInt64
        let search = Search()
    }
    private let entries = Mutex<[Entry]>([])

    /// Results that are kept, and row ids of one: 8 bytes each.
    private static let capacity = 4
    private static let limit = 2_000_000

    func list(_ request: RowRequest, _ core: StoreTransaction) throws -> RowList {
        if request.condition == nil {
            let plan = try core.explain(request.query)
            if plan.order == .byAccess { return .counted(try core.store(request.type).count()) }
        }
        let version = core.transaction.version
        let search = entries.withLock { entries in
            if let known = entries.first(where: { $0.request == request && $0.version == version }) {
                return known.search
            }
            entries.removeAll { $0.request == request }
            if entries.count == Self.capacity { entries.removeFirst() }
            let entry = Entry(request: request, version: version)
            entries.append(entry)
            return entry.search
        }
        return try search.found { try Self.find(request, core) }
    }

    private static func find(_ request: RowRequest, _ core: StoreTransaction) throws -> RowList {
        var query = request.query
        query.limit = limit + 1
        guard let condition = request.condition else {
            let rows = try core.rowIDs(query)
            return .kept(Array(rows.prefix(limit)), isCut: rows.count > limit)
        }
        var rows: [RowID] = []
        try FilteredEntities(query, where: condition, in: core).forEach { rowID, _, _ in
            rows.append(rowID)
            return rows.count <= limit
        }
        return .kept(Array(rows.prefix(limit)), isCut: rows.count > limit)
    }
}
