// SPDX-License-Identifier: Apache-2.0
// `hornbeam tree scan`: the raw entries of one tree, for looking beneath the entities.

import Hornbeam
import HornbeamPages
import HornbeamTree

enum TreeScanCommand {
    static let declaration = CommandDeclaration(
        path: ["tree", "scan"],
        summary: "print the entries of a tree",
        discussion: "Keys and values that read as text are printed in quotes, others in hexadecimal after 0x; KEY "
            + "takes the same forms, and plain text. In a pipe a tab stands between key and value.",
        operands: [.store, OperandDeclaration(name: "TREE", help: "a tree of the store (hornbeam tree ls FILE)")],
        options: [
            .value("from", nil, "KEY", "begin with the first key that is not less"),
            .value("to", nil, "KEY", "end before this key"),
            .value("prefix", "p", "KEY", "only keys that begin so"),
            .value("limit", "n", "COUNT", "at most so many entries"),
            .flag("reverse", "r", "from the last key to the first"),
            .flag("keys-only", "k", "no values"),
            .flag("hex", "x", "everything in hexadecimal"),
            .flag("count", "c", "only the number of entries; not one is read"),
        ],
        examples: [
            "hornbeam tree scan packages.hornbeam e:Package --limit 5",
            "hornbeam tree scan store.hornbeam words --prefix data --keys-only",
        ],
        run: run)

    /// Bounds of a scan: [from, to). An empty key leaves that end open.
    struct Bounds: Equatable {
        var from: [UInt8] = []
        var to: [UInt8] = []
    }

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let bounds = try bounds(arguments)
        let limit = try arguments.number("limit", 0...Int.max) ?? .max
        try OpenStore.snapshot(arguments.file) { transaction in
            let name = arguments.operand("TREE") ?? ""
            guard let tree = try transaction.tree(name) else {
                let hint = NearestName.hint(name, among: try transaction.treeNames())
                throw CommandError("there is no tree “\(name)”: \(hint ?? "hornbeam tree ls lists the trees")")
            }
            if arguments.has("count") {
                try console.print("\(try transaction.count(tree, from: bounds.from, to: bounds.to))")
            } else {
                try scan(transaction, tree, bounds, limit, arguments, console)
            }
        }
        return .ok
    }

    private static func bounds(_ arguments: Arguments) throws -> Bounds {
        try arguments.forbid("prefix", with: "from")
        try arguments.forbid("prefix", with: "to")
        if let prefix = try key("prefix", arguments) { return self.bounds(ofPrefix: prefix) }
        return Bounds(from: try key("from", arguments) ?? [], to: try key("to", arguments) ?? [])
    }

    private static func key(_ option: String, _ arguments: Arguments) throws -> [UInt8]? {
        guard let text = arguments.value(option) else { return nil }
        guard let bytes = KeyText.parse(text) else {
            throw UsageError("--\(option) is “\(text)”", hint: "hexadecimal needs an even number of digits after 0x")
        }
        return bytes
    }

    /// Returns the range of all keys that begin with `prefix`. Its end is the prefix without the bytes 0xFF at its end,
    /// and with the last byte before them raised.
    static func bounds(ofPrefix prefix: [UInt8]) -> Bounds {
        var end = prefix
        while let last = end.popLast() {
            if last < 0xFF {
                end.append(last + 1)
                break
            }
        }
        return Bounds(from: prefix, to: end)
    }

    private static func scan(
        _ transaction: Transaction, _ tree: TreeID, _ bounds: Bounds, _ limit: Int, _ arguments: Arguments,
        _ console: Console
    ) throws {
        let hex = arguments.has("hex")
        let keysOnly = arguments.has("keys-only")
        let backward = arguments.has("reverse")
        let width = console.outputWidth
        var cursor = try transaction.cursor(tree)
        var found = try backward ? start(atEndOf: bounds, &cursor) : startForward(bounds, &cursor)
        var printed = 0
        while found, printed < limit, isInside(cursor.key, bounds) {
            var line = KeyText.show(cursor.key, hexOnly: hex)
            if !keysOnly { line += (width == nil ? "\t" : "  ") + KeyText.show(cursor.value, hexOnly: hex) }
            try console.print(width.map { DisplayWidth.truncate(line, to: $0) } ?? line)
            printed += 1
            found = try backward ? cursor.previous() : cursor.next()
        }
    }

    private static func startForward(_ bounds: Bounds, _ cursor: inout Cursor) throws -> Bool {
        try bounds.from.isEmpty ? cursor.first() : cursor.seek(bounds.from)
    }

    /// Moves to the last entry before the end of the range.
    private static func start(atEndOf bounds: Bounds, _ cursor: inout Cursor) throws -> Bool {
        if bounds.to.isEmpty { return try cursor.last() }
        guard try cursor.seekLast(bounds.to) else { return false }
        return bounds.to.withBytes { cursor.key.order($0) == 0 } ? try cursor.previous() : true
    }

    private static func isInside(_ key: Bytes, _ bounds: Bounds) -> Bool {
        let isBelow = bounds.to.isEmpty || bounds.to.withBytes { key.order($0) < 0 }
        return isBelow && bounds.from.withBytes { key.order($0) >= 0 }
    }
}
