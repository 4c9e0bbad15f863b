// SPDX-License-Identifier: Apache-2.0
// Aggregates: one value of a group of rows. Null and missing values don't count, except in ARRAY_AGG, which keeps
// nulls. Sums of integers are exact, or an error; those of doubles and decimals are rounded once, whatever the order of
// the rows.

import FoundationEssentials

/// An aggregate of a statement.
struct BoundAggregate: Sendable, Equatable {
    enum Function: String, Sendable, CaseIterable {
        case count
        case sum
        case avg
        case min
        case max
        case arrayAgg = "array_agg"
        case groupConcat = "group_concat"
        case stringAgg = "string_agg"

        var arity: ClosedRange<Int> {
            switch self {
            case .groupConcat: 1...2
            case .stringAgg: 2...2
            default: 1...1
            }
        }
    }

    var function: Function
    /// The argument of the aggregate, nil for `COUNT(*)`.
    var argument: BoundExpression?
    var isDistinct: Bool
    /// The separator between the texts that are joined.
    var separator = ","
    var mark: SourcePosition

    func begin() -> RunningAggregate { RunningAggregate(self) }
}

/// The state of an aggregate while the rows of a group are added.
struct RunningAggregate {
    private let aggregate: BoundAggregate
    private var count = 0
    private var sum = NumberSum()
    private var best: StatementValue?
    private var items: [StatementValue] = []
    private var seen = SeenKeys()

    init(_ aggregate: BoundAggregate) { self.aggregate = aggregate }

    /// Takes in the row of the frame.
    mutating func add(_ frame: Frame, _ kept: KeptBytes) throws {
        try add(aggregate.argument?.evaluate(frame), times: 1, kept)
    }

    /// Adds `times` rows with this value. The value is nil for `COUNT(*)`.
    mutating func add(_ item: StatementValue?, times: Int, _ kept: KeptBytes) throws {
        guard let item else {
            count += times
            return
        }
        guard item != .missing, item != .null || aggregate.function == .arrayAgg else { return }
        var times = times
        if aggregate.isDistinct {
            guard try seen.insert(item.key, kept) else { return }
            times = 1
        }
        switch aggregate.function {
        case .count: count += times
        case .sum, .avg: sum.add(item, times: times)
        case .min: if best.map({ item.order($0) < 0 }) ?? true { try keep(item, kept) }
        case .max: if best.map({ item.order($0) > 0 }) ?? true { try keep(item, kept) }
        case .arrayAgg, .groupConcat, .stringAgg:
            try kept.add(item.bytes)
            items.append(item)
        }
    }

    private mutating func keep(_ item: StatementValue, _ kept: KeptBytes) throws(HornbeamError) {
        try kept.add(item.bytes - (best?.bytes ?? 0))
        best = item
    }

    func result() throws -> StatementValue {
        switch aggregate.function {
        case .count: .int(count)
        case .sum: try sum.total() ?? .null
        case .avg: try sum.average() ?? .null
        case .min, .max: best ?? .null
        case .arrayAgg: .array(items)
        case .groupConcat, .stringAgg: try items.isEmpty ? .null : joined()
        }
    }

    private func joined() throws(HornbeamError) -> StatementValue {
        let texts = items.map { ValueFunctions.text(of: $0) }
        let separators = aggregate.separator.utf8.count * (texts.count - 1)
        try StatementValue.requireSize(texts.reduce(separators) { $0 + $1.utf8.count })
        return .string(texts.joined(separator: aggregate.separator))
    }
}

/// A sum of numbers of any type; other values are left out.
package struct NumberSum {
    private var integers: Int128 = 0
    private var doubles = FloatingSummation()
    private var decimals = DecimalSummation()
    private var count = 0
    private var hasDouble = false
    private var hasDecimal = false

    package init() {}

    mutating func add(_ item: StatementValue, times: Int = 1) {
        if case .value(let value) = item { _ = add(value, times: times) }
    }

    /// Adds a value `times` times. Returns false, and adds nothing, if it is no number.
    package mutating func add(_ value: Value, times: Int) -> Bool {
        switch value {
        case .int(let number): integers += Int128(number) * Int128(times)
        case .uint(let number): integers += Int128(number) * Int128(times)
        case .double(let number):
            doubles.add(number, times: times)
            hasDouble = true
        case .decimal(let number):
            decimals.add(number, times: times)
            hasDecimal = true
        default: return false
        }
        count += times
        return true
    }

    /// The sum if no number was a double or a decimal.
    package var integer: Int128? { hasDouble || hasDecimal ? nil : integers }

    /// The sum, `.null` if there was no number. Throws as `total` does.
    package func sum() throws(HornbeamError) -> Value { try total()?.result ?? .null }

    /// The average, `.null` if there was no number.
    package func mean() throws(HornbeamError) -> Value { try average()?.result ?? .null }

    /// The sum, nil if there was no number. Throws `.invalid` if a sum of integers doesn't fit 64 bits, or if a sum of
    /// decimals is outside their range.
    func total() throws(HornbeamError) -> StatementValue? {
        if count == 0 { return nil }
        if isDecimal { return .value(.decimal(try allDecimals.total())) }
        return hasDouble ? .double(all.total()) : try Arithmetic.item(integers, "the sum")
    }

    func average() throws(HornbeamError) -> StatementValue? {
        if count == 0 { return nil }
        if isDecimal { return .value(.decimal(allDecimals.mean(of: count))) }
        return .double(hasDouble ? all.mean(of: count) : IntegerSummation<Int>.mean(integers, count))
    }

    /// Whether the sum is a decimal: there are decimals, and the sum of the doubles, if there are any, is one too.
    private var isDecimal: Bool {
        hasDecimal && (!hasDouble || StatementValue.decimal(.double(doubles.total())) != nil)
    }

    /// All numbers as decimals: the integers are exact, the sum of the doubles is rounded once.
    private var allDecimals: DecimalSummation {
        var all = decimals
        if integers != 0 { all.add(Decimal(string: "\(integers)") ?? .nan) }
        if hasDouble { all.add(StatementValue.decimal(.double(doubles.total())) ?? .nan) }
        return all
    }

    /// All numbers as doubles: the integers in two parts that are exact, the sum of the decimals as one double.
    private var all: FloatingSummation {
        var all = doubles
        if hasDecimal { all.add((try? decimals.total()).flatMap { StatementValue.value(.decimal($0)).number } ?? .nan) }
        let low = integers % (1 << 53)
        all.add(Double(low))
        all.add(Double(integers - low))
        return all
    }
}
