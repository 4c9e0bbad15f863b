// SPDX-License-Identifier: Apache-2.0
// Relations: the table that queries and deletes go by, and the steps of `normalize` and `save` in order of declaration.
// Both key paths of a mutual relation are written out, so the compiler checks that each side names the other.

extension ModelDeclaration {
    var relationItems: [String] {
        relations.map { relation in
            var arguments = ["\"\(relation.name)\"", "\\Self.$\(relation.name)"]
            if let inverse = relation.inverse {
                arguments += ["inverse: \"\(inverse)\"", "\\\(relation.target).$\(inverse)"]
            }
            if let rule = relation.deleteRule { arguments.append("deleteRule: \(rule)") }
            return "\(relation.inverse == nil ? ".oneWay" : ".mutual")(\(arguments.joined(separator: ", ")))"
        }
    }

    var relationMembers: [String] {
        let resets = relations.map { "    self.$\($0.name) = .none\n" }
        let saves = relations.enumerated().map { "    try saver.save(self.$\($1.name), relation: \($0))\n" }
        return [
            "\(access)mutating func normalize() {\n\(resets.joined())}",
            "\(access)func saveRelations(with saver: inout Hornbeam.RelationSaver<Self>) throws {\n\(saves.joined())}",
        ]
    }
}
