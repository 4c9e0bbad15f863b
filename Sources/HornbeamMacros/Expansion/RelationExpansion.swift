// SPDX-License-Identifier: Apache-2.0
// Relations: the table for queries and deletes, and the steps of `normalize` and `save` in order of declaration. Both
// key paths of a mutual relation are written out, so the compiler checks that each side names the other. The second key
// path names no root type, because the extension of a nested entity doesn't see the names of the outer type. Each item
// begins with its type, so that the compiler reports a mistake at that item.

extension ModelDeclaration {
    var relationItems: [String] {
        relations.map { relation in
            var arguments = ["\"\(relation.name)\"", "\\Self.$\(relation.name)"]
            if let inverse = relation.inverse {
                arguments += ["inverse: \"\(inverse)\"", "\\.$\(inverse)"]
            }
            if let rule = relation.deleteRule { arguments.append("deleteRule: \(rule)") }
            let kind = relation.inverse == nil ? "oneWay" : "mutual"
            return "Hornbeam.DeclaredRelation<Self>.\(kind)(\(arguments.joined(separator: ", ")))"
        }
    }

    /// The properties that show loaded entities, in the order of the relations.
    var shownItems: [String] { relations.map { "\\Self.\($0.code)" } }

    var relationMembers: [String] {
        let resets = relations.map { "    self.$\($0.name) = .none\n" }
        let saves = relations.enumerated().map { "    try saver.save(self.$\($1.name), relation: \($0))\n" }
        let cases = relations.enumerated().map { number, relation in
            "    case \(number): loaded.put(into: &entities) { $0.$\(relation.name) = $1 }\n"
        }
        let sets = cases.isEmpty ? "" : "    switch loaded.number {\n\(cases.joined())    default: break\n    }\n"
        return [
            "\(access)mutating func normalize() {\n\(resets.joined())}",
            "\(access)func saveRelations(with saver: inout Hornbeam.RelationSaver<Self>) throws {\n\(saves.joined())}",
            "\(access)static func setRelation(_ loaded: Hornbeam.LoadedRelation, of entities: inout [[Self]]) {\n"
                + "\(sets)}",
        ]
    }
}
