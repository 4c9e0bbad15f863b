// SPDX-License-Identifier: Apache-2.0
// A window of the rows that a grid scrolls through.

import Hornbeam
import HornbeamTree

struct RowsAnswer {
    private let reads: StoreReads
    private let request: Request
    /// Maximum number of rows in a window.
    private static let limit = 500

    init(_ reads: StoreReads, _ request: Request) {
        self.reads = reads
        self.request = request
    }

    func node() throws -> JSONNode {
        let first = try request.number("from", 0...Int.max, or: 0)
        let count = try request.number("count", 0...Self.limit, or: 100)
        return try reads.read { core in
            let start = ContinuousClock.now
            let wanted = try RowRequest(request, core)
            let store = try core.store(wanted.type)
            let columns = store.type.description.shownColumns
            let list = try reads.lists.list(wanted, core)
            var rows: [JSONNode] = []
            func add(_ rowID: RowID, _ row: RowReader) throws {
                let cells = try columns.map { CellNode.node(try row.value($0)) }
                rows.append(.array([.string("\(rowID.rawValue)")] + cells))
            }
            switch list {
            case .counted:
                var query = wanted.query
                (query.offset, query.limit) = (first, count)
                try core.forEach(query) { rowID, row, _ in
                    try add(rowID, row)
                    return true
                }
            case .kept(let kept, _):
                for rowID in kept.dropFirst(first).prefix(count) {
                    if let row = try store.row(rowID) { try add(rowID, row) }
                }
            }
            return .object([
                ("transaction", .count(core.transaction.version)), ("total", .count(list.count)),
                ("isCut", .bool(list.isCut)), ("from", .count(first)), ("rows", .array(rows)),
                ("milliseconds", .milliseconds(since: start)),
            ])
        }
    }
}

extension EntityDescription {
    /// The columns of a program's properties, without those that the store keeps for itself.
    var shownColumns: [Int] { columns.indices.filter { !columns[$0].isHidden } }
}
