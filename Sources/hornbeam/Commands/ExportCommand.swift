// SPDX-License-Identifier: Apache-2.0
// `hornbeam export`: entities as JSON lines that `import` takes back exactly: all columns, relations as ids.

import Glibc
import Hornbeam
import HornbeamPages
import HornbeamTree

enum ExportCommand {
    static let declaration = CommandDeclaration(
        path: ["export"],
        summary: "print entities as JSON lines",
        discussion: "All columns and the ids of relations, in the order of the rows, as of one moment; 'hornbeam "
            + "import' takes it back exactly. A file named by --output appears whole or not at all.\n"
            + QueryCommand.filterHelp,
        operands: [.store, .type],
        options: [QueryCommand.whereOption, .value("output", "o", "PATH", "write to this file")],
        examples: [
            "export packages.hornbeam Package -o packages.jsonl",
            "export packages.hornbeam Package --where 'section == \"net\"' | gzip > net.jsonl.gz",
        ],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let progress = Progress("exporting \(arguments.type)", unit: "entities", console: console)
        defer { progress.clear() }
        let target = try arguments.value("output").map { try FileTarget($0) }
        let count = try OpenStore.snapshot(arguments.file) { transaction in
            let schema = try SchemaCatalogue.load(transaction)
            let type = try Selection.type(arguments.type, in: schema.descriptions)
            let query = EntityQuery(
                type: type.name, filter: try QueryCommand.filter(arguments, try schema.type(type.name)))
            let session = EntitySession(transaction, schema: schema)
            return try export(query, session, progress) { line in
                try target?.sink.write(line) ?? console.write(line)
            }
        }
        try target?.finish()
        progress.finish(
            "exported \(Spelling.counted(count, "\(arguments.type) entity", "\(arguments.type) entities")) in "
                + Spelling.time(progress.elapsed))
        return .ok
    }

    private static func export(
        _ query: EntityQuery, _ session: EntitySession, _ progress: Progress, _ write: (String) throws -> Void
    ) throws -> UInt64 {
        let rows = try JSONRows(query.type, session: session)
        let total = Double(max(1, try session.explain(query).candidates))
        var count: UInt64 = 0
        try session.forEach(query) { rowID, row, _ in
            try write(try rows.line(rowID, row) + "\n")
            count += 1
            progress.update(count: count, fraction: min(1, Double(count) / total))
            return true
        }
        return count
    }
}

/// A file that appears under its name when it is complete.
private final class FileTarget {
    let sink: ByteSink
    private let path: String
    private let partialPath: String
    private let descriptor: Int32
    private var isFinished = false

    init(_ path: String) throws(StorageError) {
        self.path = path
        partialPath = path + ".partial"
        descriptor = open(partialPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        sink = ByteSink(descriptor: descriptor, path: partialPath)
        if descriptor < 0 { throw .io(operation: "open", path: partialPath, errno: errno) }
    }

    deinit {
        if descriptor >= 0 { _ = close(descriptor) }
        if descriptor >= 0, !isFinished { _ = unlink(partialPath) }
    }

    func finish() throws(StorageError) {
        try sink.flush()
        if fsync(descriptor) != 0 { throw .io(operation: "fsync", path: partialPath, errno: errno) }
        if rename(partialPath, path) != 0 { throw .io(operation: "rename", path: path, errno: errno) }
        isFinished = true
    }
}
