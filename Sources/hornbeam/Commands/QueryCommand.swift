// SPDX-License-Identifier: Apache-2.0
// `hornbeam query`: entities by a condition, sorted and limited, with the plan and the time on request.

import Hornbeam
import HornbeamTree

enum QueryCommand {
    static let whereOption = OptionDeclaration.value("where", "w", "CONDITION", "only entities for which this is true")
    static let columnsOption = OptionDeclaration.value("columns", "c", "NAMES", "these columns, in this order")
    static let withOption = OptionDeclaration.value(
        "with", nil, "RELATIONS", "related entities too; a dot goes on: dependencies.maintainer")
    static let jsonOption = OptionDeclaration.flag("json", "j", "as JSON lines")
    static let explainOption = OptionDeclaration.flag("explain", "e", "print on standard error how it was answered")
    static let timeOption = OptionDeclaration.flag("time", "t", "print on standard error how long it took")
    static let searchHelp =
        "Words may be joined by AND, OR and NOT, and be a \"phrase\", a pre*, a w?ld*, wrod~ (nearly so), near others "
        + "(a NEAR/5 b), in one column (title:word), +there, -not there, or count more (word^2)."
    static let paramOption = OptionDeclaration.value("param", "p", "VALUE", "the value of the next ?; may be repeated")
    static let setOption = OptionDeclaration.value("set", nil, "NAME=VALUE", "the value of $NAME; may be repeated")
    static let conditionHelp =
        "CONDITION is what may stand behind WHERE in 'hornbeam sql': \"section = 'net' AND size > 1000\", "
        + "\"section IN ('net', 'mail')\", \"section IS NULL\", \"STARTS_WITH(name, 'lib')\", "
        + "\"CONTAINS(FOLD(name), 'lib')\" (of any case), \"MATCH(name, 'words')\" (full text), "
        + "\"maintainer.name = 'Ann'\" (of a related entity), joined by AND, OR and NOT. "
        + "Docs/query-language.md says all. --param and --set give values, as in 'hornbeam sql'."

    static let declaration = CommandDeclaration(
        path: ["query"],
        summary: "find entities by a condition, sorted and limited",
        discussion: conditionHelp + "\nWith --sort a dash before a name means descending. In a table related entities "
            + "are their ids, with --json they are whole.",
        operands: [.store, .type],
        options: [
            whereOption, paramOption, setOption,
            .value("sort", "s", "NAMES", "by these columns: -size,name"),
            .value("limit", "n", "COUNT", "at most so many"),
            .value("offset", "o", "COUNT", "leave out so many first"),
            columnsOption, withOption, jsonOption,
            .flag("count", nil, "only how many there are"),
            explainOption, timeOption,
        ],
        examples: [
            "hornbeam query packages.hornbeam Package --where \"section = 'net'\" --sort -size --limit 10",
            "hornbeam query packages.hornbeam Package --where \"STARTS_WITH(name, 'lib')\" --count --explain",
            "hornbeam query packages.hornbeam Package -w 'id = ?' -p bash --with dependencies.maintainer --json",
        ],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let limit = try arguments.number("limit", 0...Int.max)
        let offset = try arguments.number("offset", 0...Int.max) ?? 0
        try arguments.forbid("count", with: "json")
        try OpenStore.snapshot(arguments.file) { transaction in
            let core = try StoreTransaction(reading: transaction)
            let schema = core.schema
            let description = try Selection.type(arguments.type, in: schema.descriptions)
            let sort = try Selection.sort(try arguments.list("sort"), of: description)
            let query = EntityQuery(
                type: description.name, sort: sort.map { .column($0.column, descending: $0.descending) }, limit: limit,
                offset: offset)
            let entities = try entities(query, core, arguments, isAnalysed: arguments.has("explain"))
            try answer(entities, core, description, arguments, console)
        }
        return .ok
    }

    /// The entities of a query for which the condition of --where is true.
    static func entities(
        _ query: EntityQuery, _ core: StoreTransaction, _ arguments: Arguments, isAnalysed: Bool = false
    ) throws -> FilteredEntities {
        try FilteredEntities(
            query, where: arguments.value("where"), in: core, try parameters(arguments),
            isAnalysed: isAnalysed)
    }

    /// The values of --param and --set.
    static func parameters(_ arguments: Arguments) throws(UsageError) -> StatementParameters {
        StatementParameters(
            positions: arguments.all("param").map(StatementParameters.value), names: try namedValues(arguments))
    }

    /// The values of --set.
    static func namedValues(_ arguments: Arguments) throws(UsageError) -> [String: Value] {
        var names: [String: Value] = [:]
        for pair in arguments.all("set") {
            guard let sign = pair.firstIndex(of: "="), sign != pair.startIndex else {
                throw UsageError("--set is “\(pair)”", hint: "write --set NAME=VALUE")
            }
            let name = String(pair[..<sign])
            names[name] = StatementParameters.value(String(pair[pair.index(after: sign)...]))
        }
        return names
    }

    private static func answer(
        _ entities: FilteredEntities, _ core: StoreTransaction, _ type: EntityDescription, _ arguments: Arguments,
        _ console: Console
    ) throws {
        let columns = try Selection.columns(try arguments.list("columns"), of: type)
        let relations = try RelationTree(try arguments.list("with"), of: type, in: core.schema.descriptions)
        let start = ContinuousClock.now
        var found = 0
        if arguments.has("count") {
            found = try entities.count()
            try console.print("\(found)")
        } else {
            var printer = RecordPrinter(
                core, try core.schema.type(type.name), columns: columns, relations: relations,
                asJSON: arguments.has("json"), console: console)
            try entities.forEach { rowID, row, _ in
                try printer.add(rowID, row)
                found += 1
                return true
            }
            try printer.finish()
        }
        try console.flush()
        try remarks(entities, found, start.duration(to: .now), arguments, console)
    }

    /// Prints the output of --explain and --time.
    static func remarks(
        _ entities: FilteredEntities, _ found: Int, _ elapsed: Duration, _ arguments: Arguments, _ console: Console
    ) throws {
        if arguments.has("explain") { console.answer(try entities.explanation()) }
        if arguments.has("explain") || arguments.has("time") {
            console.answer("time: \(Spelling.time(elapsed)) for \(Spelling.counted(found, "result"))")
        }
    }
}
