// SPDX-License-Identifier: Apache-2.0
// SQL with its parameters in their positions. A string of a program gets into it only as a parameter or as a quoted
// name. Only literals in the code are SQL.

/// A statement, or a part of one.
struct SQLText: Sendable, ExpressibleByStringInterpolation {
    fileprivate enum Piece: Sendable, Hashable {
        case text(String)
        case parameter(String, type: String)
    }

    fileprivate var pieces: [Piece] = []

    init(stringLiteral text: String) { pieces = [.text(text)] }

    init(stringInterpolation: StringInterpolation) { pieces = stringInterpolation.pieces }

    private init(pieces: [Piece]) { self.pieces = pieces }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var pieces: [Piece] = []

        init(literalCapacity: Int, interpolationCount: Int) {
            pieces.reserveCapacity(2 * interpolationCount + 1)
        }

        mutating func appendLiteral(_ literal: String) {
            if !literal.isEmpty { pieces.append(.text(literal)) }
        }

        mutating func appendInterpolation(_ part: SQLText) { pieces += part.pieces }
        mutating func appendInterpolation(_ number: Int) { pieces.append(.text(String(number))) }
        mutating func appendInterpolation(name: String) { pieces.append(.text(quoted(name))) }
        /// Appends a value in the text that the server reads, with its type.
        mutating func appendInterpolation(_ parameter: String, as type: String) {
            pieces.append(.parameter(parameter, type: type))
        }
    }

    /// Returns a type, a quoted name or an alias that this module has made.
    static func trusted(_ text: String) -> SQLText { SQLText(pieces: [.text(text)]) }

    static func joined(_ parts: [SQLText], by separator: String) -> SQLText {
        var pieces: [Piece] = []
        for (place, part) in parts.enumerated() {
            if place > 0 { pieces.append(.text(separator)) }
            pieces += part.pieces
        }
        return SQLText(pieces: pieces)
    }

    /// The statement with numbered parameters. A parameter that occurs twice is sent once.
    var statement: (sql: String, parameters: [String?]) {
        var sql = ""
        var parameters: [String?] = []
        var numbers: [Piece: Int] = [:]
        for piece in pieces {
            switch piece {
            case .text(let text): sql += text
            case .parameter(let text, let type):
                let number = numbers[piece] ?? parameters.count + 1
                if numbers.updateValue(number, forKey: piece) == nil { parameters.append(text) }
                sql += "$\(number)::\(type)"
            }
        }
        return (sql, parameters)
    }
}

/// A condition that the server can test. It may leave some rows undecided: these are candidates, which are tested here.
struct SQLCondition: Sendable {
    /// True for each row that passes, and for candidates.
    var may: SQLText
    /// True only for rows that pass. Nil if `may` is the whole condition.
    var must: SQLText?

    init(_ condition: SQLText) { may = condition }

    init(may: SQLText, must: SQLText?) { (self.may, self.must) = (may, must) }

    /// Whether there are no candidates.
    var isExact: Bool { must == nil }

    var certain: SQLText { must ?? may }

    static func constant(_ result: Bool) -> SQLCondition { SQLCondition(result ? "TRUE" : "FALSE") }

    static func all(_ parts: [SQLCondition]) -> SQLCondition { join(parts, " AND ", none: true) }
    static func any(_ parts: [SQLCondition]) -> SQLCondition { join(parts, " OR ", none: false) }

    private static func join(_ parts: [SQLCondition], _ sign: String, none: Bool) -> SQLCondition {
        switch parts.count {
        case 0: return constant(none)
        case 1: return parts[0]
        default: break
        }
        let may: SQLText = "(\(SQLText.joined(parts.map(\.may), by: sign)))"
        if parts.allSatisfy(\.isExact) { return SQLCondition(may) }
        return SQLCondition(may: may, must: "(\(SQLText.joined(parts.map(\.certain), by: sign)))")
    }

    /// Returns the condition, or its opposite. The condition must never be NULL.
    func negated(_ isNegated: Bool) -> SQLCondition {
        guard isNegated else { return self }
        return SQLCondition(may: "NOT (\(certain))", must: must.map { _ in "NOT (\(may))" })
    }

    /// Returns the condition on a column, or its opposite. On NULL the condition is NULL, which isn't true, so its
    /// opposite is true.
    func negated(_ isNegated: Bool, ifNotNull column: SQLText) -> SQLCondition {
        guard isNegated else { return self }
        func opposite(_ condition: SQLText) -> SQLText { "(\(column) IS NULL OR NOT (\(condition)))" }
        return SQLCondition(may: opposite(certain), must: must.map { _ in opposite(may) })
    }
}
