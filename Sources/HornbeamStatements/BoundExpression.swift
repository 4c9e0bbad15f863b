// SPDX-License-Identifier: Apache-2.0
// Expressions whose names are resolved to slots of a frame, which hold the values of the current row. Equal expressions
// give the same value, wherever in the text they are; so grouping expressions are recognised.

/// The position of an expression in the text, for errors. All positions are equal, so that the position doesn't count
/// when expressions are compared.
struct SourcePosition: Sendable, Equatable {
    let place: TextPlace

    init(_ place: TextPlace) { self.place = place }

    static func == (left: SourcePosition, right: SourcePosition) -> Bool { true }
}

/// An expression ready to be computed.
indirect enum BoundExpression: Sendable {
    case constant(StatementValue)
    case slot(Int)
    case field(BoundExpression, String)
    case element(BoundExpression, Int)
    case array([BoundExpression], SourcePosition)
    case object([BoundField], SourcePosition)
    case not(BoundExpression)
    case minus(BoundExpression, SourcePosition)
    case plus(BoundExpression)
    case binary(BinaryOperator, BoundExpression, BoundExpression, SourcePosition)
    case like(BoundExpression, BoundExpression, escape: BoundExpression?, SourcePosition)
    case between(BoundExpression, BoundExpression, BoundExpression)
    case within(BoundExpression, [BoundExpression])
    case withinArray(BoundExpression, BoundExpression)
    /// `x IN list`, where the list is the same for all rows.
    case among(BoundExpression, StatementValueList)
    case test(BoundExpression, StateTest)
    case choice(subject: BoundExpression?, [BoundChoice], otherwise: BoundExpression?)
    /// The slot is the variable's.
    case quantified(Quantifier, slot: Int, BoundExpression, BoundExpression)
    case comprehension(slot: Int, value: BoundExpression, BoundExpression, condition: BoundExpression?, SourcePosition)
    case call(ScalarFunction, [BoundExpression], SourcePosition)
}

struct BoundField: Sendable {
    var name: String
    var value: BoundExpression
}

struct BoundChoice: Sendable {
    var condition: BoundExpression
    var value: BoundExpression
}

extension BoundExpression: ExpressionTree {
    /// The parts that it is computed from.
    var children: [BoundExpression] {
        switch self {
        case .constant, .slot: []
        case .field(let inner, _), .element(let inner, _), .not(let inner), .minus(let inner, _), .plus(let inner),
            .test(let inner, _), .among(let inner, _):
            [inner]
        case .array(let parts, _): parts
        case .object(let fields, _): fields.map(\.value)
        case .binary(_, let left, let right, _), .withinArray(let left, let right): [left, right]
        case .like(let text, let pattern, let escape, _): [text, pattern] + (escape.map { [$0] } ?? [])
        case .between(let value, let low, let high): [value, low, high]
        case .within(let value, let list): [value] + list
        case .choice(let subject, let cases, let otherwise):
            (subject.map { [$0] } ?? []) + cases.flatMap { [$0.condition, $0.value] } + (otherwise.map { [$0] } ?? [])
        case .quantified(_, _, let array, let condition): [array, condition]
        case .comprehension(_, let value, let array, let condition, _): [value, array] + (condition.map { [$0] } ?? [])
        case .call(_, let arguments, _): arguments
        }
    }

    /// The slots that it reads, including those of its own variables.
    var slots: Set<Int> {
        var found: Set<Int> = []
        _ = contains { part in
            if case .slot(let slot) = part { found.insert(slot) }
            return false
        }
        return found
    }

    /// The parts of a conjunction, all of which must be true.
    var conjuncts: [BoundExpression] {
        guard case .binary(.and, let left, let right, _) = self else { return [self] }
        return left.conjuncts + right.conjuncts
    }
}

extension BoundExpression: Equatable {
    /// Compares in a loop: a recursion could take more stack than there is.
    static func == (left: BoundExpression, right: BoundExpression) -> Bool {
        var waiting = [(left, right)]
        while let (left, right) = waiting.popLast() {
            guard left.isLike(right) else { return false }
            let (parts, others) = (left.children, right.children)
            guard parts.count == others.count else { return false }
            waiting += zip(parts, others)
        }
        return true
    }

    /// Whether both are equal apart from their children.
    private func isLike(_ other: BoundExpression) -> Bool {
        switch (self, other) {
        case (.constant(let left), .constant(let right)): left == right
        case (.slot(let left), .slot(let right)): left == right
        case (.field(_, let left), .field(_, let right)): left == right
        case (.element(_, let left), .element(_, let right)): left == right
        case (.object(let left, _), .object(let right, _)): left.map(\.name) == right.map(\.name)
        case (.binary(let left, _, _, _), .binary(let right, _, _, _)): left == right
        case (.among(_, let left), .among(_, let right)): left == right
        case (.test(_, let left), .test(_, let right)): left == right
        case (.choice(let left, let cases, let last), .choice(let right, let others, let end)):
            (left == nil) == (right == nil) && cases.count == others.count && (last == nil) == (end == nil)
        case (.quantified(let left, let slot, _, _), .quantified(let right, let other, _, _)):
            left == right && slot == other
        case (.comprehension(let left, _, _, _, _), .comprehension(let right, _, _, _, _)): left == right
        case (.call(let left, _, _), .call(let right, _, _)): left == right
        case (.array, .array), (.not, .not), (.minus, .minus), (.plus, .plus), (.like, .like), (.between, .between),
            (.within, .within), (.withinArray, .withinArray):
            true
        default: false
        }
    }
}

/// The values of the current row in each slot, and data that is kept from row to row. A class, because variables of
/// quantifiers are written while it is read.
final class Frame {
    var slots: [StatementValue]
    /// The rows of the sources, nil where an outer join found none.
    var rows: [RowID?]
    let patterns = PatternCache()
    /// The statement's text, for errors; nil if errors need no position.
    private let text: String?
    /// The size of the values of the current row that were computed and are still held. See `StatementValue.maxSize`.
    var held = 0

    init(slots: Int, sources: Int = 0, text: String? = nil) {
        self.slots = Array(repeating: .missing, count: slots)
        rows = Array(repeating: nil, count: sources)
        self.text = text
    }

    /// Steps taken for the current row: characters that `LIKE` compares, elements that `ANY` and similar expressions
    /// test.
    var steps = 0
    /// Maximum number of steps for a row. It ends nested loops over elements after some seconds.
    static let maxSteps = 1 << 26

    /// Counts steps. Throws `.tooLarge` if the row has taken more than `maxSteps`.
    func work(_ count: Int) throws(HornbeamError) {
        steps += count
        if steps > Self.maxSteps {
            throw HornbeamError(
                .tooLarge,
                "what is computed of a row takes more than \(Self.maxSteps) steps: texts and patterns of LIKE, or "
                    + "arrays that are asked for each other's elements, are too long")
        }
    }

    /// Counts a step for each element of an array.
    func work(on item: StatementValue) throws(HornbeamError) {
        if case .array(let items) = item { try work(items.count) }
    }

    /// Adds the size of a computed value.
    func hold(_ item: StatementValue, _ mark: @autoclosure () -> SourcePosition?) throws(HornbeamError) {
        held += item.size(upTo: StatementValue.maxSize - held)
        if held > StatementValue.maxSize { throw failure(StatementValue.tooLarge, mark()) }
    }

    /// Returns the result of `body`, and adds the position to its errors.
    func marked<Result>(_ mark: SourcePosition, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as HornbeamError {
            throw failure(error, mark)
        }
    }

    func failure(_ error: HornbeamError, _ mark: SourcePosition?) -> HornbeamError {
        guard let text, let mark else { return error }
        return StatementFailure.error(error.message, error.code, in: text, at: mark.place)
    }
}
