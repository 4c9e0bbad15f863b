// SPDX-License-Identifier: Apache-2.0
// The result of a statement, limited in rows and bytes, with its plan and the time it took; and completions.

import Hornbeam
import HornbeamCommand
import HornbeamTree

struct StatementAnswer {
    private let reads: StoreReads
    private let request: StatementRequest
    private static let rowLimit = 1_000
    private static let byteLimit = 4 << 20

    init(_ reads: StoreReads, _ body: [UInt8]) throws {
        self.reads = reads
        request = try body.withUnsafeBytes { try StatementRequest(json: $0) }
    }

    func node() throws -> JSONNode {
        let statement = try Statement(request.text)
        return statement.changesData ? try change(statement) : try read(statement)
    }

    private func read(_ statement: Statement) throws -> JSONNode {
        try reads.read { core in
            let start = ContinuousClock.now
            var result = Result(columns: try statement.columnNames(in: core, request.parameters))
            var analysis: StatementAnalysis?
            if statement.isExplanation {
                try statement.run(in: core, request.parameters, mayStop: true) { result.add($0) }
            } else {
                analysis = try statement.analysis(in: core, request.parameters, mayStop: true) { result.add($0) }
            }
            let members: [(name: String, value: JSONNode)] = [
                ("transaction", .count(core.transaction.version)), ("isPlan", .bool(statement.isExplanation)),
                ("plan", .array(analysis?.steps.map(\.node) ?? [])),
                ("planMilliseconds", .milliseconds(analysis?.planning ?? .zero)),
                ("milliseconds", .milliseconds(analysis?.duration ?? start.duration(to: .now))),
            ]
            return .object(members + result.members)
        }
    }

    /// Runs a statement that changes data in its own transaction. The rows are those of RETURNING.
    private func change(_ statement: Statement) throws -> JSONNode {
        let start = ContinuousClock.now
        let (changed, version) = try reads.write { core in
            try statement.execute(in: core, request.parameters, isAnalysed: true)
        }
        var result = Result(columns: changed.rows.first?.names ?? [])
        for row in changed.rows where !result.add(row) { break }
        let members: [(name: String, value: JSONNode)] = [
            ("transaction", .count(version)), ("changed", .count(changed.count)),
            ("plan", .array(changed.analysis?.steps.map(\.node) ?? [])), ("milliseconds", .milliseconds(since: start)),
        ]
        return .object(members + result.members)
    }

    /// Rows up to the limits.
    private struct Result {
        let columns: [String]
        private var rows: [JSONNode] = []
        private var bytes = 0
        private var isCut = false

        init(columns: [String]) { self.columns = columns }

        /// Adds a row. Returns false, without adding it, if a limit is reached.
        mutating func add(_ row: ResultRow) -> Bool {
            guard rows.count < rowLimit, bytes < byteLimit else {
                isCut = true
                return false
            }
            let cells = row.values.map { $0.map { CellNode.node($0) } ?? .object([("k", .string("missing"))]) }
            bytes += cells.reduce(0) { $0 + $1.roughSize }
            rows.append(.array(cells))
            return true
        }

        var members: [(name: String, value: JSONNode)] {
            [("columns", .array(columns.map { .string($0) })), ("rows", .array(rows)), ("isCut", .bool(isCut))]
        }
    }
}

/// The words that complete a statement.
struct CompletionAnswer {
    private let reads: StoreReads
    private let request: CompletionRequest
    /// Maximum number of words in an answer.
    private static let limit = 50
    /// Maximum size of a statement that is completed, in bytes. It has room for the characters that the page allows.
    private static let statementLimit = 400_000

    init(_ reads: StoreReads, _ body: [UInt8]) throws {
        self.reads = reads
        request = try body.withUnsafeBytes { try CompletionRequest(json: $0) }
    }

    /// Returns the words; none for a statement that is too long. `replaced` counts UTF-16 units, as JavaScript does.
    func node() throws -> JSONNode {
        guard request.before.utf8.count + request.after.utf8.count <= Self.statementLimit else {
            return .object([("replaced", .count(0)), ("words", .array([]))])
        }
        let found = try reads.read { core in
            StatementCompletion(try SchemaCatalogue.load(core.transaction).descriptions)
                .completions(of: request.before, followedBy: request.after)
        }
        return .object([
            ("replaced", .count(request.before.suffix(found.replaced).utf16.count)),
            ("words", .array(found.words.prefix(Self.limit).map { .string($0) })),
        ])
    }
}

extension PlanStep {
    /// `{"text": "filter rows by …", "depth": 1, "runs": null, "read": 900, "rows": 20}`
    fileprivate var node: JSONNode {
        .object([
            ("text", .string(text)), ("depth", .count(depth)), ("runs", runs.map { .count($0) } ?? .null),
            ("read", read.map { .count($0) } ?? .null), ("rows", rows.map { .count($0) } ?? .null),
        ])
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
