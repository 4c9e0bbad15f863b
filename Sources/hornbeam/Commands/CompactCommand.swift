// SPDX-License-Identifier: Apache-2.0
// `hornbeam compact`: gives a store's free space back to the file system, in place.

import Hornbeam
import HornbeamTree

enum CompactCommand {
    static let declaration = CommandDeclaration(
        path: ["compact"],
        summary: "return a store's free space to the file system",
        discussion: "Moves the last pages of the file to free places before them and cuts the file off, in short "
            + "steps. It can be stopped at any moment; the next time goes on from there. A program that has the store "
            + "open for writing can do the same beside its own work.",
        operands: [.store],
        examples: ["hornbeam compact packages.hornbeam"],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let progress = Progress("compacting", unit: "bytes moved", console: console)
        let result = try OpenStore.writing(arguments.file, create: false) { store in
            try store.compact { figures in
                let total = max(figures.totalBytes, 1)
                progress.update(
                    count: figures.movedBytes, fraction: min(1, Double(figures.movedBytes) / Double(total)))
                return true
            }
        }
        progress.clear()
        let before = Spelling.bytes(result.bytesBefore)
        try console.print(
            result.bytesAfter < result.bytesBefore
                ? "\(before) before, \(Spelling.bytes(result.bytesAfter)) now"
                : "nothing to do: the file has \(before)")
        return .ok
    }
}
