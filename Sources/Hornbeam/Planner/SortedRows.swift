// SPDX-License-Identifier: Apache-2.0
// Sorts rows that no index gives in order, keeping only as many as the limit can need. Column terms become key bytes
// that sort as the columns; what only the typed layer can order stays a value.

import HornbeamKeys
import HornbeamPages

struct SortedRows {
    private enum Part {
        case bytes([UInt8])
        case value(any Sendable)
    }

    private struct Entry {
        var parts: [Part]
        var rowID: RowID
    }

    private enum Segment {
        case columns([(column: Int, descending: Bool)])
        case opaque(
            key: (RowReader) throws -> any Sendable, order: (any Sendable, any Sendable) -> Int, descending: Bool)
    }

    private let segments: [Segment]
    private let limit: Int?
    private var entries: [Entry] = []
    /// The worst entry that may still be among the best `limit`.
    private var threshold: Entry?

    init(_ terms: [SortTerm], type: EntityType, limit: Int?) {
        var segments: [Segment] = []
        for term in terms {
            switch term.key {
            case .column(let column):
                if case .columns(let before)? = segments.last {
                    segments[segments.count - 1] = .columns(before + [(column, term.descending)])
                } else {
                    segments.append(.columns([(column, term.descending)]))
                }
            case .opaque(_, let key, let order):
                segments.append(.opaque(key: key, order: order, descending: term.descending))
            case .score: break
            }
        }
        self.segments = segments
        self.limit = limit
    }

    mutating func insert(_ rowID: RowID, _ row: RowReader) throws {
        var parts: [Part] = []
        for segment in segments {
            switch segment {
            case .columns(let columns):
                parts.append(.bytes(try Self.key(of: row, columns)))
            case .opaque(let key, _, _): parts.append(.value(try key(row)))
            }
        }
        let entry = Entry(parts: parts, rowID: rowID)
        if let threshold, !Self.precedes(entry, threshold, segments) { return }
        entries.append(entry)
        if let limit, entries.count >= limit.multipliedReportingOverflow(by: 2).partialValue + 256,
            limit < 1 << 40
        {
            prune(to: limit)
        }
    }

    /// Bytes that sort as the columns do.
    private static func key(of row: RowReader, _ columns: [(column: Int, descending: Bool)]) throws -> [UInt8] {
        var key = KeyWriter(capacity: 32)
        for (column, descending) in columns {
            guard row.layout.fields.indices.contains(column), row.layout.fields[column].type.isOrdered else {
                throw HornbeamError(.invalid, "column \(column) has no order to sort by")
            }
            try KeyCoding.appendComponent(of: row, column: column, descending: descending, to: &key)
        }
        return key.bytes
    }

    /// The same of terms that are all columns.
    static func key(of row: RowReader, _ terms: [SortTerm]) throws -> [UInt8] {
        if terms.isEmpty { return [] }
        return try key(
            of: row,
            terms.compactMap { term in
                guard case .column(let column) = term.key else { return nil }
                return (column, term.descending)
            })
    }

    private mutating func prune(to limit: Int) {
        let segments = segments
        entries.sort { Self.precedes($0, $1, segments) }
        entries.removeLast(max(0, entries.count - limit))
        threshold = entries.last
    }

    /// The row ids in order, at most `limit`.
    mutating func finish() -> [RowID] {
        prune(to: limit ?? .max)
        return entries.map(\.rowID)
    }

    private static func precedes(_ left: Entry, _ right: Entry, _ segments: [Segment]) -> Bool {
        for (index, segment) in segments.enumerated() {
            var order = 0
            switch (segment, left.parts[index], right.parts[index]) {
            case (_, .bytes(let first), .bytes(let second)):
                order = first.withUnsafeBytes { first in second.withUnsafeBytes { first.order($0) } }
            case (.opaque(_, let compare, let descending), .value(let first), .value(let second)):
                order = descending ? compare(second, first) : compare(first, second)
            default: break
            }
            if order != 0 { return order < 0 }
        }
        return left.rowID < right.rowID
    }
}
