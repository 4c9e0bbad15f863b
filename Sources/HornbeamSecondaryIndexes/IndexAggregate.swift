// SPDX-License-Identifier: Apache-2.0
// Aggregates of columns whose types are known at run time: one value of many rows. Nil doesn't count, as in SQL. Sums
// are exact until they are rounded once.
//
// Statements share the sums, but not the rest: their values have individual types, and an order of their own. Here a
// column has one type, which is also the type of the result, and values have the order of the index's keys.

import FoundationEssentials
import HornbeamKeys
import HornbeamPages

/// An aggregate of the rows of a query or of a group, over a column given by its name.
public enum IndexAggregate: Sendable, Hashable {
    /// The number of rows.
    case count
    /// The number of rows with a value in the column.
    case countOf(String)
    /// The number of different values in the column.
    case countDistinct(String)
    /// The sum of numbers, in their type; 0 without values. Throws `.invalid` if it doesn't fit.
    case sum(String)
    /// The average of numbers: a decimal for decimals, otherwise a double; `.null` without values.
    case average(String)
    /// The least value; `.null` without values. NaN is above all numbers.
    case min(String)
    /// The greatest value; `.null` without values.
    case max(String)
    /// The texts one after the other, in the order of the query.
    case joined(String, separator: String = ",")

    var column: String? {
        switch self {
        case .count: nil
        case .countOf(let name), .countDistinct(let name), .sum(let name), .average(let name), .min(let name),
            .max(let name), .joined(let name, _):
            name
        }
    }

    /// Whether rows with equal values count as one.
    var isOfDistinct: Bool {
        switch self {
        case .countDistinct, .min, .max: true
        case .count, .countOf, .sum, .average, .joined: false
        }
    }
}

/// One aggregate while rows are added.
struct IndexAccumulator {
    private enum Kind { case rows, values, distinct, sum, average, least, greatest, text(separator: String) }

    private let kind: Kind
    private let column: Int
    private let type: ColumnType
    /// The column's name in error messages.
    private let name: String
    private var count = 0
    private var sum = NumberSum()
    private var keys: Set<[UInt8]> = []
    private var best: (key: [UInt8], value: Value)?
    private var text = ""

    init(_ aggregate: IndexAggregate, _ table: SecondaryTable) throws(HornbeamError) {
        column = try aggregate.column.map { (name) throws(HornbeamError) in try table.column(name) } ?? 0
        type = table.columns[column].type.unwrapped
        name = "column “\(table.columns[column].name)” of index “\(table.index)”"
        switch aggregate {
        case .count: kind = .rows
        case .countOf: kind = .values
        case .countDistinct: kind = .distinct
        case .sum: kind = .sum
        case .average: kind = .average
        case .min: kind = .least
        case .max: kind = .greatest
        case .joined(_, let separator): kind = .text(separator: separator)
        }
        switch kind {
        case .sum, .average:
            guard type.canBeAdded else { throw HornbeamError(.invalid, "\(name) has no numbers: they can't be added") }
        case .text:
            guard type == .string || type == .url else {
                throw HornbeamError(.invalid, "\(name) has no texts: they can't be joined")
            }
        case .rows, .values, .distinct, .least, .greatest: break
        }
    }

    /// The columns that it needs.
    var needs: RowNeeds {
        switch kind {
        case .rows: RowNeeds()
        case .text: RowNeeds(columns: [column], isOrderFree: false, wantsExactText: true)
        case .least, .greatest: RowNeeds(columns: [column], wantsExactText: true)
        case .values, .distinct, .sum, .average: RowNeeds(columns: [column])
        }
    }

    /// - Parameter times: number of rows that are equal in all columns that it reads.
    mutating func add(_ row: RowReader, times: Int) throws {
        if case .rows = kind {
            count += times
            return
        }
        if try row.isNull(column: column) { return }
        switch kind {
        case .rows, .values: count += times
        case .distinct: keys.insert(try key(row))
        case .sum, .average:
            guard sum.add(try row.value(column), times: times) else {
                throw HornbeamError(.corrupt, "corrupt data: \(name) has no number")
            }
        case .least:
            let key = try key(row)
            if best.map({ key.lexicographicallyPrecedes($0.key) }) ?? true { best = (key, try row.value(column)) }
        case .greatest:
            let key = try key(row)
            if best.map({ $0.key.lexicographicallyPrecedes(key) }) ?? true { best = (key, try row.value(column)) }
        case .text(let separator):
            if count > 0 { text += separator }
            count += 1
            text += try row.string(column) ?? ""
        }
    }

    private func key(_ row: RowReader) throws(HornbeamError) -> [UInt8] {
        var key = KeyWriter(capacity: 24)
        try KeyCoding.appendComponent(of: row, column: column, descending: false, to: &key)
        return key.bytes
    }

    func result() throws(HornbeamError) -> Value {
        switch kind {
        case .rows, .values: return .int(Int64(count))
        case .distinct: return .int(Int64(keys.count))
        case .least, .greatest: return best?.value ?? .null
        case .text: return .string(text)
        case .average: return try sum.mean()
        case .sum:
            guard let integers = sum.integer else { return try sum.sum() }
            let total = Int64(exactly: integers).map { Value.int($0) } ?? UInt64(exactly: integers).map { .uint($0) }
            guard let sum = total?.converted(to: type) else {
                throw HornbeamError(
                    .invalid, "the sum \(integers) of \(name) doesn't fit \(type): make it a column of a wider type")
            }
            return sum
        }
    }
}

extension ColumnType {
    fileprivate var canBeAdded: Bool {
        switch self {
        case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64, .float, .double, .decimal: true
        default: false
        }
    }
}
