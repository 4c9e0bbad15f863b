// SPDX-License-Identifier: Apache-2.0
// `hornbeam export`: entities as JSON lines that `import` takes back exactly: all columns, relations as ids.

import Hornbeam
import HornbeamTree

enum ExportCommand {
    static let declaration = CommandDeclaration(
        path: ["export"],
        summary: "print entities as JSON lines",
        discussion: "All columns and the ids of relations, in the order of the rows, as of one moment; 'hornbeam "
            + "import' takes it back exactly. A file named by --output appears whole or not at all. --force replaces a "
            + "file that is there, but never a store; pipes and devices are written into.\n"
            + QueryCommand.conditionHelp,
        operands: [.store, .type],
        options: [
            QueryCommand.whereOption, QueryCommand.paramOption, QueryCommand.setOption,
            .value("output", "o", "PATH", "write to this file; - is standard output"),
            .flag("force", "f", "replace a file that is there"),
        ],
        examples: [
            "hornbeam export packages.hornbeam Package -o packages.jsonl",
            "hornbeam export packages.hornbeam Package --where \"section = 'net'\" | gzip > net.jsonl.gz",
        ],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let progress = Progress("exporting \(arguments.type)", unit: "entities", console: console)
        defer { progress.clear() }
        let target = try arguments.value("output").flatMap { try OutputFile.open($0, replaces: arguments.has("force")) }
        // A signal must not leave the hidden file behind. It simply ends output into a pipe or a device.
        if target?.isPartial == true { Interruption.watch() }
        let count = try OpenStore.snapshot(arguments.file) { transaction in
            let schema = try SchemaCatalogue.load(transaction)
            let type = try Selection.type(arguments.type, in: schema.descriptions)
            let core = StoreTransaction(transaction, schema: schema)
            let entities = try QueryCommand.entities(EntityQuery(type: type.name), core, arguments)
            return try export(entities, try JSONRows(type.name, core: core), progress) { line in
                try target?.sink.write(line.utf8) ?? console.write(console.harmlessJSON(line))
            }
        }
        if Interruption.isRequested {
            progress.clear()
            console.remark("interrupted: no file was written")
            return .interrupted
        }
        try target?.finish()
        progress.finish(
            "exported \(Spelling.counted(count, "\(arguments.type) entity", "\(arguments.type) entities")) in "
                + Spelling.time(progress.elapsed))
        return .ok
    }

    private static func export(
        _ entities: FilteredEntities, _ rows: JSONRows, _ progress: Progress, _ write: (String) throws -> Void
    ) throws -> UInt64 {
        let total = Double(max(1, try entities.candidates()))
        var count: UInt64 = 0
        try entities.forEach { rowID, row, _ in
            try write(try rows.line(rowID, row) + "\n")
            count += 1
            progress.update(count: count, fraction: min(1, Double(count) / total))
            return !Interruption.isRequested
        }
        return count
    }
}
