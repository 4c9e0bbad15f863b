// SPDX-License-Identifier: Apache-2.0
// Continues behind an entity: its position in the order becomes a condition, which is as exact as any other.

import Hornbeam
import HornbeamPages

extension RowQuery {
    /// Keeps only the rows behind a position in the query's order.
    mutating func goOn(after position: QueryPosition, _ reading: MirrorReading) throws {
        guard let id = position.id.converted(to: table.id.type), id != .null else {
            throw HornbeamError(.invalid, "\(position.id.text) is no id of \(table.description.name)")
        }
        if self.position != nil {
            try goOn(afterLinked: id, reading)
            return
        }
        let values = try values(position, id, reading)
        try add(behind(values, id))
        if let bound = bound(values) { try add(bound) }
    }

    /// Returns the values of the order's terms at a position.
    private func values(_ position: QueryPosition, _ id: Value, _ reading: MirrorReading) throws -> [Value] {
        var values: [Value] = try position.row.withUnsafeBytes { bytes in
            let row = try RowReader(bytes, of: table.type)
            return try order.map { term in
                guard case .column(let column) = term.key else { return .null }
                return try row.value(column)
            }
        }
        let stored = order.indices.filter { isOfStored(order[$0]) }
        guard !stored.isEmpty else { return values }
        // Metadata and numbers of links come from the stored entity.
        let decoder = RowDecoder(table)
        let counts = try counts
        let result = try reading.run(
            """
            SELECT \(SQLText.joined([decoder.selection(named)] + counts, by: ", ")) FROM \(named.source) \
            WHERE \(named.id) = \(table.id.form.parameter(id))
            """)
        guard result.count == 1 else {
            throw HornbeamError(
                .invalid,
                "\(table.description.name) \(id.text) is not stored any more, and a sort by its last save or its "
                    + "number of related entities needs it: continue after a stored entity")
        }
        var place = decoder.width
        let row = try decoder.row(result, 0)
        for number in stored {
            switch order[number].key {
            case .column(let column):
                values[number] = try row.withUnsafeBytes { try RowReader($0, of: table.type).value(column) }
            case .linkCount:
                values[number] = .int(result.text(0, place).flatMap { Int64($0) } ?? 0)
                place += 1
            }
        }
        return values
    }

    private func isOfStored(_ term: OrderTerm) -> Bool {
        switch term.key {
        case .column(let column): table.description.columns[column].isHidden
        case .linkCount: true
        }
    }

    /// Returns a filter for the rows behind a position: those that come later by the first term, or are equal in it and
    /// come later by the next one, and so on to the id.
    private func behind(_ values: [Value], _ id: Value) -> Filter {
        var filter = Filter.compare(column: 0, .greater, id)
        for (term, value) in zip(order, values).reversed() {
            if case .column(0) = term.key {
                // Ids are unique, so later terms don't matter.
                filter = .compare(column: 0, term.isDescending ? .less : .greater, value)
                continue
            }
            filter = .or([later(term, value), .and([equal(term, value), filter])])
        }
        return filter
    }

    private func later(_ term: OrderTerm, _ value: Value) -> Filter {
        let comparison: Comparison = term.isDescending ? .less : .greater
        switch term.key {
        case .linkCount(let relation):
            guard case .int(let count) = value else { return .none }
            return .linkCount(relation: relation, comparison, Int(count))
        case .column(let column):
            switch (value, term.isDescending) {
            case (.null, false): return .not(.isNull(column: column))
            case (.null, true): return .none
            case (_, false): return .compare(column: column, comparison, value)
            case (_, true):
                let less = Filter.compare(column: column, comparison, value)
                return table.columns[column].isNullable ? .or([less, .isNull(column: column)]) : less
            }
        }
    }

    private func equal(_ term: OrderTerm, _ value: Value) -> Filter {
        switch (term.key, value) {
        case (.linkCount(let relation), .int(let count)): .linkCount(relation: relation, .equal, Int(count))
        case (.linkCount, _): .none
        case (.column(let column), .null): .isNull(column: column)
        case (.column(let column), _): .compare(column: column, .equal, value)
        }
    }

    /// Returns the condition of the first term alone, at which a scan of an index can begin.
    private func bound(_ values: [Value]) -> Filter? {
        guard order.count > 0, case .column(let column) = order[0].key, column != 0, values[0] != .null else {
            return nil
        }
        if !order[0].isDescending { return .compare(column: column, .greaterOrEqual, values[0]) }
        return table.columns[column].isNullable ? nil : .compare(column: column, .lessOrEqual, values[0])
    }

    /// Continues behind an entity in the order of linking.
    private mutating func goOn(afterLinked id: Value, _ reading: MirrorReading) throws {
        guard let position else { return }
        let result = try reading.run(
            "SELECT \(position) FROM \(source) WHERE \(named.id) = \(table.id.form.parameter(id))")
        guard let place = result.text(0, 0).flatMap({ Int($0) }) else {
            throw HornbeamError(
                .invalid,
                "\(table.description.name) \(id.text) is not in the list any more, so its place in an unsorted list "
                    + "is unknown: sort by a property, or continue after an entity in the list")
        }
        restrict("\(position) > \(place)")
    }
}
