// SPDX-License-Identifier: Apache-2.0
// `hornbeam search`: ranked full text, the best first, with scores.

import Hornbeam
import HornbeamTree

enum SearchCommand {
    static let declaration = CommandDeclaration(
        path: ["search"],
        summary: "find entities by words, the best first",
        discussion: "Entities with any of the words, ranked by BM25. Without INDEX, or with auto, the type's only "
            + "full-text index is used. " + QueryCommand.searchHelp + "\n" + QueryCommand.conditionHelp,
        operands: [
            .store, .type,
            OperandDeclaration(name: "INDEX", help: "a full-text index of the type", isOptional: true),
            OperandDeclaration(name: "WORDS", help: "what to look for"),
        ],
        options: [
            QueryCommand.whereOption, QueryCommand.paramOption, QueryCommand.setOption,
            .value("limit", "n", "COUNT", "at most so many (10)"),
            .value("offset", "o", "COUNT", "leave out so many first"),
            QueryCommand.columnsOption, QueryCommand.withOption, QueryCommand.jsonOption, QueryCommand.explainOption,
            QueryCommand.timeOption,
        ],
        examples: [
            "hornbeam search packages.hornbeam Package 'database server'",
            "hornbeam search packages.hornbeam Package search 'web server' --where \"section = 'net'\" --limit 5",
        ],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let limit = try arguments.number("limit", 0...Int.max) ?? 10
        let offset = try arguments.number("offset", 0...Int.max) ?? 0
        try OpenStore.snapshot(arguments.file) { transaction in
            let core = try StoreTransaction(reading: transaction)
            let schema = core.schema
            let type = try Selection.type(arguments.type, in: schema.descriptions)
            let index = try index(arguments.operand("INDEX"), of: type)
            let columns = index.components.compactMap { type.column($0.column) }
            let search = try TextMatch.query(arguments.operand("WORDS") ?? "", of: columns, type)
            let words = Filter.matches(TextMatch(columns: columns, query: search, using: index.name))
            let query = EntityQuery(
                type: type.name, filter: words, sort: [.bestScore], limit: limit, offset: offset)
            let entities = try QueryCommand.entities(query, core, arguments, isAnalysed: arguments.has("explain"))
            try answer(entities, from: offset, core, type, arguments, console)
        }
        return .ok
    }

    /// The full-text index called `name`, or the only one.
    static func index(_ name: String?, of type: EntityDescription) throws -> IndexDescription {
        let indexes = type.indexes.filter { $0.kind == .text }
        let names = indexes.map(\.name).joined(separator: ", ")
        guard let first = indexes.first else { throw CommandError("\(type.name) has no full-text index") }
        guard let name, name != "auto" else {
            if indexes.count == 1 { return first }
            throw CommandError("\(type.name) has several full-text indexes, name one: \(names)")
        }
        if let index = indexes.first(where: { $0.name == name }) { return index }
        throw CommandError("\(type.name) has no full-text index “\(name)”; it has \(names)")
    }

    private static func answer(
        _ entities: FilteredEntities, from offset: Int, _ core: StoreTransaction, _ type: EntityDescription,
        _ arguments: Arguments, _ console: Console
    ) throws {
        var printer = RecordPrinter(
            core, try core.schema.type(type.name),
            columns: try Selection.columns(try arguments.list("columns"), of: type),
            relations: try RelationTree(try arguments.list("with"), of: type, in: core.schema.descriptions),
            heads: ["rank", "score"], asJSON: arguments.has("json"), console: console)
        let start = ContinuousClock.now
        var rank = offset
        try entities.forEach { rowID, row, score in
            rank += 1
            let score = score ?? 0
            let heads = [
                RecordHead(name: "rank", value: .int(Int64(rank)), text: "\(rank)"),
                RecordHead(name: "score", value: .double(score), text: Spelling.fixed(score, 4)),
            ]
            try printer.add(rowID, row, heads: heads)
            return true
        }
        try printer.finish()
        try console.flush()
        try QueryCommand.remarks(entities, rank - offset, start.duration(to: .now), arguments, console)
    }
}
