// SPDX-License-Identifier: Apache-2.0
// Indexes. Each component of an ordered index goes through an overload that compiles only for types with an
// order-preserving key. Indexes for equality take every type that can be stored. As with relations, each item begins
// with its type, so that the compiler reports a mistake at that item.

extension ModelDeclaration {
    var indexItems: [String] {
        indexes.map { index in
            let components = index.components.map { component in
                if component.isMetadata {
                    return ".\(component.property)(\(component.descending ? "descending: true" : ""))"
                }
                if component.isLinkedID {
                    return ".of(\"$\(component.property).id\", \\Self.$\(component.property).id\(order(component)))"
                }
                let code = properties.first { $0.name == component.property }?.code ?? component.property
                switch index.kind {
                case .text: return ".text(\"\(component.property)\", \\Self.\(code))"
                case .value:
                    return ".of(\"\(component.property)\", \\Self.\(code)\(order(component)))"
                case .unique, .hash:
                    return ".init(column: \"\(component.property)\"\(order(component)))"
                }
            }
            let options = index.options.map { ", " + $0 }.joined()
            let parts = components.joined(separator: ", ")
            return "Hornbeam.DeclaredIndex<Self>.\(index.kind)(\"\(index.name)\", [\(parts)]\(options))"
        }
    }

    private func order(_ component: Index.Component) -> String { component.descending ? ", descending: true" : "" }
}
