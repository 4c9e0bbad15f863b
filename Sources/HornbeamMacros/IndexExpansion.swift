// SPDX-License-Identifier: Apache-2.0
// Indexes: each component goes through an overload that compiles only for types with an order-preserving key.

extension ModelDeclaration {
    var indexItems: [String] {
        indexes.map { index in
            let components = index.components.map { component in
                if component.isMetadata {
                    return ".\(component.property)(\(component.descending ? "descending: true" : ""))"
                }
                let code = properties.first { $0.name == component.property }?.code ?? component.property
                switch index.kind {
                case .text: return ".text(\"\(component.property)\", \\Self.\(code))"
                case .value, .unique, .hash:
                    let order = component.descending ? ", descending: true" : ""
                    return ".of(\"\(component.property)\", \\Self.\(code)\(order))"
                }
            }
            let options = index.options.map { ", " + $0 }.joined()
            return ".\(index.kind)(\"\(index.name)\", [\(components.joined(separator: ", "))]\(options))"
        }
    }
}
