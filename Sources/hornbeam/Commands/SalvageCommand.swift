// SPDX-License-Identifier: Apache-2.0
// `hornbeam salvage`: copies the readable parts of a damaged store to a new one, and lists the unreadable ones.

import Hornbeam
import HornbeamTree

enum SalvageCommand {
    static let declaration = CommandDeclaration(
        path: ["salvage"],
        summary: "save what is readable of a damaged store",
        discussion: "Reads all that is still readable of a store, also of one that can't be opened any more, and "
            + "writes it to a new store. The damaged file is not changed. What is lost is listed: exit code 1 if "
            + "anything is. A tree whose name is lost is called recovered-1, recovered-2 and so on.",
        operands: [.store, OperandDeclaration(name: "NEW", help: "the new file")],
        examples: ["hornbeam salvage packages.hornbeam saved.hornbeam"],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let progress = Progress("salvaging", unit: "entries", console: console)
        let target = arguments.operand("NEW") ?? ""
        let report = try Salvage.run(from: arguments.file, to: target, encryption: StoreKeyFile.current) { found in
            progress.update(count: found, fraction: nil)
        }
        progress.clear()
        for loss in report.losses { try console.print(DisplayWidth.printable(loss)) }
        let trees = Spelling.counted(report.trees.count, "tree")
        let entries = Spelling.counted(report.found, "entry", "entries")
        let commits = Spelling.counted(report.commits, "commit")
        try console.print(
            "\(trees) with \(entries) saved" + (report.commits > 0 ? ", \(commits) of the journal with them" : "")
                + (report.isWhole ? ", nothing is lost" : ""))
        return report.isWhole ? .ok : .failure
    }
}
