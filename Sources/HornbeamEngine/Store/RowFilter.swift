// SPDX-License-Identifier: Apache-2.0
// A filter that is prepared for rows: its literals are converted to their columns' types and encoded once, then tested
// against the raw columns. This is the reference meaning of a filter; access paths through indexes may only reduce the
// rows that it tests.

import HornbeamKeys
import HornbeamPages
import HornbeamText

/// A filter bound to an entity type and a transaction, which must be open whenever it is used.
package struct RowFilter {
    private indirect enum Node {
        case constant(Bool)
        case int(Int, Comparison, Int64)
        case uint(Int, Comparison, UInt64)
        case text(Int, Comparison, ascii: [UInt8]?, key: [UInt8])
        case key(Int, Comparison, [UInt8])
        case isNull(Int)
        case intWithin(Int, Set<Int64>, orNull: Bool)
        case within(Int, Set<[UInt8]>, orNull: Bool)
        case string(StringMatcher)
        case accepting(TextTest)
        case elements(Int, Set<Value>, wantsAll: Bool)
        case links(LinkFilter)
        case linkCount(LinkCounter, Comparison, Int)
        case matches([Int], QueryMatcher)
        case rows(Set<RowID>)
        case linked(EdgeSide, RowID, EdgeTrees)
        case opaque((RowReader) throws -> Bool)
        case and([Node])
        case or([Node])
        /// Alternatives that each require one column to have one value, by the keys of these values.
        case byValue(Int, [[UInt8]: [Node]])
        case not(Node)
    }

    /// The bound filter, nil if there is nothing to test.
    private let node: Node?

    package init(_ filter: Filter, type: EntityType, core: StoreTransaction) throws {
        if case .all = filter { node = nil } else { node = try Self.bind(filter, type, core) }
    }

    /// Binds a filter that needs nothing but the row. Throws `.invalid` for any other filter.
    init(ofRow filter: Filter, type: EntityType) throws {
        if case .all = filter { node = nil } else { node = try Self.bind(filter, type, nil) }
    }

    var acceptsAll: Bool { node == nil }

    package func accepts(_ rowID: RowID, _ row: RowReader) throws -> Bool {
        guard let node else { return true }
        return try Self.test(node, rowID, row)
    }

    // MARK: Binding

    /// Number of comparisons that take less time than making the key of a value and looking it up.
    private static let fewValues = 8

    /// The literal in the form of the column.
    static func literal(_ value: Value, _ column: Int, _ type: EntityType) throws(HornbeamError) -> Value {
        guard type.description.columns.indices.contains(column) else {
            let last = type.description.columns.count - 1
            throw HornbeamError(.invalid, "\(type.name) has no column \(column): its columns are 0 to \(last)")
        }
        let description = type.description.columns[column]
        if value == .null { return .null }
        guard let converted = value.converted(to: description.type) else {
            throw incomparable(value, column, type, "give a value of its type")
        }
        return converted
    }

    private static func incomparable(
        _ value: Value, _ column: Int, _ type: EntityType, _ advice: String
    ) -> HornbeamError {
        let description = type.description.columns[column]
        return HornbeamError(
            .invalid,
            "\(type.name).\(description.name), \(description.type.withArticle), can't be compared with "
                + "\(value.text.shown()): \(advice)")
    }

    private static func key(_ value: Value, _ column: Int, _ type: EntityType) throws(HornbeamError) -> [UInt8] {
        var key = KeyWriter(capacity: 24)
        try KeyCoding.append(value, as: type.description.columns[column].type, to: &key)
        return key.bytes
    }

    // The recursive cases have functions of their own, so that a level takes little stack.

    /// - Parameter core: the transaction, nil if there is none and nothing can be looked up.
    private static func bind(_ filter: Filter, _ type: EntityType, _ core: StoreTransaction?) throws -> Node {
        switch filter {
        case .and(let parts): return .and(try bind(Filter.listingExclusions(parts), type, core))
        case .or(let parts):
            let listed = Filter.any(of: parts)
            guard case .or(let parts) = listed else { return try bind(listed, type, core) }
            return try alternatives(parts, bind(parts, type, core), type)
        case .not(let part): return .not(try bind(part, type, core))
        case .links(let test): return .links(try LinkFilter(test, of: type, present(core, filter, type)))
        default: return try bindOne(filter, type, core)
        }
    }

    private static func bind(_ parts: [Filter], _ type: EntityType, _ core: StoreTransaction?) throws -> [Node] {
        var nodes: [Node] = []
        nodes.reserveCapacity(parts.count)
        for part in parts { nodes.append(try bind(part, type, core)) }
        return nodes
    }

    /// Any of several alternatives. If they are many, and all compare one column with a value, only the alternatives
    /// for a row's own value are tested.
    private static func alternatives(
        _ parts: [Filter], _ nodes: [Node], _ type: EntityType
    ) throws(HornbeamError) -> Node {
        guard parts.count > fewValues,
            let column = type.description.columns.indices.first(where: { column in
                parts.allSatisfy { $0.value(of: column) != nil }
            })
        else { return .or(nodes) }
        var found: [[UInt8]: [Node]] = [:]
        for (part, node) in zip(parts, nodes) {
            guard let value = part.value(of: column) else { continue }
            let bytes = try key(literal(value, column, type), column, type)
            found[bytes, default: []].append(node)
        }
        return .byValue(column, found)
    }

    private static func present(
        _ core: StoreTransaction?, _ filter: Filter, _ type: EntityType
    ) throws(HornbeamError) -> StoreTransaction {
        guard let core else {
            throw HornbeamError(
                .invalid, "“\(filter.text(type.description))” can't be tested on one \(type.name) by itself")
        }
        return core
    }

    private static func bindOne(_ filter: Filter, _ type: EntityType, _ core: StoreTransaction?) throws -> Node {
        func present() throws(HornbeamError) -> StoreTransaction { try Self.present(core, filter, type) }
        switch filter {
        case .all: return .constant(true)
        case .none: return .constant(false)
        case .refused(let error): throw error
        case .compare(let column, let comparison, let value): return try bind(column, comparison, value, type)
        case .isNull(let column): return .isNull(column)
        case .within(let column, let values): return try bind(column, within: values, type)
        case .string(let test): return .string(StringMatcher(test))
        case .text(let test): return .accepting(test)
        case .elements(let test): return try bind(test, type)
        case .linkCount(let relation, let comparison, let count):
            return .linkCount(try LinkCounter(relation, of: type, present()), comparison, count)
        case .matches(let match): return try bind(match, type)
        case .ids(let ids):
            let store = try present().store(type.name)
            return .rows(Set(try ids.compactMap { try store.rowID(ofAny: $0) }))
        case .related(let source):
            let (side, rowID) = try bind(source, type, present())
            guard let rowID else { return .constant(false) }
            return .linked(side, rowID, try present().edges)
        case .opaque(_, let test): return .opaque(test)
        case .computed(let test): return .opaque(test.accepts)
        case .anyElement(let test): return .opaque(test.accepts)
        case .links, .and, .or, .not: return try bind(filter, type, core)
        }
    }

    /// The relation side and the source's row id; nil if the source has none.
    package static func bind(
        _ source: RelationSource, _ type: EntityType, _ core: StoreTransaction
    ) throws -> (EdgeSide, RowID?) {
        let store = try core.store(source.type)
        let side = try store.type.relation(source.relation)
        guard side.target == type.name else {
            throw HornbeamError(
                .invalid,
                "\(source.type).\(source.relation) leads to \(side.target), not to \(type.name): ask it for "
                    + "\(side.target), or take another relation")
        }
        return (side, try store.rowID(ofAny: source.source))
    }

    private static func bind(
        _ column: Int, _ comparison: Comparison, _ value: Value, _ type: EntityType
    ) throws(HornbeamError) -> Node {
        let literal = try literal(value, column, type)
        guard comparison == .equal || comparison == .notEqual || type.description.columns[column].type.isOrdered else {
            throw incomparable(value, column, type, "its type has no order, so test it for equality")
        }
        switch (literal, type.description.columns[column].type.unwrapped) {
        case (.null, _):
            switch comparison {
            case .equal: return .isNull(column)
            case .notEqual: return .not(.isNull(column))
            default: return .constant(false)
            }
        case (.int(let number), _): return .int(column, comparison, number)
        case (.uint(let number), _): return .uint(column, comparison, number)
        case (.string(let text), .string), (.string(let text), .url):
            let ascii = text.utf8.allSatisfy { $0 < 0x80 } ? Array(text.utf8) : nil
            return .text(column, comparison, ascii: ascii, key: try key(literal, column, type))
        default: return .key(column, comparison, try key(literal, column, type))
        }
    }

    private static func bind(
        _ column: Int, within values: [Value], _ type: EntityType
    ) throws(HornbeamError) -> Node {
        if values.count <= fewValues {
            var tests: [Node] = []
            for value in values { tests.append(try bind(column, .equal, value, type)) }
            return .or(tests)
        }
        var numbers: Set<Int64> = []
        var keys: Set<[UInt8]> = []
        var orNull = false
        for value in values {
            switch try literal(value, column, type) {
            case .null: orNull = true
            case .int(let number): numbers.insert(number)
            case let literal: keys.insert(try key(literal, column, type))
            }
        }
        if numbers.isEmpty, keys.isEmpty { return orNull ? .isNull(column) : .constant(false) }
        // The literals of a column are all of one form.
        return numbers.isEmpty ? .within(column, keys, orNull: orNull) : .intWithin(column, numbers, orNull: orNull)
    }

    private static func bind(_ match: TextMatch, _ type: EntityType) throws(HornbeamError) -> Node {
        try match.requireSense(type)
        let matcher = match.matcher(by: type.wording(of: match))
        return matcher.isEmpty ? .constant(false) : .matches(match.columns, matcher)
    }

    private static func bind(_ test: ElementTest, _ type: EntityType) throws(HornbeamError) -> Node {
        guard type.description.columns.indices.contains(test.column),
            case .array(let element) = type.description.columns[test.column].type.unwrapped
        else {
            throw HornbeamError(
                .invalid, "\(type.name) has no array in column \(test.column): compare the property itself")
        }
        var values: Set<Value> = []
        for value in test.values {
            guard let converted = value.converted(to: element) else {
                throw HornbeamError(
                    .invalid,
                    "\(type.name).\(type.description.columns[test.column].name) has elements of type \(element), which "
                        + "can't be compared with \(value.text): give a value of that type")
            }
            values.insert(converted.comparable)
        }
        return .elements(test.column, values, wantsAll: test.wantsAll)
    }

    // MARK: Testing

    private static func test(_ node: Node, _ rowID: RowID, _ row: RowReader) throws -> Bool {
        switch node {
        case .links(let filter): return try filter.accepts(rowID)
        case .and(let parts):
            for part in parts where try !test(part, rowID, row) { return false }
            return true
        case .or(let parts):
            for part in parts where try test(part, rowID, row) { return true }
            return false
        case .byValue: return try testByValue(node, rowID, row)
        case .not(let part): return try !test(part, rowID, row)
        default: return try testOne(node, rowID, row)
        }
    }

    private static func testByValue(_ node: Node, _ rowID: RowID, _ row: RowReader) throws -> Bool {
        guard case .byValue(let column, let alternatives) = node, try !row.isNull(column: column),
            let parts = try alternatives[key(of: row, column)]
        else { return false }
        for part in parts where try test(part, rowID, row) { return true }
        return false
    }

    private static func testOne(_ node: Node, _ rowID: RowID, _ row: RowReader) throws -> Bool {
        switch node {
        case .constant(let result): return result
        case .int(let column, let comparison, let literal):
            guard let value = try row.int(column) else { return comparison == .notEqual }
            return comparison.holds(value < literal ? -1 : value > literal ? 1 : 0)
        case .uint(let column, let comparison, let literal):
            guard let value = try row.uint(column) else { return comparison == .notEqual }
            return comparison.holds(value < literal ? -1 : value > literal ? 1 : 0)
        case .text(let column, let comparison, let ascii, let key):
            guard let utf8 = try row.stringBytes(column) else { return comparison == .notEqual }
            if let ascii, utf8.allSatisfy({ $0 < 0x80 }) {
                return comparison.holds(ascii.withUnsafeBytes { utf8.order($0) })
            }
            return try compare(row, column, comparison, key)
        case .key(let column, let comparison, let key):
            if try row.isNull(column: column) { return comparison == .notEqual }
            return try compare(row, column, comparison, key)
        case .isNull(let column): return try row.isNull(column: column)
        case .intWithin(let column, let numbers, let orNull):
            return try row.int(column).map(numbers.contains) ?? orNull
        case .within(let column, let keys, let orNull):
            if try row.isNull(column: column) { return orNull }
            return try keys.contains(key(of: row, column))
        case .string(let matcher): return try matcher.accepts(row)
        case .accepting(let test): return try accepts(test, row)
        case .elements(let column, let values, let wantsAll): return try hasElements(row, column, values, wantsAll)
        case .linkCount(let counter, let comparison, let count):
            let found = try counter.count(rowID)
            return comparison.holds(found < count ? -1 : found > count ? 1 : 0)
        case .matches(let columns, let matcher): return matcher.matches(try row.sections(columns))
        case .rows(let rowIDs): return rowIDs.contains(rowID)
        case .linked(let side, let source, let edges): return try edges.contains(side, source, rowID)
        case .opaque(let test): return try test(row)
        case .links, .and, .or, .byValue, .not: return try test(node, rowID, row)
        }
    }

    private static func accepts(_ test: TextTest, _ row: RowReader) throws -> Bool {
        for column in test.columns {
            if let text = try row.string(column), try test.accepts(text) { return !test.isNegated }
        }
        return test.isNegated
    }

    private static func hasElements(
        _ row: RowReader, _ column: Int, _ wanted: Set<Value>, _ wantsAll: Bool
    ) throws(HornbeamError) -> Bool {
        // A null array has no elements.
        guard case .array(let elements) = try row.value(column) else { return wantsAll && wanted.isEmpty }
        if !wantsAll { return elements.contains { wanted.contains($0.comparable) } }
        var missing = wanted
        for element in elements where !missing.isEmpty { missing.remove(element.comparable) }
        return missing.isEmpty
    }

    /// The key of a column that is not null, without a marker.
    private static func key(of row: RowReader, _ column: Int) throws(HornbeamError) -> [UInt8] {
        var key = KeyWriter(capacity: 32)
        try KeyCoding.append(try row.value(column), as: row.layout.fields[column].type, to: &key)
        return key.bytes
    }

    private static func compare(
        _ row: RowReader, _ column: Int, _ comparison: Comparison, _ literal: [UInt8]
    ) throws(HornbeamError) -> Bool {
        let key = try key(of: row, column)
        return comparison.holds(key.withUnsafeBytes { left in literal.withUnsafeBytes { left.order($0) } })
    }
}

extension TextMatch {
    /// Throws `.invalid` if the search isn't possible.
    package func requireSense(_ type: EntityType) throws(HornbeamError) {
        if let index, type.wording(of: self) == nil {
            throw HornbeamError(
                .invalid,
                "\(type.name) has no full-text index “\(index)” over all searched properties: "
                    + "open the database with the model that declares it")
        }
        if words != nil { return }
        if let problem { throw problem }
        if let problem = query.problem(fieldCount: columns.count) {
            throw HornbeamError(.invalid, "in a search of \(type.name), \(problem)")
        }
        let isRight =
            weights.isEmpty
            || weights.count == columns.count && weights.allSatisfy { $0 >= 0 && $0 <= TextQuery.maximumBoost }
                && weights.contains { $0 > 0 }
        guard isRight else {
            throw HornbeamError(
                .invalid,
                "a search of \(type.name) over \(columns.count) properties has the weights \(weights): give one for "
                    + "each, from 0 to 1e9 and not all 0")
        }
    }
}
