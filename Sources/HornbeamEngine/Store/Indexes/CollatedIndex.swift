// SPDX-License-Identifier: Apache-2.0
// Declared indexes whose texts are in the order of a collation. If this system has another version of the collation, or
// lacks it, the index exists, but no query uses it, and changing its entries throws `.unsupported`.

import HornbeamKeys
import HornbeamTree

extension EntityIndex {
    /// A declared index with its columns resolved. `flaw` is the reason why it can't be used.
    convenience init(
        _ index: IndexDescription, _ columns: [Int], of type: EntityDescription, tree: TreeID
    ) {
        var components: [Component] = []
        var computed: [ComputedComponent] = []
        let flaw = index.collationFlaw(type)
        for (column, component) in zip(columns, index.components) {
            let columnType = type.columns[column].type.unwrapped
            guard index.collation != nil, columnType == .string else {
                components.append(Component(column: column, type: columnType, descending: component.descending))
                continue
            }
            let collation = (try? index.collation(of: columnType)) ?? nil
            let collated = collation.flatMap { try? ComputedComponent(column: column, of: type, by: $0) }
            if flaw == nil, let collated {
                computed.append(collated)
            } else {
                computed.append(
                    .unknown(column, as: collated, "index “\(index.name)” of \(type.name) \(flaw ?? "")"))
            }
            components.append(Component(column: -computed.count, type: .data, descending: component.descending))
        }
        self.init(description: index, tree: tree, components: components, computed: computed, flaw: flaw)
    }
}

extension IndexDescription {
    /// The flaw of its keys: this system has another version of the collation, or lacks it. Returns nil if there is
    /// none.
    fileprivate func collationFlaw(_ type: EntityDescription) -> String? {
        guard collation != nil else { return nil }
        let stored = collationVersion ?? "an unknown version"
        do throws(HornbeamError) {
            guard let rule = try collation(of: .string) else { return nil }
            let version = try rule.collator.version
            if version == collationVersion { return nil }
            return "is in the order of \(rule) as of \(stored), and this system has \(version)"
        } catch {
            return "is in an order as of \(stored) that this system lacks: \(error.message)"
        }
    }
}

extension ComputedComponent {
    /// A component for a text whose collation in the index isn't this system's. Computing its value throws
    /// `.unsupported`.
    /// - Parameter component: the component by this system's collation, if there is one.
    fileprivate static func unknown(_ column: Int, as component: ComputedComponent?, _ flaw: String) -> Self {
        ComputedComponent(
            component?.subject ?? ComputedSubject("", of: Never.self), label: component?.label ?? "",
            type: .data, sources: [column]
        ) { (_) throws(HornbeamError) in
            throw HornbeamError(
                .unsupported, "\(flaw): open the file with the models that declare the index, on a system that has it")
        }
    }
}
