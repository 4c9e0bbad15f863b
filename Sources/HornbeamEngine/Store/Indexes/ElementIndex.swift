// SPDX-License-Identifier: Apache-2.0
// An array index: its components and its layout. ElementPlans.swift says which conditions it answers. An entry is key ‖
// row id ‖ ordinal among the row's equal elements → nothing.

import HornbeamKeys
package import HornbeamPages
package import HornbeamTree
package import Synchronization

package final class ElementIndex: Sendable {
    /// A component of its keys.
    package struct Component: Sendable {
        /// The property of the element, nil for the element itself.
        package let subject: ComputedSubject?
        package let label: String
        package let type: ColumnType

        package init(subject: ComputedSubject?, label: String, type: ColumnType) {
            self.subject = subject
            self.label = label
            self.type = type
        }
    }

    package let tree: TreeID
    package let steps: [ComputedSubject]
    package let components: [Component]
    /// The column that holds the array, if one does.
    package let column: Int?
    /// The path as names: `contacts[].phones`.
    package let label: String
    /// Reads the components' values of a row's elements.
    package let values: @Sendable (RowReader) throws -> [[Value]]
    /// Components whose values are the same in the stored JSON; nil before rows were compared.
    package let asWritten = Mutex<WrittenComponents?>(nil)
    /// Its keys as those of an index over computed components, by which the planner finds the ranges of conjuncts.
    let keys: EntityIndex

    package init(
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
    package var stepNames: [String]? {
        let names = steps.dropFirst().compactMap(\.name)
        return names.count == steps.count - 1 ? names : nil
    }

    /// The row of an entry; nil if the entry is damaged.
    package static func rowID(_ key: Bytes) -> RowID? { RowID(key: key, at: key.count - 12) }

    /// Whether the index is over the test's elements and one of the test's terms is on the index's first component.
    package func serves(_ test: AnyElementTest) -> Bool {
        steps == test.steps && test.terms.contains { $0.subject == components[0].subject }
    }
}

/// Components whose values are the same in the stored JSON, as compared when the index had `count` entries.
package struct WrittenComponents: Sendable {
    package let components: [ElementIndex.Component]
    package let count: UInt64

    package init(components: [ElementIndex.Component], count: UInt64) {
        self.components = components
        self.count = count
    }
}

/// The settings of an array index, without the code that finds the elements.
package struct ArrayIndexLayout: Sendable {
    package static let kind = "array"
    package enum Setting {
        package static let path = "path"
        package static let expressions = "expressions"
        package static let computed = "computed"
    }

    package let steps: [ComputedSubject]
    package let path: String
    package let components: [ElementIndex.Component]
    /// Whether only code can make its components.
    package let isComputed: Bool

    package init(steps: [ComputedSubject], path: String, components: [ElementIndex.Component], isComputed: Bool) {
        self.steps = steps
        self.path = path
        self.components = components
        self.isComputed = isComputed
    }

    package var settings: [String: String] {
        var settings = [Setting.path: path]
        let labels = components.map(\.label)
        if labels != [""] { settings[Setting.expressions] = labels.joined(separator: ", ") }
        if isComputed { settings[Setting.computed] = components.map(\.type.description).joined(separator: ", ") }
        return settings
    }

    /// The key of an element with these values.
    package func key(_ values: [Value], _ name: String) throws(HornbeamError) -> [UInt8] {
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

extension AnyElementTest {
    /// Makes a test of the terms that an index answers. It accepts all rows: they are tested elsewhere.
    package convenience init(_ index: ElementIndex, _ terms: [ElementTerm], label: String) {
        self.init(steps: index.steps, terms, isComplete: false, label: label) { _ in true }
    }
}
