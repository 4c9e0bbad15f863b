// SPDX-License-Identifier: Apache-2.0
// Filters and sorts as text, for the command. Errors show the place.
//
//     filter     = and { "||" and }
//     and        = unary { "&&" unary }
//     unary      = "!" unary | "(" filter ")" | test
//     test       = names compare literal | name [ "not" ] "in" "[" literal { "," literal } "]"
//                | names [ "not" ] ( "contains" | "hasPrefix" | "hasSuffix" ) string [ "caseSensitive" ]
//                | names "matches" string
//     names      = name { "," name }
//     literal    = number | string | true | false | nil
//
// Several names mean any of them. A name may be that of a relation with an inverse: `author == 5` tests the link.
// Dates, UUIDs and decimals are written as strings. `size desc, name` is a sort.

import FoundationEssentials
import HornbeamText

/// Parses filter text for one entity type.
package struct FilterText {
    private let type: EntityType
    private var tokens: TextTokens

    private init(_ text: String, _ type: EntityType) throws(HornbeamError) {
        self.type = type
        tokens = try TextTokens(text)
    }

    private var peek: TextTokens.Token { tokens.peek }
    private var position: Int {
        get { tokens.position }
        set { tokens.position = newValue }
    }
    private mutating func next() -> TextTokens.Token { tokens.next() }
    private mutating func take(_ token: TextTokens.Token) -> Bool { tokens.take(token) }
    private func failure(_ what: String, _ token: Int? = nil) -> HornbeamError { tokens.failure(what, token) }

    /// The filter that `text` says; all for an empty text.
    package static func filter(_ text: String, for type: EntityType) throws(HornbeamError) -> Filter {
        var parser = try FilterText(text, type)
        if parser.peek == .end { return .all }
        let filter = try parser.or(depth: 0)
        guard parser.peek == .end else { throw parser.failure("expected && or || or the end") }
        return filter
    }

    /// The sort that `text` says.
    package static func sort(_ text: String, for type: EntityType) throws(HornbeamError) -> [SortTerm] {
        var parser = try FilterText(text, type)
        var terms: [SortTerm] = []
        while parser.peek != .end {
            if !terms.isEmpty, !parser.take(.sign(",")) { throw parser.failure("expected a comma") }
            let at = parser.position
            guard case .name(let name) = parser.next() else { throw parser.failure("expected a property", at) }
            let isScore = name == "score" && type.description.column(name) == nil
            let column = isScore ? 0 : try parser.column(name, at)
            let descending = parser.take(.name("desc"))
            if !descending { _ = parser.take(.name("asc")) }
            terms.append(isScore ? .bestScore : .column(column, descending: descending))
        }
        return terms
    }

    // MARK: Grammar

    private mutating func or(depth: Int) throws(HornbeamError) -> Filter {
        guard depth < 100 else { throw failure("more than 100 levels of nesting") }
        var parts = [try and(depth)]
        while take(.sign("||")) { parts.append(try and(depth)) }
        return parts.count == 1 ? parts[0] : .or(parts)
    }

    private mutating func and(_ depth: Int) throws(HornbeamError) -> Filter {
        var parts = [try unary(depth)]
        while take(.sign("&&")) { parts.append(try unary(depth)) }
        return Filter.conjunction(parts)
    }

    private mutating func unary(_ depth: Int) throws(HornbeamError) -> Filter {
        guard depth < 100 else { throw failure("more than 100 levels of nesting") }
        if take(.sign("!")) { return .not(try unary(depth + 1)) }
        if take(.sign("(")) {
            let inner = try or(depth: depth + 1)
            guard take(.sign(")")) else { throw failure("expected )") }
            return inner
        }
        return try test()
    }

    private func column(_ name: String, _ token: Int) throws(HornbeamError) -> Int {
        guard let column = type.description.column(name) else {
            throw failure("\(type.name) has no property “\(name)”; \(known(instead: name))", token)
        }
        return column
    }

    /// The nearest name, or the names that there are.
    private func known(instead name: String) -> String {
        let columns = type.description.columns.map(\.name)
        let relations = type.relations.map(\.name)
        if let hint = NearestName.hint(name, among: columns + relations) { return hint }
        let known = "it has \(columns.joined(separator: ", "))"
        return relations.isEmpty ? known : known + ", and the relations \(relations.joined(separator: ", "))"
    }

    private mutating func test() throws(HornbeamError) -> Filter {
        var names: [(name: String, token: Int)] = []
        repeat {
            let token = position
            guard case .name(let name) = next() else { throw failure("expected the name of a property", token) }
            names.append((name, token))
        } while take(.sign(","))
        let first = names[0]
        if names.count == 1, type.description.column(first.name) == nil,
            let side = type.relations.first(where: { $0.name == first.name })
        {
            return try link(side, first.token)
        }
        var columns: [Int] = []
        for (name, token) in names { columns.append(try column(name, token)) }
        let token = position
        switch next() {
        case .sign(let sign):
            guard let comparison = Comparison(rawValue: sign) else { break }
            return try compare(columns, comparison)
        case .name("in"): return try within(columns, token)
        case .name("matches"):
            try requireText(columns, names)
            return .matches(TextMatch(columns: columns, query: try search(columns)))
        case .name("not"):
            if take(.name("in")) { return .not(try within(columns, token)) }
            guard case .name(let word) = next(), let kind = StringTest.Kind(rawValue: word) else { break }
            return try string(kind, columns, names, negated: true)
        case .name(let word):
            guard let kind = StringTest.Kind(rawValue: word) else { break }
            return try string(kind, columns, names, negated: false)
        default: break
        }
        throw failure("expected ==, !=, <, <=, >, >=, in, contains, hasPrefix, hasSuffix or matches", token)
    }

    private func requireText(_ columns: [Int], _ names: [(name: String, token: Int)]) throws(HornbeamError) {
        for (column, name) in zip(columns, names) where !type.description.columns[column].type.isText {
            throw failure(
                "\(name.name) is no text but \(type.description.columns[column].type.withArticle)", name.token)
        }
    }

    /// Text in quotes, in the language of queries; its fields are the columns before it.
    private mutating func search(_ columns: [Int]) throws(HornbeamError) -> TextQuery {
        let text = try string()
        return try TextMatch.query(text, of: columns, type.description)
    }

    private mutating func string() throws(HornbeamError) -> String {
        let token = position
        guard case .string(let text) = next() else { throw failure("expected a string in quotes", token) }
        return text
    }

    private mutating func string(
        _ kind: StringTest.Kind, _ columns: [Int], _ names: [(name: String, token: Int)], negated: Bool
    ) throws(HornbeamError) -> Filter {
        for (column, name) in zip(columns, names) {
            switch type.description.columns[column].type.unwrapped {
            case .string, .url: continue
            default: throw failure("\(name.name) is no string", name.token)
            }
        }
        let text = try string()
        let isExact = take(.name("caseSensitive"))
        return .string(StringTest(kind, columns: columns, text, caseSensitive: isExact, negated: negated))
    }

    private mutating func compare(_ columns: [Int], _ comparison: Comparison) throws(HornbeamError) -> Filter {
        let start = position
        var parts: [Filter] = []
        for column in columns {
            position = start
            parts.append(.compare(column: column, comparison, try literal(type.description.columns[column].type)))
        }
        return parts.count == 1 ? parts[0] : .or(parts)
    }

    private mutating func within(_ columns: [Int], _ token: Int) throws(HornbeamError) -> Filter {
        guard columns.count == 1 else { throw failure("only one property can be “in” a list", token) }
        guard take(.sign("[")) else { throw failure("expected [") }
        var values: [Value] = []
        while !take(.sign("]")) {
            if !values.isEmpty, !take(.sign(",")) { throw failure("expected , or ]") }
            values.append(try literal(type.description.columns[columns[0]].type))
        }
        return .within(column: columns[0], values)
    }

    /// `author == 5`: entities whose relation leads to that one.
    private mutating func link(_ side: EdgeSide, _ token: Int) throws(HornbeamError) -> Filter {
        guard let inverse = side.inverse else {
            throw failure("\(type.name).\(side.name) has no inverse, so entities can't be found by it", token)
        }
        let sign = position
        guard case .sign(let text) = next(), let comparison = Comparison(rawValue: text),
            comparison == .equal || comparison == .notEqual
        else { throw failure("expected == or != and an id", sign) }
        let value: Value =
            switch next() {
            case .string(let text): .string(text)
            case .number(let text):
                WrittenNumber.int64(text).map { .int($0) } ?? WrittenNumber.uint64(text).map { .uint($0) } ?? .null
            default: .null
            }
        guard value != .null else { throw failure("expected an id: a number, or a string in quotes", position - 1) }
        let linked = Filter.related(RelationSource(type: side.target, relation: inverse, source: value))
        return comparison == .equal ? linked : .not(linked)
    }

    private mutating func literal(_ type: ColumnType) throws(HornbeamError) -> Value {
        let token = position
        let node: JSONNode
        switch next() {
        case .name("nil"), .name("null"): return .null
        case .name("true"): node = .bool(true)
        case .name("false"): node = .bool(false)
        case .string(let text): node = .string(text)
        case .number(let text): node = .number(text)
        default: throw failure("expected a value: a number, a string in quotes, true, false or nil", token)
        }
        guard type.isOrdered else { throw failure("\(type.withArticle) can't be compared", token) }
        guard let value = JSONRows.value(node, as: type) else {
            throw failure("not \(type.unwrapped.withArticle): \(JSONRows.reason(node, as: type))", token)
        }
        return value
    }
}
