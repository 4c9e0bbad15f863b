// SPDX-License-Identifier: Apache-2.0
// `hornbeam backup`: a verified copy of a store, whole or not at all.

import Hornbeam
import HornbeamTree

enum BackupCommand {
    static let declaration = CommandDeclaration(
        path: ["backup"],
        summary: "copy a store, verifying every page",
        discussion: "Writes a copy without gaps to a new file, which gets its name only once it is whole and durable. "
            + "A page that can't be read ends it with an error; 'hornbeam salvage' saves what is left then. Ctrl-C "
            + "ends it and leaves no file.",
        operands: [.store, OperandDeclaration(name: "COPY", help: "the new file")],
        examples: ["hornbeam backup packages.hornbeam packages-copy.hornbeam"],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let path = arguments.operand("COPY") ?? ""
        let progress = Progress("copying", unit: "bytes", console: console)
        var figures = BackupProgress()
        Interruption.watch()
        let isWhole = try OpenStore.reading(arguments.file) { store in
            try store.backup(to: path) { now in
                figures = now
                let total = max(figures.totalBytes, 1)
                progress.update(count: figures.copiedBytes, fraction: Double(figures.copiedBytes) / Double(total))
                return !Interruption.isRequested
            }
        }
        progress.clear()
        guard isWhole else {
            console.remark("interrupted: no file was written")
            return .interrupted
        }
        try console.print("\(path): \(Spelling.bytes(figures.copiedBytes)) of pages copied and verified")
        return .ok
    }
}
