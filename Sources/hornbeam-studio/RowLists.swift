// SPDX-License-Identifier: Apache-2.0
// Results that a grid scrolls through. If a counted tree has the rows in the result's order, each window is read from
// its position in the tree. Other results (a condition, an order without an index) are found once for a state of the
// store, and kept as row ids.

import Hornbeam
import HornbeamTree
import Synchronization

/// The result that a grid shows.
struct RowRequest: Hashable {
    var type: String
    var condition: String?
    var column: Int?
    var isDescending = false

    /// Reads the request's query: `type`, `where`, and `sort` (a column's name, after a dash for descending order).
    /// Throws `.invalid` if the type can't be sorted by that column.
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

/// A result whose rows are read in windows.
enum RowList {
    /// A number of rows, of which the planner finds the k-th in a counted tree.
    case counted(Int)
    /// The rows; `isCut` if there are more than these.
    case kept([RowID], isCut: Bool)

    var count: Int {
        switch self {
        case .counted(let count): count
        case .kept(let rows, _): rows.count
        }
    }

    var isCut: Bool { if case .kept(_, true) = self { true } else { false } }
}

/// The results that were kept last. Any thread may use it. Requests for windows of one result share one search;
/// requests for other results don't wait for it.
final class RowLists: Sendable {
    /// A result. The first thread that asks for it searches; others wait.
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

    /// Maximum number of kept results, and of row ids (8 bytes) in each.
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
