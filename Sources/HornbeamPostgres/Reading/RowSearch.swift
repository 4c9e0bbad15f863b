// SPDX-License-Identifier: Apache-2.0
// Finds the rows of a query in the store's order. Usually one statement returns them. If its condition leaves
// candidates, or its order compares rounded values, rows are fetched from the beginning of the server's order, the
// candidates among them are tested and the rows sorted here, until enough rows have passed for the query's limit.

import Hornbeam
import HornbeamKeys
import HornbeamPages

/// Finds the rows of one query.
struct RowSearch {
    private let reading: MirrorReading
    private let query: RowQuery
    private let condition: SQLCondition
    private let decoder: RowDecoder
    /// Number of rows that are first fetched beyond the limit, in place of rows that don't pass.
    private static let reserve = 16

    /// - Parameter columns: the columns that are needed; nil for all.
    init(_ query: RowQuery, columns: Set<Int>? = nil, _ reading: MirrorReading) {
        self.query = query
        self.reading = reading
        // Testing candidates and sorting also need other columns.
        condition = query.condition
        let isPlain = condition.isExact && !query.isRounded
        decoder = RowDecoder(query.table, columns: isPlain ? columns : nil)
    }

    /// Calls `body` with each row.
    func forEach(_ body: ([UInt8]) throws -> Void) throws {
        if let limit = query.limit, limit <= 0 { return }
        if query.offset < 0 { return }
        if condition.isExact, !query.isRounded {
            let result = try reading.run(
                query.select(
                    [decoder.selection(query.named)], where: condition.may, "\(query.orderBy)\(query.window)"))
            for number in 0..<result.count { try body(decoder.row(result, number)) }
        } else {
            for row in try found() { try body(row) }
        }
    }

    func rows() throws -> [[UInt8]] {
        var rows: [[UInt8]] = []
        try forEach { rows.append($0) }
        return rows
    }

    // MARK: Candidates

    /// A row that passes.
    private struct Found {
        let row: [UInt8]
        /// Bytes whose order is the store's order.
        let key: [UInt8]
        /// Its position in the server's order, which decides ties.
        let place: Int
        /// The key up to the first rounded term, with that term rounded. Rows with different prefixes are in order.
        let prefix: [UInt8]
    }

    private func found() throws -> [[UInt8]] {
        var size = query.needed.map { $0 > .max - Self.reserve ? $0 : $0 + Self.reserve }
        while true {
            let end: SQLText = size.map { " LIMIT \($0)" } ?? ""
            let counts = try query.counts
            let columns = [decoder.selection(query.named)] + counts + ["(\(condition.certain)) AS certain"]
            let result = try reading.run(
                query.select(columns, where: condition.may, "\(query.orderBy)\(end)"))
            let (found, last) = try passing(result, countsAt: decoder.width, certainAt: decoder.width + counts.count)
            let isWhole = size.map { result.count < $0 } ?? true
            if isWhole || isEnough(found, last) { return cut(found) }
            size = size.map { $0 > .max / 4 ? .max : $0 * 4 }
        }
    }

    /// Whether no row behind the fetched ones comes before a needed one.
    private func isEnough(_ found: [Found], _ last: [UInt8]) -> Bool {
        guard let needed = query.needed, needed <= found.count else { return false }
        return !query.isRounded || needed == 0 || found[needed - 1].prefix != last
    }

    private func cut(_ found: [Found]) -> [[UInt8]] {
        let sorted =
            !query.isRounded
            ? found
            : found.sorted { left, right in
                let order = left.key.withUnsafeBytes { left in right.key.withUnsafeBytes { left.order($0) } }
                return order == 0 ? left.place < right.place : order < 0
            }
        let end = query.needed.map { min($0, sorted.count) } ?? sorted.count
        return sorted[min(query.offset, end)..<end].map(\.row)
    }

    /// Returns the rows of a result that pass, and the prefix of its last row.
    private func passing(
        _ result: PostgresResult, countsAt: Int, certainAt: Int
    ) throws -> (found: [Found], last: [UInt8]) {
        var found: [Found] = []
        var last: [UInt8] = []
        var (open, candidates): ([Int], [[UInt8]]) = ([], [])
        for number in 0..<result.count {
            let row = try decoder.row(result, number)
            let (key, prefix) = query.isRounded ? try self.key(row, result, number, countsAt) : ([], [])
            if result.bytes(number, certainAt)?.first != UInt8(ascii: "t") {
                open.append(number)
                candidates.append(row)
            }
            found.append(Found(row: row, key: key, place: number, prefix: prefix))
            last = prefix
        }
        if open.isEmpty { return (found, last) }
        let passes = try reading.test(candidates, of: query.table, by: query.undecided)
        let failed = Set(zip(open, passes).compactMap { $1 ? nil : $0 })
        return (found.filter { !failed.contains($0.place) }, last)
    }

    private func key(
        _ row: [UInt8], _ result: PostgresResult, _ number: Int, _ counts: Int
    ) throws -> (key: [UInt8], prefix: [UInt8]) {
        var key = KeyWriter(capacity: 32)
        var prefix: [UInt8]?
        var place = counts
        try row.withUnsafeBytes { bytes in
            let reader = try RowReader(bytes, of: query.table.type)
            for term in query.order {
                switch term.key {
                case .column(let column):
                    if term.isRounded, prefix == nil {
                        let rounded = query.table.columns[column].form.text(try reader.value(column))
                        prefix = key.bytes + (rounded ?? "").utf8
                    }
                    try KeyCoding.appendComponent(
                        of: reader, column: column, descending: term.isDescending, to: &key)
                case .linkCount:
                    let start = key.bytes.count
                    key.append(result.text(number, place).flatMap { Int64($0) } ?? 0)
                    if term.isDescending { key.invert(from: start) }
                    place += 1
                }
            }
        }
        return (key.bytes, prefix ?? key.bytes)
    }
}

// MARK: - Counting

extension RowSearch {
    /// Returns the number of rows.
    func count() throws -> Int {
        if let limit = query.limit, limit <= 0 { return 0 }
        if condition.isExact {
            let isPart = query.limit != nil || query.offset > 0
            let inner = query.select(["1"], where: condition.may, query.window)
            let result = try reading.run(
                isPart
                    ? "SELECT count(*) FROM (\(inner)) AS part"
                    : query.select(["count(*)"], where: condition.may))
            guard query.offset >= 0 else { return 0 }
            return try Self.number(result)
        }
        let certain = try Self.number(
            try reading.run(query.select(["count(*)"], where: condition.certain)))
        if let needed = query.needed, certain >= needed { return query.cut(certain) }
        let open: SQLText = "\(condition.may) AND (\(condition.certain)) IS NOT TRUE"
        let result = try reading.run(query.select([decoder.selection(query.named)], where: open))
        var candidates: [[UInt8]] = []
        for number in 0..<result.count { candidates.append(try decoder.row(result, number)) }
        let passes = try reading.test(candidates, of: query.table, by: query.undecided)
        return query.cut(certain + passes.count { $0 })
    }

    private static func number(_ result: PostgresResult) throws(HornbeamError) -> Int {
        guard let number = result.text(0, 0).flatMap({ Int($0) }) else {
            throw HornbeamError(.server, "the server returned no number for a count")
        }
        return number
    }

    /// Calls `body` with rows of other integers that have the same count and sum as the integers in a column: the mean
    /// rounded down, and the next greater number, as often as needed for the right sum.
    func forEachMean(of column: Int, _ body: ([UInt8], Int) throws -> Void) throws {
        let sql = try query.named.column(column).sql
        let result = try reading.run(
            query.select(["count(\(sql))", "sum(\(sql)::numeric)"], where: condition.may))
        let count = try Self.number(result)
        guard count > 0, let sum = result.text(0, 1).flatMap({ Int128($0) }) else { return }
        let (quotient, remainder) = sum.quotientAndRemainder(dividingBy: Int128(count))
        let mean = remainder < 0 ? quotient - 1 : quotient
        let above = Int(remainder < 0 ? remainder + Int128(count) : remainder)
        for (number, times) in [(mean, count - above), (mean + 1, above)] where times > 0 {
            var writer = RowWriter(layout: query.table.type.layout)
            writer.set(UInt64(exactly: number).map { .uint($0) } ?? .int(Int64(clamping: number)), column)
            try body(try writer.finish(), times)
        }
    }

    /// Calls `body` with one row for each combination of values in the columns, and the number of rows that have it.
    func forEachValue(of columns: Set<Int>, _ body: ([UInt8], Int) throws -> Void) throws {
        let decoder = RowDecoder(query.table, columns: columns, isRounded: true)
        let list = decoder.selection(query.named)
        let result = try reading.run(
            query.select([list, "count(*)"], where: condition.may, " GROUP BY \(list)"))
        for number in 0..<result.count {
            let count = result.text(number, decoder.width).flatMap { Int($0) } ?? 0
            try body(decoder.row(result, number), count)
        }
    }
}
