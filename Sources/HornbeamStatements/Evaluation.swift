// SPDX-License-Identifier: Apache-2.0
// Computes expressions, by the logic of SQL++: an unknown operand (null, or missing) makes the result unknown, except
// in `false AND` and `true OR`. Missing wins over null, except in OR.

import FoundationEssentials

extension BoundExpression {
    /// The value for the row in the frame. Throws if a number doesn't fit, a pattern can't be read, or the values
    /// computed for a row exceed the memory limit.
    func evaluate(_ frame: Frame) throws -> StatementValue {
        switch self {
        // These make no new value.
        case .constant(let item): return item
        case .slot(let slot): return frame.slots[slot]
        case .field(let inner, let name): return try inner.evaluate(frame).field(name)
        case .element(let inner, let index): return try inner.evaluate(frame).element(index)
        default:
            try StackRoom.require()
            let held = frame.held
            let item = try compute(frame)
            // The values that it was computed from are gone.
            frame.held = held
            try frame.hold(item, mark)
            return item
        }
    }

    /// The expression's position in the text, if its value may be large.
    private var mark: SourcePosition? {
        switch self {
        case .array(_, let mark), .object(_, let mark), .minus(_, let mark), .binary(_, _, _, let mark),
            .like(_, _, _, let mark), .comprehension(_, _, _, _, let mark), .call(_, _, let mark):
            mark
        case .choice(_, let cases, let otherwise): cases.first?.value.mark ?? otherwise?.mark
        default: nil
        }
    }

    private func compute(_ frame: Frame) throws -> StatementValue {
        switch self {
        case .constant, .slot, .field, .element: return try evaluate(frame)
        case .array(let parts, _): return .array(try parts.map { try $0.evaluate(frame) })
        case .object(let fields, _):
            return .object(try fields.map { StatementField(name: $0.name, item: try $0.value.evaluate(frame)) })
        case .not(let inner): return Self.negation(try inner.evaluate(frame))
        case .minus(let inner, let mark):
            let item = try inner.evaluate(frame)
            return try frame.marked(mark) { try Arithmetic.negation(item) }
        case .plus(let inner): return try Arithmetic.compute(.add, .int(0), try inner.evaluate(frame))
        case .binary(let sign, .binary(let first, _, _, _), _, _) where sign.isArithmetic && first.isArithmetic:
            return try Self.row(self, frame)
        case .binary(let sign, let left, let right, let mark): return try Self.binary(sign, left, right, mark, frame)
        case .like(let text, let pattern, let escape, let mark):
            return try Self.like(text, pattern, escape, mark, frame)
        case .between(let value, let low, let high):
            let value = try value.evaluate(frame)
            return Self.and(
                Self.compare(.greaterOrEqual, value, try low.evaluate(frame)),
                Self.compare(.lessOrEqual, value, try high.evaluate(frame)))
        case .within(let value, let list):
            return Self.within(try value.evaluate(frame), try list.map { try $0.evaluate(frame) })
        case .withinArray(let value, let list):
            let (value, list) = (try value.evaluate(frame), try list.evaluate(frame))
            try frame.work(on: list)
            return Self.within(value, array: list)
        case .among(let value, let list):
            try frame.work(1)
            return Self.within(try value.evaluate(frame), list)
        case .test(let inner, let test): return Self.test(try inner.evaluate(frame), test)
        case .choice(let subject, let cases, let otherwise):
            return try Self.choose(subject, cases, frame) ?? otherwise?.evaluate(frame) ?? .null
        case .quantified(let quantifier, let slot, let array, let condition):
            return try Self.quantified(quantifier, slot, try array.evaluate(frame), condition, frame)
        case .comprehension(let slot, let value, let array, let condition, _):
            guard case .array(let items) = try array.evaluate(frame) else { return .null }
            var found: [StatementValue] = []
            for item in items {
                frame.slots[slot] = item
                try frame.work(1)
                if try condition?.evaluate(frame).truth ?? (condition == nil) {
                    found.append(try value.evaluate(frame))
                }
            }
            return .array(found)
        case .call(let function, let arguments, let mark):
            let values = try arguments.map { try $0.evaluate(frame) }
            for value in values { try frame.work(on: value) }
            return try frame.marked(mark) { try function.call(values, frame.patterns) }
        }
    }

    // MARK: Logic

    private static func negation(_ item: StatementValue) -> StatementValue {
        item.truth.map { .bool(!$0) } ?? (item == .missing ? .missing : .null)
    }

    private static func and(_ left: StatementValue, _ right: StatementValue) -> StatementValue {
        if left.truth == false || right.truth == false { return .bool(false) }
        if left.truth == true, right.truth == true { return .bool(true) }
        return left == .missing || right == .missing ? .missing : .null
    }

    private static func or(_ left: StatementValue, _ right: StatementValue) -> StatementValue {
        if left.truth == true || right.truth == true { return .bool(true) }
        if left.truth == false, right.truth == false { return .bool(false) }
        let isNull = left != .missing && left.truth == nil || right != .missing && right.truth == nil
        return isNull ? .null : .missing
    }

    private static func binary(
        _ sign: BinaryOperator, _ left: BoundExpression, _ right: BoundExpression, _ mark: SourcePosition,
        _ frame: Frame
    ) throws -> StatementValue {
        let first = try left.evaluate(frame)
        switch sign {
        case .and:
            if first.truth == false { return first }
            return and(first, try right.evaluate(frame))
        case .or:
            if first.truth == true { return first }
            return or(first, try right.evaluate(frame))
        case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual:
            return compare(sign, first, try right.evaluate(frame))
        case .concatenate:
            let second = try right.evaluate(frame)
            if first == .missing || second == .missing { return .missing }
            guard let head = first.text, let tail = second.text else { return .null }
            return try frame.marked(mark) {
                try StatementValue.requireSize(head.utf8.count + tail.utf8.count)
                return .string(head + tail)
            }
        case .add, .subtract, .multiply, .divide, .remainder:
            let second = try right.evaluate(frame)
            return try frame.marked(mark) { try Arithmetic.compute(sign, first, second) }
        }
    }

    /// Computes arithmetic operators in a row, such as `a + b - c`, in a loop: they nest to the left, up to 500 levels.
    private static func row(_ expression: BoundExpression, _ frame: Frame) throws -> StatementValue {
        var row: [(sign: BinaryOperator, right: BoundExpression, mark: SourcePosition)] = []
        var first = expression
        while case .binary(let sign, let left, let right, let mark) = first, sign.isArithmetic {
            row.append((sign, right, mark))
            first = left
        }
        var item = try first.evaluate(frame)
        for (sign, right, mark) in row.reversed() {
            let second = try right.evaluate(frame)
            item = try frame.marked(mark) { try Arithmetic.compute(sign, item, second) }
        }
        return item
    }

    /// Values of different kinds are unequal, and neither is less.
    static func compare(_ sign: BinaryOperator, _ left: StatementValue, _ right: StatementValue) -> StatementValue {
        if left == .missing || right == .missing { return .missing }
        if left == .null || right == .null { return .null }
        guard let order = left.comparable(right) else {
            return sign == .equal ? .bool(false) : sign == .notEqual ? .bool(true) : .null
        }
        switch sign {
        case .equal: return .bool(order == 0)
        case .notEqual: return .bool(order != 0)
        case .less: return .bool(order < 0)
        case .lessOrEqual: return .bool(order <= 0)
        case .greater: return .bool(order > 0)
        default: return .bool(order >= 0)
        }
    }

    private static func within(_ value: StatementValue, array: StatementValue) -> StatementValue {
        if value == .missing || array == .missing { return .missing }
        guard case .array(let list) = array else { return .null }
        return within(value, list)
    }

    private static func within(_ value: StatementValue, _ list: StatementValueList) -> StatementValue {
        if list.items.isEmpty { return .bool(false) }
        if value.isUnknown { return value }
        if list.contains(value) { return .bool(true) }
        return list.hasUnknown ? .null : .bool(false)
    }

    /// An empty list contains nothing, not even an unknown value.
    private static func within(_ value: StatementValue, _ list: [StatementValue]) -> StatementValue {
        if list.isEmpty { return .bool(false) }
        if value.isUnknown { return value }
        if list.contains(where: { !$0.isUnknown && value.equals($0) }) { return .bool(true) }
        return list.contains(where: \.isUnknown) ? .null : .bool(false)
    }

    private static func test(_ item: StatementValue, _ test: StateTest) -> StatementValue {
        switch test {
        case .missing: .bool(item == .missing)
        case .valued: .bool(!item.isUnknown)
        // Missing is neither null nor something else.
        case .null: item == .missing ? .missing : .bool(item == .null)
        }
    }

    private static func choose(_ subject: BoundExpression?, _ cases: [BoundChoice], _ frame: Frame) throws
        -> StatementValue?
    {
        let subject = try subject?.evaluate(frame)
        for choice in cases {
            let condition = try choice.condition.evaluate(frame)
            let isTaken = subject.map { !$0.isUnknown && !condition.isUnknown && $0.equals(condition) }
            if isTaken ?? (condition.truth == true) { return try choice.value.evaluate(frame) }
        }
        return nil
    }

    private static func quantified(
        _ quantifier: Quantifier, _ slot: Int, _ array: StatementValue, _ condition: BoundExpression, _ frame: Frame
    ) throws -> StatementValue {
        guard case .array(let items) = array else { return array == .missing ? .missing : .null }
        if items.isEmpty { return .bool(quantifier == .every) }
        for item in items {
            frame.slots[slot] = item
            try frame.work(1)
            let holds = try condition.evaluate(frame).truth == true
            if holds == (quantifier == .any) { return .bool(holds) }
        }
        return .bool(quantifier != .any)
    }

    // MARK: LIKE

    private static func like(
        _ text: BoundExpression, _ pattern: BoundExpression, _ escape: BoundExpression?, _ mark: SourcePosition,
        _ frame: Frame
    ) throws -> StatementValue {
        let (text, pattern) = (try text.evaluate(frame), try pattern.evaluate(frame))
        let escape = try escape?.evaluate(frame)
        if text == .missing || pattern == .missing || escape == .missing { return .missing }
        guard let text = text.text, let pattern = pattern.text else { return .null }
        return try frame.marked(mark) {
            var sign: Character?
            if let escape {
                guard let one = escape.text, one.count == 1 else {
                    throw HornbeamError(.invalid, "ESCAPE takes one character, not \(escape.node.text.shown(100))")
                }
                sign = one.first
            }
            return .bool(try frame.patterns.like(pattern, escape: sign).matches(text) { try frame.work($0) })
        }
    }
}
