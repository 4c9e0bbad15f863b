// SPDX-License-Identifier: Apache-2.0
// The functions of one row: their names, the number of their arguments, and their code. Arguments of the wrong kind
// give null, as in SQL++. Aggregates are in `Aggregation.swift`.

/// A function of values.
struct ScalarFunction: Sendable {
    typealias Body = @Sendable ([StatementValue], PatternCache) throws -> StatementValue

    let name: String
    let arity: ClosedRange<Int>
    /// Whether a missing or null argument makes the result missing or null, without calling `body`.
    let isStrict: Bool
    /// The collation of a function that gives a text's sort key.
    let collation: TextCollation?
    private let body: Body

    init(
        _ name: String, _ arity: ClosedRange<Int>, isStrict: Bool = true, collation: TextCollation? = nil,
        _ body: @escaping Body
    ) {
        self.collation = collation
        self.name = name
        self.arity = arity
        self.isStrict = isStrict
        self.body = body
    }

    func call(_ arguments: [StatementValue], _ patterns: PatternCache) throws -> StatementValue {
        if isStrict {
            if arguments.contains(.missing) { return .missing }
            if arguments.contains(.null) { return .null }
        }
        return try body(arguments, patterns)
    }

    /// All scalar functions, by their names in lower case.
    static let all: [String: ScalarFunction] = {
        let functions = StringFunctions.all + NumberFunctions.all + ArrayFunctions.all + ValueFunctions.all
        return Dictionary(functions.map { ($0.name, $0) }) { first, _ in first }
    }()
}

extension ScalarFunction: Equatable {
    static func == (left: Self, right: Self) -> Bool { left.name == right.name }
}
