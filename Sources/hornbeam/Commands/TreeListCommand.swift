// SPDX-License-Identifier: Apache-2.0
// `hornbeam tree ls`: the named trees of a store with their counts.

import Hornbeam
import HornbeamTree

enum TreeListCommand {
    static let declaration = CommandDeclaration(
        path: ["tree", "ls"],
        summary: "list the trees of a store",
        discussion: "Every store is a set of named trees: rows, ids, indexes and edges of entities, and whatever a "
            + "program keeps in trees of its own.",
        operands: [.store],
        examples: ["hornbeam tree ls packages.hornbeam"],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        try OpenStore.snapshot(arguments.file) { transaction in
            var table = console.table([TableColumn(title: "tree"), TableColumn(title: "entries", alignment: .right)])
            for name in try transaction.treeNames() {
                guard let tree = try transaction.tree(name) else { continue }
                try table.add([name, Spelling.grouped(try transaction.count(tree))])
            }
            try table.finish()
        }
        return .ok
    }
}
