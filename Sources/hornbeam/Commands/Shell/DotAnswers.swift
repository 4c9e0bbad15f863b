// SPDX-License-Identifier: Apache-2.0
// Dot commands that print something about the store.

import Hornbeam

enum DotAnswers {
    static func tables(_ shell: Shell, _ words: [String]) throws -> ExitCode {
        guard words.isEmpty else { throw UsageError(".tables takes nothing", hint: ".schema TYPE shows a type") }
        let types = try StoreSummary.read(shell.file).entityTypes
        try shell.console.paged {
            var table = shell.console.table([
                TableColumn(title: "entity type"), TableColumn(title: "entities", alignment: .right),
                TableColumn(title: "indexes", alignment: .right),
            ])
            for type in types {
                try table.add([type.name, Spelling.grouped(type.entities), "\(type.indexes.count)"])
            }
            try table.finish()
        }
        return .ok
    }

    static func indexes(_ shell: Shell, _ words: [String]) throws -> ExitCode {
        guard words.count <= 1 else { throw UsageError(".indexes takes one type", hint: "Usage: .indexes [TYPE]") }
        var types = try StoreSummary.read(shell.file).entityTypes
        if let name = words.first {
            guard let type = types.first(where: { $0.name == name }) else {
                throw Selection.unknownType(name, among: types.map(\.name))
            }
            types = [type]
        }
        try shell.console.paged {
            var table = shell.console.table([
                TableColumn(title: "entity type"), TableColumn(title: "index"), TableColumn(title: "kind"),
                TableColumn(title: "entries", alignment: .right), TableColumn(title: "columns"),
            ])
            for type in types {
                for index in type.indexes {
                    try table.add([type.name, index.name, index.kind, Spelling.grouped(index.entries), index.columns])
                }
            }
            try table.finish()
        }
        return .ok
    }
}
