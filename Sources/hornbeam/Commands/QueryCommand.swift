// SPDX-License-Identifier: Apache-2.0
// `hornbeam query`: entities by filter, sorted and limited, with the plan and the time on request.

import Hornbeam
import HornbeamTree

enum QueryCommand {
    static let whereOption = OptionDeclaration.value("where", "w", "FILTER", "only entities for which this holds")
    static let columnsOption = OptionDeclaration.value("columns", "c", "NAMES", "these columns, in this order")
    static let withOption = OptionDeclaration.value(
        "with", nil, "RELATIONS", "related entities too; a dot goes on: dependencies.maintainer")
    static let jsonOption = OptionDeclaration.flag("json", "j", "as JSON lines")
    static let explainOption = OptionDeclaration.flag("explain", "e", "print on standard error how it was answered")
    static let timeOption = OptionDeclaration.flag("time", "t", "print on standard error how long it took")
    static let searchHelp =
        "Words may be joined by AND, OR and NOT, and be a \"phrase\", a pre*, a w?ld*, wrod~ (nearly so), near others "
        + "(a NEAR/5 b), in one column (title:word), +there, -not there, or count more (word^2)."
    static let filterHelp =
        "FILTER compares columns with values: ==, !=, <, <=, >, >=, in [a, b], contains, hasPrefix, hasSuffix (with "
        + "not before and caseSensitive after them), matches (full text, in the language of search), "
        + "joined by &&, ||, ! and parentheses: "
        + "'section == \"net\" && size > 1000'. Several columns before an operator mean any of them; nil is a value; "
        + "dates, UUIDs and decimals are written as strings; a relation is compared with an id."

    static let declaration = CommandDeclaration(
        path: ["query"],
        summary: "find entities by filter, sorted and limited",
        discussion: filterHelp + "\nWith --sort a dash before a name means descending. In a table related entities "
            + "are their ids, with --json they are whole.",
        operands: [.store, .type],
        options: [
            whereOption,
            .value("sort", "s", "NAMES", "by these columns: -size,name"),
            .value("limit", "n", "COUNT", "at most so many"),
            .value("offset", "o", "COUNT", "leave out so many first"),
            columnsOption, withOption, jsonOption,
            .flag("count", nil, "only how many there are"),
            explainOption, timeOption,
        ],
        examples: [
            "hornbeam query packages.hornbeam Package --where 'section == \"net\"' --sort -size --limit 10",
            "hornbeam query packages.hornbeam Package --where 'name hasPrefix \"lib\"' --count --explain",
            "hornbeam query packages.hornbeam Package --where 'id == \"bash\"' --with dependencies.maintainer --json",
        ],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let limit = try arguments.number("limit", 0...Int.max)
        let offset = try arguments.number("offset", 0...Int.max) ?? 0
        try arguments.forbid("count", with: "json")
        try OpenStore.snapshot(arguments.file) { transaction in
            let session = try StoreTransaction(reading: transaction)
            let schema = session.schema
            let description = try Selection.type(arguments.type, in: schema.descriptions)
            let sort = try Selection.sort(try arguments.list("sort"), of: description)
            let query = EntityQuery(
                type: description.name, filter: try filter(arguments, try schema.type(description.name)),
                sort: sort.map { .column($0.column, descending: $0.descending) }, limit: limit, offset: offset)
            try answer(query, session, description, arguments, console)
        }
        return .ok
    }

    /// The filter of --where, or all.
    static func filter(_ arguments: Arguments, _ type: EntityType) throws -> Filter {
        try FilterText.filter(arguments.value("where") ?? "", for: type)
    }

    private static func answer(
        _ query: EntityQuery, _ session: StoreTransaction, _ type: EntityDescription, _ arguments: Arguments,
        _ console: Console
    ) throws {
        let columns = try Selection.columns(try arguments.list("columns"), of: type)
        let relations = try RelationTree(try arguments.list("with"), of: type, in: session.schema.descriptions)
        let start = ContinuousClock.now
        var found = 0
        if arguments.has("count") {
            found = try session.count(query)
            try console.print("\(found)")
        } else {
            var printer = RecordPrinter(
                session, try session.schema.type(type.name), columns: columns, relations: relations,
                asJSON: arguments.has("json"), console: console)
            try session.forEach(query) { rowID, row, _ in
                try printer.add(rowID, row)
                found += 1
                return true
            }
            try printer.finish()
        }
        try console.flush()
        try remarks(query, session, found, start.duration(to: .now), arguments, console)
    }

    /// What --explain and --time ask for.
    static func remarks(
        _ query: EntityQuery, _ session: StoreTransaction, _ found: Int, _ elapsed: Duration, _ arguments: Arguments,
        _ console: Console
    ) throws {
        if arguments.has("explain") { console.answer("\(try session.explain(query))") }
        if arguments.has("explain") || arguments.has("time") {
            console.answer("time: \(Spelling.time(elapsed)) for \(Spelling.counted(found, "result"))")
        }
    }
}
