// SPDX-License-Identifier: Apache-2.0
// Conditions on elements of arrays, for array indexes: `UNNEST contacts AS c UNNEST c.phones AS p WHERE p.type =
// 'home'`, and `ANY c IN contacts SATISFIES …`. An index finds the rows with such elements; the conditions are tested
// again.

import HornbeamTree
import Synchronization

/// The elements of an array in a column, or of arrays nested in its elements.
private struct ElementOrigin: Equatable {
    var column: Int
    /// The path from an element to the next array, for each level. Dots separate its names.
    var steps: [String] = []
}

/// A question about an element: about itself, or about a part of it.
private struct ElementQuestion {
    enum Test {
        case compare(Comparison, StatementValue)
        case within([StatementValue])
    }

    var slot: Int
    /// The part of the element that is tested, nil for the element itself.
    var part: String?
    var test: Test
}

extension FilterPush {
    /// Returns filters on rows of the source that follow from conditions on elements, all of which must be true. Only
    /// elements that an index has are considered.
    func elementFilters(_ conjuncts: [BoundExpression]) throws -> [Filter] {
        guard let type = source.type, let core = binder.core else { return [] }
        var questions = ElementQuestions(push: self)
        for conjunct in conjuncts { questions.add(conjunct) }
        guard !questions.isEmpty else { return [] }
        let store = try core.store(type.name)
        return questions.filters(
            try store.elementIndexes.compactMap { index in
                let components = try index.componentsAsWritten(in: store)
                return components.isEmpty ? nil : (index, components)
            })
    }

    fileprivate func ownColumn(_ slot: Int) -> Int? {
        guard let (owner, content) = binder.content(of: slot), owner === source, case .column(let number) = content
        else {
            return nil
        }
        return number
    }

    /// The array whose elements a source of the statement has in this slot.
    fileprivate func elements(_ slot: Int) -> BoundExpression? {
        guard let owner = binder.owners[slot], binder.sources[owner].elementSlot == slot,
            case .elements(let array) = binder.sources[owner].rows
        else { return nil }
        return array
    }
}

/// Collects the conditions on each element, because an index may have several components.
private struct ElementQuestions {
    let push: FilterPush
    /// The arrays of the enclosing quantifiers, by the slots of their variables.
    private var variables: [Int: BoundExpression] = [:]
    private var found: [(origin: ElementOrigin, questions: [ElementQuestion])] = []
    /// The index in `found` by slot, as long as the slot stands for the same element.
    private var places: [Int: Int] = [:]

    init(push: FilterPush) { self.push = push }

    var isEmpty: Bool { found.isEmpty }

    mutating func add(_ condition: BoundExpression) {
        if case .quantified(let quantifier, let slot, let array, let inner) = condition, quantifier != .every {
            let (known, place) = (variables[slot], places[slot])
            variables[slot] = array
            places[slot] = nil
            for conjunct in inner.conjuncts { add(conjunct) }
            (variables[slot], places[slot]) = (known, place)
            return
        }
        for question in questions(condition) {
            if let place = places[question.slot] {
                found[place].questions.append(question)
            } else if let origin = origin(question.slot) {
                places[question.slot] = found.count
                found.append((origin, [question]))
            }
        }
    }

    private func origin(_ slot: Int) -> ElementOrigin? {
        guard let array = variables[slot] ?? push.elements(slot) else { return nil }
        if case .slot(let inner) = array, let column = push.ownColumn(inner) { return ElementOrigin(column: column) }
        guard let (inner, name) = Self.part(array), let name, var origin = origin(inner) else { return nil }
        origin.steps.append(name)
        return origin
    }

    /// A slot, or a path of names from it.
    private static func part(_ expression: BoundExpression) -> (slot: Int, name: String?)? {
        switch expression {
        case .slot(let slot): return (slot, nil)
        case .field(let inner, let name):
            guard let (slot, before) = part(inner), !name.contains(".") else { return nil }
            return (slot, before.map { "\($0).\(name)" } ?? name)
        default: return nil
        }
    }

    private func questions(_ condition: BoundExpression) -> [ElementQuestion] {
        func compared(
            _ comparison: Comparison, _ subject: BoundExpression, _ other: BoundExpression
        ) -> ElementQuestion? {
            guard let (slot, part) = Self.part(subject), variables[slot] != nil || push.elements(slot) != nil,
                let item = push.item(other), !item.isUnknown
            else { return nil }
            return ElementQuestion(slot: slot, part: part, test: .compare(comparison, item))
        }
        switch condition {
        case .binary(let sign, let left, let right, _):
            guard let comparison = Comparison(sign), comparison != .notEqual else { return [] }
            let question = compared(comparison, left, right) ?? compared(comparison.mirrored, right, left)
            return question.map { [$0] } ?? []
        case .between(let value, let low, let high):
            return [compared(.greaterOrEqual, value, low), compared(.lessOrEqual, value, high)].compactMap { $0 }
        case .within(let value, let list):
            let items = list.compactMap { push.item($0) }
            guard items.count == list.count, let (slot, part) = Self.part(value) else { return [] }
            return [ElementQuestion(slot: slot, part: part, test: .within(items))]
        case .among(let value, let list):
            guard let (slot, part) = Self.part(value) else { return [] }
            return [ElementQuestion(slot: slot, part: part, test: .within(list.items))]
        case .withinArray(let value, let list):
            guard case .array(let items)? = push.item(list), let (slot, part) = Self.part(value) else { return [] }
            return [ElementQuestion(slot: slot, part: part, test: .within(items))]
        case .like(let text, let pattern, nil, _):
            guard let (slot, part) = Self.part(text), let pattern = push.item(pattern)?.text,
                let like = try? LikePattern(pattern, escape: nil), let (from, to) = FilterPush.range(of: like.prefix)
            else { return [] }
            return [(Comparison.greaterOrEqual, from), (.less, to)].map { comparison, text in
                ElementQuestion(slot: slot, part: part, test: .compare(comparison, .string(text)))
            }
        default: return []
        }
    }

    /// Returns a filter for each element that one of the indexes can find.
    /// - Parameter indexes: each with its components that have the same values in the stored JSON.
    func filters(_ indexes: [(index: ElementIndex, components: [ElementIndex.Component])]) -> [Filter] {
        found.compactMap { origin, questions in
            let indexes = indexes.filter { $0.index.column == origin.column && $0.index.stepNames == origin.steps }
            var labels: [String] = []
            let terms = questions.compactMap { question -> ElementTerm? in
                let components = indexes.lazy.flatMap(\.components)
                guard let component = components.first(where: { $0.name == question.part }),
                    let term = question.term(component)
                else { return nil }
                labels.append(term.filter(column: 0).text(component.named))
                return term
            }
            guard let index = indexes.first?.index, !terms.isEmpty else { return nil }
            return .anyElement(
                AnyElementTest(index, terms, label: "any of \(index.label): \(labels.joined(separator: " && "))"))
        }
    }
}

extension ElementQuestion {
    /// The condition as a term of an index; nil if the component's type can't express its values.
    fileprivate func term(_ component: ElementIndex.Component) -> ElementTerm? {
        switch test {
        case .compare(let comparison, let item):
            return item.literal(component.type).map {
                ElementTerm(subject: component.subject, .compare(comparison, $0))
            }
        case .within(let items):
            return StatementValue.literals(items, component.type).map {
                ElementTerm(subject: component.subject, .within($0))
            }
        }
    }
}

// MARK: - Indexes

extension ElementIndex.Component {
    /// The component's name in a path; nil for the element itself.
    fileprivate var name: String? { subject == nil ? nil : label }

    /// A type with the component as its only column, for writing a condition as text.
    fileprivate var named: EntityDescription {
        EntityDescription(
            name: "", columns: [ColumnDescription(name: label.isEmpty ? "element" : label, type: type)])
    }
}

extension ElementIndex {
    /// Entries that are sampled at each end of an index before it answers statements.
    private static let sample = 64

    /// The components that have the same values as their paths in the stored JSON. Keys come from Swift properties.
    /// Statements see the encoded JSON, which may have other names and other values. The type doesn't tell the
    /// difference, so a sample of rows is compared. A component is left out if the values differ in one row, or if no
    /// row has a value.
    func componentsAsWritten(in store: EntityStore) throws -> [Component] {
        guard let column, stepNames != nil, components.contains(where: \.isPlain) else { return [] }
        let count = try store.transaction.count(tree)
        if let known = asWritten.withLock({ $0 }), known.count >= count / 8 { return known.components }
        let rowIDs = try sampled(store)
        var (seen, others): (Set<Int>, Set<Int>) = ([], [])
        for rowID in rowIDs {
            guard let row = try store.row(rowID), let held = try? values(row) else { return [] }
            note(StatementValue(try row.value(column)), held, &seen, &others)
        }
        let places = components.indices.filter { components[$0].isPlain && seen.contains($0) && !others.contains($0) }
        let found = places.map { components[$0] }
        // The rows that a write has seen may never be committed.
        if !store.transaction.isWritable, !rowIDs.isEmpty {
            asWritten.withLock { $0 = WrittenComponents(components: found, count: count) }
        }
        return found
    }

    /// Some rows that have entries.
    private func sampled(_ store: EntityStore) throws -> Set<RowID> {
        var cursor = try store.transaction.cursor(tree)
        var rowIDs: Set<RowID> = []
        for isAtEnd in [false, true] {
            var isValid = isAtEnd ? try cursor.last() : try cursor.first()
            var count = 0
            while isValid, count < Self.sample, let entry = try cursor.entry() {
                if let rowID = Self.rowID(entry.key) { rowIDs.insert(rowID) }
                count += 1
                isValid = isAtEnd ? try cursor.previous() : try cursor.next()
            }
        }
        return rowIDs
    }

    /// Notes the components that a row has values of, and those whose values differ from the row's JSON.
    private func note(_ column: StatementValue, _ held: [[Value]], _ seen: inout Set<Int>, _ others: inout Set<Int>) {
        func elements(_ item: StatementValue) -> [StatementValue] {
            if case .array(let items) = item { items } else { [] }
        }
        func follow(_ item: StatementValue, _ names: String) -> StatementValue {
            names.split(separator: ".").reduce(item) { $0.field(String($1)) }
        }
        var items = elements(column)
        for step in stepNames ?? [] { items = items.flatMap { elements(follow($0, step)) } }
        guard items.count == held.count else { return others.formUnion(components.indices) }
        for (item, values) in zip(items, held) {
            for (place, (component, value)) in zip(components, values).enumerated() {
                let written = component.name.map { follow(item, $0) } ?? item
                if value != .null { seen.insert(place) }
                let isSame =
                    value == .null
                    ? written.isUnknown : written.literal(component.type) == value.converted(to: component.type)
                if !isSame { others.insert(place) }
            }
        }
    }
}

extension ElementIndex.Component {
    /// Whether JSON has values of this type unchanged. Floats have other digits in JSON; dates, UUIDs and data are
    /// texts or numbers.
    fileprivate var isPlain: Bool {
        switch type.unwrapped {
        case .bool, .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64, .double, .string: true
        default: false
        }
    }
}
