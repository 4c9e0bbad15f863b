// SPDX-License-Identifier: Apache-2.0
// The result of a statement, bounded in rows and in bytes, with its plan and the time that it took.

import Hornbeam
import HornbeamTree

struct StatementAnswer {
    private let reads: StoreReads
    private let text: String
    private let parameters: StatementParameters
    private static let rowLimit = 1_000
    private static let byteLimit = 4 << 20

    /// `{"statement": "SELECT …", "parameters": ["1", …]}`: parameters are read as those of `hornbeam sql --param` are.
    init(_ reads: StoreReads, _ body: [UInt8]) throws {
        self.reads = reads
        guard case .object(let members) = try body.withUnsafeBytes({ try JSONParser.parse($0) }) else {
            throw HornbeamError(.invalid, "a statement is sent as a JSON object")
        }
        var (text, values) = (nil as String?, [] as [Value])
        for member in members {
            switch (member.name, member.value) {
            case ("statement", .string(let statement)): text = statement
            case ("parameters", .array(let nodes)):
                values = nodes.map { node in
                    if case .string(let text) = node { return StatementParameters.value(text) }
                    return StatementParameters.value(node.text)
                }
            default: throw HornbeamError(.invalid, "“\(member.name)” doesn't belong to a statement")
            }
        }
        guard let text else { throw HornbeamError(.invalid, "“statement” is missing") }
        self.text = text
        parameters = StatementParameters(positions: values)
    }

    func node() throws -> JSONNode {
        let statement = try Statement(text)
        return try reads.read { core in
            let planning = ContinuousClock.now
            let columns = try statement.columnNames(in: core, parameters)
            let plan = statement.isExplanation ? "" : try statement.explanation(in: core, parameters)
            let planned = JSONNode.milliseconds(since: planning)
            let start = ContinuousClock.now
            var rows: [JSONNode] = []
            var (bytes, isCut) = (0, false)
            try statement.run(in: core, parameters, mayStop: true) { row in
                guard rows.count < Self.rowLimit, bytes < Self.byteLimit else {
                    isCut = true
                    return false
                }
                let cells = row.values.map { $0.map { CellNode.node($0) } ?? .object([("k", .string("missing"))]) }
                bytes += cells.reduce(0) { $0 + $1.roughSize }
                rows.append(.array(cells))
                return true
            }
            return .object([
                ("transaction", .count(core.transaction.version)),
                ("columns", .array(columns.map { .string($0) })), ("rows", .array(rows)), ("isCut", .bool(isCut)),
                ("plan", .string(plan)), ("planMilliseconds", planned), ("milliseconds", .milliseconds(since: start)),
            ])
        }
    }
}

extension JSONNode {
    /// Bytes of a cell's texts.
    fileprivate var roughSize: Int {
        switch self {
        case .string(let text), .number(let text): text.utf8.count
        case .object(let members): members.reduce(0) { $0 + $1.value.roughSize }
        case .array(let values): values.reduce(0) { $0 + $1.roughSize }
        case .null, .bool: 4
        }
    }
}
