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

/// The newest results that had to be kept. Any thread may use it; one at a time finds a result, so that windows of one
/// that are asked for at once find it once.
final class RowLists: Sendable {
    private struct Entry {
        var request: RowRequest
        var version: UInt64
        var list: RowList
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
        return try entries.withLock { entries in
            let known = entries.first { $0.request == request && $0.version == version }
            if let known { return known.list }
            let list = try Self.find(request, core)
            entries.removeAll { $0.request == request }
            if entries.count == Self.capacity { entries.removeFirst() }
            entries.append(Entry(request: request, version: version, list: list))
            return list
        }
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
