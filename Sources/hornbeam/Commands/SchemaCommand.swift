// SPDX-License-Identifier: Apache-2.0
// `hornbeam schema`: the entity types of a store, for people or as the file that `schema apply` takes.

package import Hornbeam
import HornbeamTree

enum SchemaCommand {
    static let declaration = CommandDeclaration(
        path: ["schema"],
        summary: "print the entity types of a store",
        discussion: "Columns with their types (the first one is the id), indexes with their components (a dash means "
            + "descending), relations with what they lead to.",
        operands: [
            .store, OperandDeclaration(name: "TYPE", help: "an entity type; all without it", isOptional: true),
        ],
        options: [
            .flag("json", "j", "as the JSON that 'hornbeam schema apply' takes"),
            .flag("swift", "s", "as the Swift structs that declare them"),
        ],
        examples: ["hornbeam schema packages.hornbeam", "hornbeam schema packages.hornbeam --json > schema.json"],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        try arguments.forbid("json", with: "swift")
        try OpenStore.snapshot(arguments.file) { transaction in
            var entities = try SchemaCatalogue.load(transaction).descriptions
            if let name = arguments.operand("TYPE") { entities = [try Selection.type(name, in: entities)] }
            if arguments.has("swift") {
                try console.write(SchemaSwift.text(entities))
            } else if arguments.has("json") {
                try console.print(try SchemaFile.text(entities))
            } else {
                for (index, entity) in entities.enumerated() {
                    if index > 0 { try console.print("") }
                    for line in SchemaText.lines(entity) { try console.print(line) }
                }
            }
        }
        return .ok
    }
}

extension Schema {
    /// All entity types by name.
    package var descriptions: [EntityDescription] {
        typeNames.compactMap { types[$0]?.description }
    }
}
