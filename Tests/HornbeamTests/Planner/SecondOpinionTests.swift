// SPDX-License-Identifier: Apache-2.0
// SQLite's answers to the same queries: random models, indexes, rows, filters, sorts and limits that have one meaning
// in both. Each condition is written in SQL so that unknown counts as false, as it does for `not` here.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

/// A random entity type, and its declaration for SQLite.
private struct Model {
    var description: EntityDescription
    private var words = ["", "a", "ab", "b", "Ab", "é", "zebra", "ß", "long " + String(repeating: "x", count: 900)]

    init(_ random: inout SeededGenerator) {
        let types: [ColumnType] = [.int64, .double, .string, .bool, .int16, .uint32, .date, .uuid, .data]
        let idTypes: [ColumnType] = [.int64, .string, .uuid]
        var columns = [ColumnDescription(name: "id", type: idTypes[random.below(3)])]
        for number in 0..<Int.random(in: 2...6, using: &random) {
            let type = types.randomElement(using: &random) ?? .int64
            let isOptional = Bool.random(using: &random)
            columns.append(ColumnDescription(name: "c\(number)", type: isOptional ? .optional(type) : type))
        }
        let indexes = (0..<Int.random(in: 0...4, using: &random)).map { number in
            let components = columns.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)).map {
                IndexDescription.Component(column: $0.name, descending: Bool.random(using: &random))
            }
            let isHashed = Int.random(in: 0..<5, using: &random) == 0
            return IndexDescription(name: "i\(number)", kind: isHashed ? .hash : .value, components: components)
        }
        description = EntityDescription(name: "Thing", columns: columns, indexes: indexes)
    }

    func value(_ column: Int, _ random: inout SeededGenerator) -> Value {
        let type = description.columns[column].type
        if type.isOptional, Int.random(in: 0..<4, using: &random) == 0 { return .null }
        switch type.unwrapped {
        case .int64, .int16: return .int(Int64.random(in: column == 0 ? 0...150 : -4...9, using: &random))
        case .uint32: return .uint(UInt64.random(in: 0...9, using: &random))
        case .double: return .double([0, -0.0, 1.5, -2, 1e9, 0.1].randomElement(using: &random) ?? 0)
        case .date: return .date(Double(Int.random(in: 0...5, using: &random)) * 86_400)
        case .bool: return .bool(Bool.random(using: &random))
        case .uuid:
            let byte = UInt8(random.below(column == 0 ? 150 : 9)) &* 41
            return .uuid(UUID(uuid: (byte, 0, byte, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)))
        case .data: return .data(Data(repeating: UInt8(random.below(3)), count: random.below(3)))
        default:
            return .string(
                column == 0 ? "id\(Int.random(in: 0...150, using: &random))" : words.randomElement(using: &random) ?? ""
            )
        }
    }

    func filter(_ depth: Int, _ random: inout SeededGenerator) -> (Filter, sql: String) {
        let column = Int.random(in: 0..<description.columns.count, using: &random)
        let name = description.columns[column].name
        switch Int.random(in: 0..<(depth < 3 ? 9 : 6), using: &random) {
        case 0...2:
            let comparison = Comparison.allCases.randomElement(using: &random) ?? .equal
            let value = value(column, &random)
            let sign = comparison == .equal ? "IS" : comparison == .notEqual ? "IS NOT" : comparison.rawValue
            return (.compare(column: column, comparison, value), "COALESCE(\(name) \(sign) \(literal(value)), 0)")
        case 3: return (.isNull(column: column), "\(name) IS NULL")
        case 4:
            // Only few different terms, because SQLite doesn't accept a thousand.
            let drawn = (0..<(random.oneIn(9) ? 1_200 : random.below(4))).map { _ in value(column, &random) }
            let tests = Set(drawn.map(literal)).map { "\(name) IS \($0)" } + ["0"]
            return (.within(column: column, drawn), "(" + tests.joined(separator: " OR ") + ")")
        case 5:
            let texts = description.columns.indices.filter { description.columns[$0].type.unwrapped == .string }
            guard let column = texts.randomElement(using: &random) else { return (.all, "1") }
            return string(column, &random)
        case 6, 7:
            let parts = (0..<Int.random(in: 1...3, using: &random)).map { _ in filter(depth + 1, &random) }
            let isAnd = Bool.random(using: &random)
            let sql = "(" + parts.map(\.sql).joined(separator: isAnd ? " AND " : " OR ") + ")"
            return (isAnd ? .and(parts.map(\.0)) : .or(parts.map(\.0)), sql)
        default:
            let part = filter(depth + 1, &random)
            return (.not(part.0), "NOT (\(part.sql))")
        }
    }

    private func string(_ column: Int, _ random: inout SeededGenerator) -> (Filter, sql: String) {
        let name = description.columns[column].name
        let text = String((words.randomElement(using: &random) ?? "").prefix(2))
        let quoted = literal(.string(text))
        let kind = [StringTest.Kind.contains, .hasPrefix, .hasSuffix].randomElement(using: &random) ?? .contains
        let size = text.unicodeScalars.count
        let sql =
            switch kind {
            case .contains: "instr(\(name), \(quoted)) > 0"
            case .hasPrefix: "substr(\(name), 1, \(size)) = \(quoted)"
            case .hasSuffix: size == 0 ? "\(name) IS NOT NULL" : "substr(\(name), -\(size)) = \(quoted)"
            }
        // Every text contains an empty text; SQLite finds it at position 1, but not in an empty text.
        let isEmptyCase = kind == .contains && size == 0
        return (
            .string(StringTest(kind, columns: [column], text, caseSensitive: true)),
            "COALESCE(\(isEmptyCase ? "\(name) IS NOT NULL" : sql), 0)"
        )
    }

    func literal(_ value: Value) -> String {
        switch value {
        case .null: "NULL"
        case .bool(let flag): flag ? "1" : "0"
        case .int(let number): "\(number)"
        case .uint(let number): "\(number)"
        case .double(let number), .date(let number): "\(number)"
        case .string(let text): "'\(text.replacing("'", with: "''"))'"
        case .uuid(let id): "'\(id.uuidString)'"
        case .data(let data): "X'" + data.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + "'"
        default: "NULL"
        }
    }

    /// Insertion or replacement of a row.
    func upsert(_ row: [Value]) -> String {
        "INSERT OR REPLACE INTO Thing VALUES (\(row.map(literal).joined(separator: ", ")), 0)"
    }

    var table: String {
        let columns = description.columns.map { column -> String in
            switch column.type.unwrapped {
            case .string, .uuid: "\(column.name) TEXT"
            case .data: "\(column.name) BLOB"
            case .double, .date: "\(column.name) REAL"
            default: "\(column.name) INTEGER"
            }
        }
        return "CREATE TABLE Thing (\(columns.joined(separator: ", ")), place INTEGER, UNIQUE (id))"
    }
}

@Suite("Queries, with SQLite as a second opinion")
struct SecondOpinionTests {
    private struct Question {
        var query: EntityQuery
        var sql: String
        var answer: [Value]
        var plan: String
    }

    @Test("random models, rows and queries have the same answers, while rows change", .seeded)
    func opinions() throws {
        var random = SeededGenerator()
        for _ in 0..<12 {
            let model = Model(&random)
            let store = try CoreStore([model.description])
            var script = [model.table]
            var questions: [Question] = []
            for _ in 0..<3 {
                try change(model, store, &script, &random)
                for _ in 0..<40 { questions.append(try ask(model, store, &script, &random)) }
            }
            #expect(try store.problems().isEmpty)
            let answers = try SQLite.run(script)
            try #require(answers.count == questions.count)
            for (question, answer) in zip(questions, answers) {
                #expect(question.answer.map(model.literal) == answer, "\(question.sql)\n\(question.plan)")
            }
        }
    }

    private func change(
        _ model: Model, _ store: CoreStore, _ script: inout [String], _ random: inout SeededGenerator
    ) throws {
        for _ in 0..<90 {
            let row = model.description.columns.indices.map { model.value($0, &random) }
            if Int.random(in: 0..<5, using: &random) == 0, let rowID = try store["Thing"].rowID(of: row[0]) {
                try store["Thing"].delete(rowID)
                script.append("DELETE FROM Thing WHERE id = \(model.literal(row[0]))")
            } else {
                let rowID = try store.save("Thing", row)
                script.append(model.upsert(row))
                // Ties are ordered by the row id, which SQLite gets as a column.
                script.append("UPDATE Thing SET place = \(rowID.rawValue) WHERE id = \(model.literal(row[0]))")
            }
        }
    }

    private func ask(
        _ model: Model, _ store: CoreStore, _ script: inout [String], _ random: inout SeededGenerator
    ) throws -> Question {
        let (filter, sql) = model.filter(0, &random)
        var columns = Array(
            model.description.columns.indices.shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random)))
        // Paging by a position requires this.
        if random.oneIn(3), !columns.contains(0) { columns.append(0) }
        let sort = columns.map { SortTerm.column($0, descending: Bool.random(using: &random)) }
        var query = EntityQuery(type: "Thing", filter: filter, sort: sort)
        var order = zip(columns, sort).map { column, term in
            "\(model.description.columns[column].name)\(term.descending ? " DESC" : "")"
        }
        order.append("place")
        var text = "SELECT quote(id) FROM Thing WHERE \(sql) ORDER BY \(order.joined(separator: ", "))"
        if Bool.random(using: &random) {
            query.limit = Int.random(in: 1...30, using: &random)
            query.offset = Int.random(in: 0...12, using: &random)
            text += " LIMIT \(query.limit ?? 0) OFFSET \(query.offset)"
        }
        script.append(text)
        let answer = try store.ids(query)
        #expect(try store.core.count(query) == answer.count)
        return Question(query: query, sql: text, answer: answer, plan: "\(try store.core.explain(query))")
    }
}
