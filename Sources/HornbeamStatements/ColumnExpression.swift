// SPDX-License-Identifier: Apache-2.0
// Index components that aren't properties, but that any program that opens the file can compute: expressions of the
// query language over one row's columns, and texts by a collation. Conditions and sorts use equal components, so that
// the planner recognises an index over them.

import FoundationEssentials
import HornbeamKeys
import HornbeamPages

/// An expression on the rows of one type.
struct ColumnExpression: Equatable, ComputedExpression {
    let entity: String
    /// Its slots are the numbers of columns.
    let expression: BoundExpression

    init(entity: String, own expression: BoundExpression) {
        self.entity = entity
        self.expression = expression
    }

    func isSame(as other: any ComputedExpression) -> Bool { other as? ColumnExpression == self }

    /// A column by a collation; nil for any other expression.
    fileprivate var collated: CollatedColumn? {
        guard case .call(let function, let arguments, _) = expression, let collation = function.collation,
            case .slot(let column)? = arguments.first
        else { return nil }
        return CollatedColumn(entity: entity, column: column, collation: collation)
    }
}

extension ComputedComponent {
    /// Makes the component for a column of texts by a collation. Returns nil for any other expression.
    init?(collated expression: ColumnExpression, of type: EntityDescription) throws(HornbeamError) {
        guard let collated = expression.collated, type.columns[collated.column].type.unwrapped == .string else {
            return nil
        }
        try self.init(column: collated.column, of: type, by: collated.collation)
    }

    /// Makes the component for any expression. Its keys sort as the expression's values do.
    /// - Parameter label: the expression as text, for people.
    init(_ expression: ColumnExpression, label: String) {
        let columns = expression.expression.slots.sorted()
        let slots = (columns.last ?? -1) + 1
        self.init(ComputedSubject(expression), label: label, type: .data, sources: columns) {
            (row) throws(HornbeamError) in
            let frame = Frame(slots: slots)
            for column in columns { frame.slots[column] = StatementValue(try row.value(column)) }
            let item: StatementValue
            do {
                item = try expression.expression.evaluate(frame)
            } catch {
                let reason = (error as? HornbeamError)?.message ?? "\(error)"
                throw HornbeamError(.invalid, "“\(label)”, which an index is over, can't be computed: \(reason)")
            }
            return item.isUnknown ? .null : .data(Data(item.orderedKey))
        }
    }
}

extension ComputedTest {
    /// A comparison of a value that an index may hold.
    /// - Parameter literal: a key's bytes, or null.
    package convenience init(_ component: ComputedComponent, _ comparison: Comparison, _ literal: Value, label: String)
    {
        let value = component.value
        self.init(component.subject, comparison, literal, label: label, sources: component.sources) { row in
            switch (try value(row), literal) {
            case (.data(let found), .data(let wanted)):
                return comparison.holds(
                    found.withUnsafeBytes { found in wanted.withUnsafeBytes { found.order($0) } })
            case (.null, .null): return comparison == .equal
            default: return comparison == .notEqual
            }
        }
    }
}

extension ComputedTest {
    /// Whether a value that an index may hold is one of a list. Its key is made once a row, however many values there
    /// are.
    /// - Parameter keys: the bytes of the values' keys.
    convenience init(_ component: ComputedComponent, within keys: [[UInt8]], label: String) {
        let value = component.value
        let wanted = Set(keys.map { Data($0) })
        self.init(
            component.subject, .equal, .null, list: wanted.map { .data($0) }, label: label, sources: component.sources
        ) { row in
            guard case .data(let found) = try value(row) else { return false }
            return wanted.contains(found)
        }
    }
}

/// An expression for an index, read from text.
package struct IndexExpression: Sendable {
    /// The expression in a form that doesn't depend on spaces or on the case of keywords. If that form can't be read,
    /// the text as it was written.
    let text: String
    private let tree: Expression

    /// Reads an expression. Throws `.invalid` or `.tooLarge` if it can't be read.
    init(_ written: String) throws(HornbeamError) {
        tree = try QueryLanguage.expression(written)
        let plain = tree.text
        // `plain` has no quotes around names. If a name needs them, the text stays as it was written.
        text = (try? QueryLanguage.expression(plain))?.text == plain ? plain : written
    }

    /// Makes the expression of a property by a collation.
    init(_ property: String, by collation: TextCollation) {
        tree = .collate(.path(Path(steps: [.name(property)], place: 0)), collation, 0)
        let plain = tree.text
        // Names that are words of the language need quotes.
        let isReadable = (try? QueryLanguage.expression(plain))?.text == plain
        text = isReadable ? plain : "`\(property)` COLLATE \(collation.words)"
    }

    /// The name of the property, if the expression is a property alone.
    var property: String? {
        guard case .path(let path) = tree, path.steps.count == 1 else { return nil }
        return path.head
    }

    /// The version of the collation by which it compares texts; nil if it has none.
    var collationVersion: String? {
        guard case .collate(_, let collation, _) = tree else { return nil }
        return (try? collation.collator)?.version ?? "unknown"
    }

    /// Returns the component for an index of this type. Throws `.invalid` if no index can be over the expression.
    func component(of type: EntityDescription) throws(HornbeamError) -> ComputedComponent {
        func refused(_ reason: String) -> HornbeamError {
            HornbeamError(.invalid, "“\(text)” can't be what an index is over: \(reason)")
        }
        if tree.isOfTime { throw refused("it is not the same at all times") }
        let own: BoundExpression?
        do {
            var binder = try Binder(text, to: type)
            let bound = try binder.bindCompared([tree])[0]
            own = bound.mappingSlots { slot in
                guard case .column(let number)? = binder.content(of: slot)?.content else { return nil }
                return number
            }
        } catch let error as HornbeamError {
            throw error
        } catch {
            throw refused("\(error)")
        }
        guard let own else {
            throw refused(
                "it is made of more than one entity's properties, or of elements by a name: an ArrayIndex is over those"
            )
        }
        guard !own.slots.isEmpty else { throw refused("it is the same for all entities") }
        let found = ColumnExpression(entity: type.name, own: own)
        if let component = try ComputedComponent(collated: found, of: type) { return component }
        if case .collate = tree { throw refused("COLLATE is for a stored String property") }
        guard own.kinds(type).isDisjoint(with: .written) else {
            throw refused(
                "it may give a date, a UUID or data, which texts say too: index the property itself, or a part of it")
        }
        return ComputedComponent(found, label: text)
    }
}
