// SPDX-License-Identifier: Apache-2.0
// `hornbeam restore`: a store made of its mirror's tables.

import Hornbeam
import HornbeamPostgres

enum RestoreCommand {
    static let declaration = CommandDeclaration(
        path: ["restore"],
        summary: "make a store of its mirror in PostgreSQL",
        discussion: "Reads all tables of the mirror as of one moment. The store has the types, indexes, entities and "
            + "links of the one that was mirrored; its file appears when it is whole.",
        operands: [
            OperandDeclaration(name: "URL", help: "the PostgreSQL database"),
            OperandDeclaration(name: "FILE", help: "the new store"),
        ],
        options: [.value("schema", "s", "NAME", "the schema of the mirror in the server (hornbeam)")],
        examples: ["hornbeam restore postgresql://me@localhost/packages packages.hornbeam --schema debian"],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let path = arguments.operand("FILE") ?? ""
        let (address, schema) = (arguments.operand("URL") ?? "", arguments.value("schema") ?? "hornbeam")
        let progress = Progress("restoring", unit: "entities", console: console)
        Interruption.watch()
        let work = CommandWork<(done: Int, total: Int), RestoredStore> { tell in
            try await Database.restore(
                to: path, from: address, schema: schema, encryption: StoreKeyFile.current.map { Encryption($0) }
            ) { tell(($0, $1)) }
        }
        let restored = try work.finish { state in
            progress.update(count: UInt64(state.done), fraction: Double(state.done) / Double(max(1, state.total)))
        }
        guard let restored else { return .interrupted }
        let elapsed = progress.elapsed
        progress.clear()
        let count = restored.entities.values.reduce(0, +)
        try console.print(
            "restored \(Spelling.counted(count, "entity", "entities")) and \(Spelling.counted(restored.links, "link")) "
                + "of state \(Spelling.grouped(restored.version)) in \(Spelling.time(elapsed))")
        return .ok
    }
}
