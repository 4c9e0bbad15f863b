// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a text in the query language: expressions, clauses and whole statements, with the position of each
// part in the text. The parser makes it. It is independent of entity types and of stores.

/// A position in a statement, as the number of Unicode scalars before it.
package typealias TextPlace = Int

/// An expression that is made of others.
protocol ExpressionTree {
    var children: [Self] { get }
}

extension ExpressionTree {
    /// Whether the test is true of this expression, or of one within it. Searches in a loop: rows of operators have up
    /// to 500 levels, and a recursion would take stack for each.
    func contains(where test: (Self) -> Bool) -> Bool {
        var waiting = [self]
        while let expression = waiting.popLast() {
            if test(expression) { return true }
            waiting += expression.children
        }
        return false
    }
}

/// A value to be computed for a row. Follows SQL++: a path to nothing is `missing`. The position is that of the first
/// word, for operators that of the operator.
package indirect enum Expression: Sendable, Equatable {
    case literal(Value, TextPlace)
    case missing(TextPlace)
    case parameter(Parameter)
    case path(Path)
    /// `[a, b]`
    case array([Expression], TextPlace)
    /// `{"name": a, …}`
    case object([ObjectField], TextPlace)
    case unary(UnaryOperator, Expression, TextPlace)
    case binary(BinaryOperator, Expression, Expression, TextPlace)
    /// `x LIKE y [ESCAPE z]`
    case like(Expression, Expression, escape: Expression?)
    case between(Expression, low: Expression, high: Expression)
    /// `x IN (a, b)` or `x IN [a, b]`; `withinArray` is `x IN array`.
    case within(Expression, [Expression])
    case withinArray(Expression, Expression)
    case test(Expression, StateTest)
    /// `x COLLATE UNICODE`: an operand of a comparison, or a term of ORDER BY, with the rule by which texts compare.
    case collate(Expression, TextCollation, TextPlace)
    /// `CASE x WHEN …` if there is a subject, else `CASE WHEN …`.
    case choice(subject: Expression?, cases: [Choice], otherwise: Expression?)
    /// `ANY|EVERY|ANY AND EVERY name IN array SATISFIES condition END`
    case quantified(Quantifier, variable: String, array: Expression, condition: Expression)
    /// `ARRAY value FOR name IN array [WHEN condition] END`
    case comprehension(value: Expression, variable: String, array: Expression, condition: Expression?, TextPlace)
    /// Any function, aggregates too; the name in lower case.
    case call(FunctionCall)
    /// `MATCH(index or columns, text)`: whether full text finds the row.
    case match(TextMatching)
    /// `RANK()` or `RANK(index)`: the score of the MATCH.
    case rank(TextPlace)
    /// `META(alias).id`, `META(alias).updatedAt` and so on: the store's data about an entity.
    case meta(MetaField, alias: String?, TextPlace)
    /// `*` or `alias.*`, as a result or in `COUNT(*)`.
    case star(alias: String?, TextPlace)
    /// `(SELECT …)` behind IN: an array of the values of its only column.
    case subquery(SelectStatement, TextPlace)
    /// `EXISTS (SELECT …)`
    case exists(SelectStatement, TextPlace)
}

/// A name, and the steps from it: `m.author.name`, `tags[0]`.
package struct Path: Sendable, Equatable {
    package enum Step: Sendable, Equatable {
        case name(String)
        /// Negative ones count from the end.
        case index(Int)
    }

    package var steps: [Step]
    var place: TextPlace

    /// The first step's name.
    package var head: String { if case .name(let name)? = steps.first { name } else { "" } }
    /// The path as text, without quotes around names.
    var text: String {
        var text = ""
        for step in steps {
            switch step {
            case .name(let name): text += text.isEmpty ? name : ".\(name)"
            case .index(let index): text += "[\(index)]"
            }
        }
        return text
    }
}

/// A value that is given with the statement: `?` (by order), `?2`, `$name`, `:name`.
package struct Parameter: Sendable, Equatable {
    package enum Name: Hashable, Sendable {
        /// The number of the parameter, from 1.
        case position(Int)
        case name(String)
    }

    package var name: Name
    var place: TextPlace
}

package struct ObjectField: Sendable, Equatable {
    var name: String
    var value: Expression
}

package struct Choice: Sendable, Equatable {
    var condition: Expression
    var value: Expression
}

package enum UnaryOperator: String, Sendable {
    case not = "NOT"
    case minus = "-"
    case plus = "+"
}

package enum BinaryOperator: String, Sendable {
    case or = "OR"
    case and = "AND"
    case equal = "="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case concatenate = "||"
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case remainder = "%"

    var isArithmetic: Bool {
        switch self {
        case .add, .subtract, .multiply, .divide, .remainder: true
        default: false
        }
    }
}

/// `IS NULL` and similar tests. A negated test is this within a `NOT`.
package enum StateTest: String, Sendable {
    case null = "NULL"
    case missing = "MISSING"
    case valued = "VALUED"
}

/// The fields of META: the entity's id, whatever its property is called, the time of its last save, and further
/// metadata of its type.
package enum MetaField: String, Sendable {
    case id
    case updatedAt
    case createdAt
    case version
}

package enum Quantifier: String, Sendable {
    case any = "ANY"
    case every = "EVERY"
    case anyAndEvery = "ANY AND EVERY"
}

package struct FunctionCall: Sendable, Equatable {
    /// In lower case.
    package var name: String
    package var arguments: [Expression]
    /// `COUNT(DISTINCT x)`
    package var isDistinct = false
    package var place: TextPlace
}

package struct TextMatching: Sendable, Equatable {
    /// An index's name alone, or columns.
    var targets: [Path]
    var query: Expression
    var place: TextPlace
}

/// One column of the result.
package struct Projection: Sendable, Equatable {
    var value: Expression
    /// The alias that `AS` gives.
    var alias: String?
    var place: TextPlace
    /// The words of the expression, which name a column without an alias.
    var text: String
}

/// The source of rows: a type and the joined sources, in order.
package struct Source: Sendable, Equatable {
    /// An entity type, `_` for the only type of the store, or a name from WITH.
    var type: String
    var alias: String?
    var place: TextPlace
    /// The subquery whose rows these are; nil for a type.
    var query: Expression?
}

package struct SourceJoin: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        case inner
        case leftOuter
    }
    enum Target: Sendable, Equatable {
        /// `JOIN Type AS t ON …`
        case type(String, on: Expression)
        /// `JOIN (SELECT …) AS t ON …`
        case query(Expression, on: Expression)
        /// `JOIN chat.messages AS m`: along a relation.
        case relation(Path)
        /// `UNNEST p.likes AS like`
        case elements(Expression)
    }

    var kind: Kind
    var target: Target
    var alias: String?
    var place: TextPlace
}

package struct Ordering: Sendable, Equatable {
    package enum Nulls: Sendable, Equatable { case first, last }

    package var value: Expression
    package var isDescending = false
    package var nulls: Nulls?
    var place: TextPlace
}

/// All clauses that may follow FROM and its joins.
package struct QueryClauses: Sendable, Equatable {
    package var condition: Expression?
    package var groups: [Expression] = []
    package var having: Expression?
    package var order: [Ordering] = []
    package var limit: Expression?
    package var offset: Expression?
}

/// `[EXPLAIN [ANALYZE]] SELECT …`
package struct SelectStatement: Sendable, Equatable {
    var isExplained = false
    /// Whether it is run for the counts of its steps: `EXPLAIN ANALYZE`.
    var isAnalysed = false
    var isDistinct = false
    /// `SELECT VALUE x` (also RAW): rows are values, not columns.
    var isValue = false
    var projections: [Projection]
    var source: Source
    var joins: [SourceJoin] = []
    var clauses = QueryClauses()
    /// The statements that UNION adds, nil if there are none.
    var union: Union?
}

/// `UNION [ALL] SELECT … {UNION [ALL] SELECT …}`, behind the first SELECT.
struct Union: Sendable, Equatable {
    var others: [SelectStatement]
    /// Whether equal rows stay.
    var isAll: Bool
    /// ORDER BY, LIMIT and OFFSET of the whole result.
    var clauses = QueryClauses()
}

/// A whole statement.
enum StatementTree: Sendable, Equatable {
    case select(SelectStatement)
    case change(ChangeStatement)
}

/// `[EXPLAIN] INSERT …`, `UPSERT …`, `UPDATE …` or `DELETE …`
struct ChangeStatement: Sendable, Equatable {
    enum Action: Sendable, Equatable {
        /// `replaces`: whether a stored entity with the same id is replaced. Otherwise it is an error.
        case insert(InsertedRows, replaces: Bool)
        case update([Assignment])
        case delete
    }

    var isExplained = false
    var action: Action
    /// The type whose entities change.
    var target: Source
    var condition: Expression?
    /// The columns of RETURNING.
    var returning: [Projection] = []
}

/// The entities that INSERT names.
enum InsertedRows: Sendable, Equatable {
    /// `{"name": a, …}, …`
    case objects([Expression])
    /// `(name, …) VALUES (a, …), …`
    case values([InsertedName], [[Expression]])
    /// `[(name, …)] SELECT …`
    case query([InsertedName], SelectStatement)
}

/// A property or relation in the list behind the type of INSERT.
struct InsertedName: Sendable, Equatable {
    var name: String
    var place: TextPlace
}

/// `path = value` behind SET.
struct Assignment: Sendable, Equatable {
    var path: Path
    var value: Expression
}
