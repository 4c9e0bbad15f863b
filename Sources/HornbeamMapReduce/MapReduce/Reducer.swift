// SPDX-License-Identifier: Apache-2.0
// Reducers condense any range of a map index's rows. A reducer is a monoid over partials, with a beginning (a row's
// partial) and an end (a partial's result). A check tests the laws.

public import FoundationEssentials
import HornbeamKeys

/// Condenses the rows of a map index. Its partials are stored in the branches of the index's tree, so that the
/// reduction of any range of keys reads O(log n) nodes.
///
/// `combine` must be associative and `identity` neutral. Partials come in the order of the rows, so `combine` need not
/// be commutative. All functions must always return the same result for the same input. When one of them changes,
/// change `name` or the version of the indexes. `findViolation` tests these laws.
public protocol Reducer<Value, Result>: Sendable {
    /// The type of the emitted values.
    associatedtype Value: ColumnValue
    associatedtype Partial
    associatedtype Result

    /// The name of the function, with its parameters. It is stored in the file; an index with another one is rebuilt.
    var name: String { get }
    /// The partial of no rows.
    var identity: Partial { get }
    /// Returns the partial of one row.
    func map(key: MapKey, value: Value?) -> Partial
    /// Adds the partial of later rows to that of earlier ones.
    func combine(_ partial: inout Partial, with next: Partial)
    /// Makes the result of a query from the partial of its rows.
    func finish(_ partial: Partial) throws -> Result

    /// Returns the bytes of a partial, which must be the same for the same rows. Returns nil if it can't be stored.
    func encode(_ partial: Partial) -> [UInt8]?
    /// Reads a partial from bytes, which may come from a damaged file. Returns nil if they aren't a partial.
    func decode(_ bytes: UnsafeRawBufferPointer) -> Partial?
    /// Maximum size in bytes of a stored partial, 0 to 250. Larger partials are allowed but not stored: queries then
    /// read below the branch, down to the rows if necessary.
    var room: Int { get }
    /// Whether `map` uses the key. If it is false, the key is null.
    var needsKeys: Bool { get }
    /// Returns the partial of any `count` rows if the number alone determines it, otherwise nil. Then branches store
    /// nothing, because they know the number.
    func partial(ofRows count: Int) -> Partial?
    /// Returns the partial of several rows. Implement it only for a function that handles them together in another way.
    func map(rows: [(key: MapKey, value: Value?)]) -> Partial
}

extension Reducer {
    public var room: Int { 60 }
    public var needsKeys: Bool { true }
    public func partial(ofRows count: Int) -> Partial? { nil }

    public func map(rows: [(key: MapKey, value: Value?)]) -> Partial {
        var partial = identity
        for row in rows { combine(&partial, with: map(key: row.key, value: row.value)) }
        return partial
    }
}

extension Reducer where Partial: ColumnValue {
    public func encode(_ partial: Partial) -> [UInt8]? {
        var bytes: [UInt8] = []
        let value = partial.columnValue
        // No bytes stand for null.
        if value == .null { return partial.isNil ? [] : nil }
        bytes.append(1)
        return ValueBytes.append(value, as: Partial.columnType, to: &bytes) ? bytes : nil
    }

    public func decode(_ bytes: UnsafeRawBufferPointer) -> Partial? {
        guard !bytes.isEmpty else { return Partial(columnValue: .null) }
        guard bytes[0] == 1 else { return nil }
        return ValueBytes.decode(UnsafeRawBufferPointer(rebasing: bytes[1...]), as: Partial.columnType)
            .flatMap { Partial(columnValue: $0) }
    }
}

/// A law that a reducer breaks, with the rows that show it.
public struct ReducerViolation<Value: Sendable, Result: Sendable>: Error, CustomStringConvertible {
    /// The law, in words.
    public let law: String
    public let rows: [(key: MapKey, value: Value?)]
    /// The number of rows in each of the parts that were reduced one by one.
    public let parts: [Int]
    public let expected: Result
    public let found: Result
    /// The difference between the results, nil if the law isn't about the result.
    private let difference: ShownDifference?

    init(
        law: String, rows: [(key: MapKey, value: Value?)], parts: [Int], expected: Result, found: Result,
        isAboutResult: Bool = true
    ) {
        self.law = law
        self.rows = rows
        self.parts = parts
        self.expected = expected
        self.found = found
        difference = isAboutResult ? ShownDifference(found, expected) : nil
    }

    /// The law, the first rows, and the first difference between the found and the expected result: about 3,000 bytes
    /// at most.
    public var description: String {
        func list(_ texts: [String], _ count: Int) -> String {
            texts.joined(separator: ", ") + (count > texts.count ? " …" : "")
        }
        let pairs = rows.prefix(8).map { row in
            "(\("\(row.key)".shown(80)), \(row.value.map { "\($0)".shown(80) } ?? "nil"))"
        }
        var text = "\(law): for \(rows.count) rows \(list(pairs, rows.count))"
        if !parts.isEmpty { text += ", in parts of \(list(parts.prefix(8).map(String.init), parts.count))" }
        return difference.map { "\(text) \($0)" } ?? text
    }
}

extension Reducer where Result: Equatable & Sendable {
    /// Looks for rows, among parts of `rows`, for which the reducer breaks its laws. Returns nil if it finds none.
    /// Throws the errors of `finish`.
    ///
    /// All rows at once must give the same as parts of 1, 2, 7, 1,000 rows and of random sizes, combined from the
    /// front, from the back and two by two. The identity must change nothing. A partial must survive being stored, and
    /// must condense: one that doesn't fit a branch must not grow with the rows.
    public func findViolation(
        in rows: [(key: MapKey, value: Value?)], seed: UInt64 = 1
    ) throws -> ReducerViolation<Value, Result>? {
        // The smallest example there is comes first.
        var counts: [Int] = []
        var count = 1
        while count < rows.count {
            counts.append(count)
            count *= 2
        }
        counts.append(rows.count)
        var random = SplitMix(state: seed)
        for count in counts {
            if let violation = try findViolation(of: Array(rows.prefix(count)), &random) { return violation }
        }
        return try findGrowth(of: rows)
    }

    /// Checks that a partial doesn't grow with the rows: otherwise each branch would have a copy of them. CouchDB's
    /// `reduce_limit` uses the same measure.
    private func findGrowth(of rows: [(key: MapKey, value: Value?)]) throws -> ReducerViolation<Value, Result>? {
        let whole = map(rows: rows)
        guard let size = encode(whole)?.count, size > MapFolder<Self>.mostRoom,
            let half = encode(map(rows: Array(rows.prefix(rows.count / 2))))?.count, size > half + half / 4
        else { return nil }
        let bytes = rows.reduce(0) { sum, row in
            var value: [UInt8] = []
            if let found = row.value { _ = ValueBytes.append(found.columnValue, as: Value.columnType, to: &value) }
            return sum + value.count + ((try? row.key.bytes(.binary))?.count ?? 0)
        }
        guard size > bytes / 2 else { return nil }
        let result = try finish(whole)
        return ReducerViolation(
            law:
                "a partial must condense its rows: it makes \(size) bytes of \(bytes) of rows, and grows with them",
            rows: rows, parts: [], expected: result, found: result, isAboutResult: false)
    }

    private func findViolation(
        of rows: [(key: MapKey, value: Value?)], _ random: inout SplitMix
    ) throws -> ReducerViolation<Value, Result>? {
        let whole = map(rows: rows)
        let expected = try finish(whole)
        func violation(_ law: String, _ parts: [Int], _ found: Partial) throws -> ReducerViolation<Value, Result>? {
            let found = try finish(found)
            // Results that aren't equal to themselves, such as NaN, count as equal if their texts are equal.
            if found == expected || (expected != expected && "\(found)" == "\(expected)") { return nil }
            return ReducerViolation(law: law, rows: rows, parts: parts, expected: expected, found: found)
        }
        var left = identity
        combine(&left, with: whole)
        if let found = try violation("the identity before the rows must change nothing", [], left) { return found }
        var right = whole
        combine(&right, with: identity)
        if let found = try violation("the identity after the rows must change nothing", [], right) { return found }
        if let stored = encode(whole) {
            guard let read = stored.withUnsafeBytes({ decode($0) }) else {
                return ReducerViolation(
                    law: "a partial must be readable", rows: rows, parts: [], expected: expected,
                    found: try finish(identity))
            }
            if let found = try violation("a partial must be the same after it was stored", [], read) { return found }
        }
        for size in [1, 2, 7, 1_000, 0] where size < rows.count {
            var parts: [Int] = []
            var rest = rows.count
            while rest > 0 {
                let part = Swift.min(rest, size > 0 ? size : 1 + Int(random.next() % UInt64(rows.count)))
                parts.append(part)
                rest -= part
            }
            for (way, partial) in combined(rows, parts) {
                let law = "parts of the rows, combined \(way), must give the result of all rows"
                if let found = try violation(law, parts, partial) { return found }
            }
        }
        return nil
    }

    /// Returns the partial of all rows, made in three ways from the partials of parts.
    private func combined(
        _ rows: [(key: MapKey, value: Value?)], _ parts: [Int]
    ) -> [(way: String, partial: Partial)] {
        var partials: [Partial] = []
        var start = 0
        for part in parts {
            partials.append(map(rows: Array(rows[start..<start + part])))
            start += part
        }
        var front = partials[0]
        for next in partials.dropFirst() { combine(&front, with: next) }
        var back = partials[partials.count - 1]
        for place in partials.indices.dropLast().reversed() {
            var partial = partials[place]
            combine(&partial, with: back)
            back = partial
        }
        var level = partials
        while level.count > 1 {
            var above: [Partial] = []
            for place in stride(from: 0, to: level.count, by: 2) {
                var partial = level[place]
                if place + 1 < level.count { combine(&partial, with: level[place + 1]) }
                above.append(partial)
            }
            level = above
        }
        return [("from the front", front), ("from the back", back), ("two by two", level[0])]
    }
}

/// The random numbers of the check.
private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension ReducerViolation: LocalizedError {
    public var errorDescription: String? { description }
}
