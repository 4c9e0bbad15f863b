// SPDX-License-Identifier: Apache-2.0
// An array index as the planner sees it: which conditions on elements it answers, by which ranges of its keys. An entry
// is key ‖ row id ‖ ordinal among the row's equal elements → nothing.

import HornbeamKeys
import HornbeamPages
import HornbeamTree
import Synchronization

final class ElementIndex: Sendable {
    /// What its keys are made of.
    struct Component: Sendable {
        /// Nil for the element itself.
        let subject: ComputedSubject?
        let label: String
        let type: ColumnType
    }

    let tree: TreeID
    let steps: [ComputedSubject]
    let components: [Component]
    /// The column that holds the array, if one does.
    let column: Int?
    /// As names say it: `contacts[].phones`.
    let label: String
    /// What a row's elements have of the components.
    let values: @Sendable (RowReader) throws -> [[Value]]
    /// What is known of whether text sees the same.
    let asWritten = Mutex<WrittenComponents?>(nil)
    /// Its keys as those of an index over columns that there aren't: what narrows one narrows the other.
    private let keys: EntityIndex

    init(
        _ name: String, _ tree: TreeID, _ layout: ArrayIndexLayout, column: Int?,
        values: @escaping @Sendable (RowReader) throws -> [[Value]]
    ) {
        self.tree = tree
        self.column = column
        self.values = values
        label = layout.path
        steps = layout.steps
        components = layout.components
        keys = EntityIndex(
            description: IndexDescription(
                name: name, kind: .value, components: components.map { IndexDescription.Component(column: $0.label) }),
            tree: tree,
            components: components.enumerated().map { place, component in
                EntityIndex.Component(column: -1 - place, type: component.type, descending: false)
            })
    }

    /// The names of the arrays in elements; nil if they have none.
    var stepNames: [String]? {
        let names = steps.dropFirst().compactMap(\.name)
        return names.count == steps.count - 1 ? names : nil
    }

    /// The row that an entry is of; nil if the entry is damaged.
    static func rowID(_ key: Bytes) -> RowID? { RowID(key: key, at: key.count - 12) }

    /// Whether it is of these elements, and narrows what is asked of them.
    func serves(_ test: AnyElementTest) -> Bool {
        steps == test.steps && test.terms.contains { $0.subject == components[0].subject }
    }

    /// The ranges of the elements that pass, and whether they hold no others; nil if the index is no help.
    func match(_ test: AnyElementTest, _ type: EntityType, _ transaction: Transaction) throws -> ElementMatch? {
        guard serves(test) else { return nil }
        return try match(test.terms, isComplete: test.isComplete, type, transaction)
    }

    /// The same of a test of an array of scalars.
    func match(_ test: ElementTest, _ type: EntityType, _ transaction: Transaction) throws -> ElementMatch? {
        guard let first = test.values.first, components.count == 1, components[0].subject == nil,
            steps.count == 1, column == test.column
        else { return nil }
        let values = test.wantsAll ? [first] : test.values
        let term = ElementTerm(subject: nil, .within(values))
        return try match([term], isComplete: values.count == test.values.count, type, transaction)
    }

    private func match(
        _ terms: [ElementTerm], isComplete: Bool, _ type: EntityType, _ transaction: Transaction
    ) throws -> ElementMatch? {
        var conjuncts: [Filter] = []
        var isExact = isComplete
        for term in terms {
            guard let place = components.firstIndex(where: { $0.subject == term.subject }) else {
                isExact = false
                continue
            }
            conjuncts.append(term.filter(column: -1 - place))
        }
        let matcher = IndexMatcher(type: type, transaction: transaction, conjuncts: conjuncts)
        guard let match = try matcher.columns(keys) else { return nil }
        return ElementMatch(match: match, isExact: isExact && match.answered.count == conjuncts.count)
    }
}

/// Components that text sees as they are, as far as was known when the index had so many entries.
struct WrittenComponents: Sendable {
    let components: [ElementIndex.Component]
    let count: UInt64
}

/// What an array index can do for a condition on elements.
struct ElementMatch {
    /// Ranges of the index's keys; its count is that of elements.
    let match: IndexMatch
    /// Whether all elements in the ranges pass, and no others.
    let isExact: Bool

    /// The rows that have such elements, ascending, each once.
    func rowIDs(_ store: EntityStore) throws -> [UInt64] {
        var found: [UInt64] = []
        try PointScan(match, store).run { key, _ in
            try add(key, to: &found, store)
            return true
        }
        for range in match.ranges where range.count > 0 {
            var cursor = try store.transaction.cursor(match.index.tree)
            var isValid = range.from.isEmpty ? try cursor.first() : try cursor.seek(range.from)
            try range.to.withUnsafeBytes { end in
                while isValid, let entry = try cursor.entry(), end.isEmpty || entry.key.order(end) < 0 {
                    try add(entry.key, to: &found, store)
                    isValid = try cursor.next()
                }
            }
        }
        found.sort()
        var last: UInt64?
        return found.filter { rowID in
            defer { last = rowID }
            return rowID != last
        }
    }

    private func add(_ entry: Bytes, to found: inout [UInt64], _ store: EntityStore) throws {
        guard let rowID = ElementIndex.rowID(entry) else {
            throw store.corrupt("index \(match.index.description.name)", "an entry names no row")
        }
        // Entries of one row lie together where the keys are equal.
        if found.last != rowID.rawValue { found.append(rowID.rawValue) }
    }
}

/// What an array index is, but for the code that finds the elements.
struct ArrayIndexLayout: Sendable {
    static let kind = "array"
    enum Setting {
        static let path = "path"
        static let expressions = "expressions"
        static let computed = "computed"
    }

    let steps: [ComputedSubject]
    let path: String
    let components: [ElementIndex.Component]
    /// Whether only code can tell what it holds.
    let isComputed: Bool

    var settings: [String: String] {
        var settings = [Setting.path: path]
        let labels = components.map(\.label)
        if labels != [""] { settings[Setting.expressions] = labels.joined(separator: ", ") }
        if isComputed { settings[Setting.computed] = components.map(\.type.description).joined(separator: ", ") }
        return settings
    }

    /// The key of an element with these values.
    func key(_ values: [Value], _ name: String) throws(HornbeamError) -> [UInt8] {
        var key = KeyWriter(capacity: 32)
        for (component, value) in zip(components, values) {
            guard let value = value.converted(to: .optional(component.type)) else {
                throw HornbeamError(
                    .invalid,
                    "index “\(name)”: “\(component.label)” of an element is \(value.text.shown()), no \(component.type)"
                )
            }
            try KeyCoding.appendComponent(value, as: component.type, descending: false, to: &key)
        }
        IndexKeyBytes.cut(&key.bytes)
        return key.bytes
    }
}
