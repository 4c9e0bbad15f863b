// SPDX-License-Identifier: Apache-2.0
// The order of a query's results as places that can be compared. Columns, counts of links and scores become key bytes
// that sort as they do. A value that only the typed layer can order stays a value. Equal places are ordered by row id,
// always ascending.

import HornbeamKeys
import HornbeamPages

/// The position at which a query continues: after an entity, which may no longer be stored.
package struct QueryPosition: Sendable {
    package let id: Value
    /// The bytes of the entity's row. For a hit it is empty if the score alone determines its place.
    package let row: [UInt8]
    /// The hit, if the position is a hit of a search.
    let hit: HitPlace?

    package init(id: Value, row: [UInt8]) {
        self.init(id: id, row: row, hit: nil)
    }

    package init(id: Value, row: [UInt8], hit: HitPlace?) {
        self.id = id
        self.row = row
        self.hit = hit
    }
}

/// A search's hit: its row at that time and its score. A reference, because every plan has room for a position.
package final class HitPlace: Sendable {
    let row: RowID
    let score: Double

    package init(row: RowID, score: Double) { (self.row, self.score) = (row, score) }
}

/// Makes and compares the places of rows. A class, because closures keep it.
package final class RowOrder {
    enum Part {
        case bytes([UInt8])
        case value(any Sendable)
    }

    package struct Place {
        var parts: [Part]
        var rowID: RowID
        /// The error for a comparison that only the row id could decide, if the row is gone; otherwise nil.
        var gone: HornbeamError?
    }

    private enum KeyPart {
        case column(Int, descending: Bool)
        case derived(ComputedComponent, descending: Bool)
        case links(LinkCounter, descending: Bool)
        case score(descending: Bool)
    }

    private enum Segment {
        /// One key for consecutive terms.
        case key([KeyPart])
        case opaque(
            key: (RowReader) throws -> any Sendable, order: (any Sendable, any Sendable) -> Int, descending: Bool)
    }

    private let segments: [Segment]
    private let scores: [RowID: Double]
    /// Whether a place is only bytes, which sort as places do.
    let isBytes: Bool
    /// Whether a place needs data besides the values of an entity: the time of its save, or its links.
    let needsStored: Bool

    /// - Parameter scores: scores of a full-text search, for a sort by them. Rows without an entry have the score 0.
    package init(_ terms: [SortTerm], type: EntityType, core: StoreTransaction, scores: [RowID: Double] = [:]) throws {
        var segments: [Segment] = []
        func add(_ part: KeyPart) {
            if case .key(let before)? = segments.last {
                segments[segments.count - 1] = .key(before + [part])
            } else {
                segments.append(.key([part]))
            }
        }
        for term in terms {
            switch term.key {
            case .column(let column):
                guard type.layout.fields.indices.contains(column), type.layout.fields[column].type.isOrdered else {
                    let fields = type.layout.fields
                    let name = fields.indices.contains(column) ? fields[column].name : "\(column)"
                    throw HornbeamError(
                        .invalid,
                        "\(type.name).\(name) has no order to sort by: sort by another property, or a computed one")
                }
                add(.column(column, descending: term.descending))
            case .linkCount(let relation):
                add(.links(try LinkCounter(relation, of: type, core), descending: term.descending))
            case .derived(let component): add(.derived(component, descending: term.descending))
            case .score: add(.score(descending: term.descending))
            case .opaque(_, let key, let order):
                segments.append(.opaque(key: key, order: order, descending: term.descending))
            case .refused(let error): throw error
            }
        }
        self.segments = segments
        isBytes = !segments.contains { if case .opaque = $0 { true } else { false } }
        self.scores = scores
        needsStored = terms.contains { term in
            switch term.key {
            case .column(let column): type.description.columns[column].isHidden
            case .linkCount: true
            case .derived, .score, .opaque, .refused: false
            }
        }
    }

    func place(_ rowID: RowID, _ row: RowReader) throws -> Place {
        var parts: [Part] = []
        for segment in segments {
            switch segment {
            case .key(let terms): parts.append(.bytes(try key(terms, rowID, row)))
            case .opaque(let key, _, _): parts.append(.value(try key(row)))
            }
        }
        return Place(parts: parts, rowID: rowID)
    }

    /// Appends the bytes of a row's place. Only for orders with `isBytes`.
    func append(_ rowID: RowID, _ row: RowReader, to key: inout KeyWriter) throws {
        guard case .key(let terms)? = segments.first else { return }
        for term in terms { try append(term, rowID, row, to: &key) }
    }

    /// Bytes that sort as the places do. Returns nil if a part can only be ordered by the typed layer.
    package func key(_ rowID: RowID, _ row: RowReader) throws -> [UInt8]? {
        guard segments.count == 1, case .key(let terms) = segments[0] else { return nil }
        return try key(terms, rowID, row)
    }

    private func key(_ terms: [KeyPart], _ rowID: RowID, _ row: RowReader) throws -> [UInt8] {
        var key = KeyWriter(capacity: 32)
        for term in terms { try append(term, rowID, row, to: &key) }
        return key.bytes
    }

    private func append(_ part: KeyPart, _ rowID: RowID, _ row: RowReader, to key: inout KeyWriter) throws {
        let start = key.bytes.count
        switch part {
        case .column(let column, let descending):
            try KeyCoding.appendComponent(of: row, column: column, descending: descending, to: &key)
        case .derived(let component, let descending):
            try KeyCoding.appendComponent(
                try component.value(row), as: component.type, descending: descending, to: &key)
        case .links(let counter, let descending):
            key.append(Int64(try counter.count(rowID)))
            if descending { key.invert(from: start) }
        case .score(let descending):
            key.append(scores[rowID] ?? 0)
            if descending { key.invert(from: start) }
        }
    }

    func precedes(_ left: Place, _ right: Place) -> Bool {
        let order = self.order(left, right)
        return order == 0 ? left.rowID < right.rowID : order < 0
    }

    /// Whether a place comes after another one. If the entity of the other place is gone, equal places throw an error.
    func isBehind(_ position: Place, _ place: Place) throws(HornbeamError) -> Bool {
        try isBehind(position, order: order(position, place), place.rowID)
    }

    /// Whether a row with this key comes after a position. Only for orders with `isBytes`.
    func isBehind(_ position: Place, _ key: Bytes, _ rowID: RowID) throws(HornbeamError) -> Bool {
        var order = 0
        if case .bytes(let bytes)? = position.parts.first { order = bytes.withUnsafeBytes { $0.order(key) } }
        return try isBehind(position, order: order, rowID)
    }

    private func isBehind(_ position: Place, order: Int, _ rowID: RowID) throws(HornbeamError) -> Bool {
        if order == 0, let gone = position.gone { throw gone }
        return order == 0 ? position.rowID < rowID : order < 0
    }

    /// Negative if the first place is before the second, 0 if only the row ids decide.
    private func order(_ left: Place, _ right: Place) -> Int {
        for (index, segment) in segments.enumerated() {
            var order = 0
            switch (segment, left.parts[index], right.parts[index]) {
            case (_, .bytes(let first), .bytes(let second)):
                order = first.withUnsafeBytes { first in second.withUnsafeBytes { first.order($0) } }
            case (.opaque(_, let compare, let descending), .value(let first), .value(let second)):
                order = descending ? compare(second, first) : compare(first, second)
            default: break
            }
            if order != 0 { return order }
        }
        return 0
    }
}
