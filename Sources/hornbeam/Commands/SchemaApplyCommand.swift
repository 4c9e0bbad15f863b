// SPDX-License-Identifier: Apache-2.0
// `hornbeam schema apply`: makes a store from a description, or brings an existing one up to it.

import Hornbeam
import HornbeamTree

enum SchemaApplyCommand {
    static let declaration = CommandDeclaration(
        path: ["schema", "apply"],
        summary: "create or extend entity types from a JSON file",
        discussion: "Makes the store if there is none. New types are added; to types that are there columns, indexes "
            + "and relations can be added and indexes be left out; indexes are built from the rows. Anything else "
            + "is refused, and the store stays as it was. Types that the file doesn't name stay. Rows that are older "
            + "than a column have null there: the defaults of Swift models are not known here.\n"
            + "Column types: bool, int8 to int64, uint8 to uint64, float, double, date, uuid, string, url, data, "
            + "decimal, json; with ? if they may be null, in [ ] for arrays. Kinds of index: value, unique, hash, "
            + "text.",
        operands: [
            .store,
            OperandDeclaration(
                name: "SCHEMA", help: "the JSON file, as 'hornbeam schema --json' prints it; - is standard input"),
        ],
        examples: ["hornbeam schema apply packages.hornbeam schema.json"],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let path = arguments.operand("SCHEMA") ?? ""
        let entities = try SchemaFile.read(path)
        let (before, after) = try OpenStore.writing(arguments.file, create: true) { store in
            try store.writing { transaction in
                let before = Set(try SchemaCatalogue.load(transaction).descriptions)
                _ = try apply(entities, from: path, transaction, console)
                let after = Set(try SchemaCatalogue.load(transaction).descriptions)
                try transaction.commit()
                return (before, after)
            }
        }
        let changed = after.subtracting(before).count
        try console.print(
            changed == 0
                ? "nothing to do: the store has \(Spelling.counted(after.count, "entity type"))"
                : "\(Spelling.counted(changed, "entity type")) created or changed, \(after.count) in all")
        return .ok
    }

    /// Brings the store's schema up to `entities` within a write transaction. Shows progress while indexes are built.
    static func apply(
        _ entities: [EntityDescription], from path: String, _ transaction: Transaction, _ console: Console
    ) throws -> Schema {
        let progress = Progress("building indexes", unit: "rows", console: console)
        defer { progress.clear() }
        do {
            let schema = try SchemaCatalogue.open(
                entities, in: transaction,
                progress: { step in
                    let fraction = step.total > 0 ? Double(step.done) / Double(step.total) : nil
                    progress.update(count: UInt64(step.done), fraction: fraction)
                })
            guard let schema else { throw CommandError("the schema of the store couldn't be changed") }
            return schema
        } catch let error as HornbeamError {
            throw CommandError("\(path): \(error)")
        }
    }
}
