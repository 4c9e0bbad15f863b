// SPDX-License-Identifier: Apache-2.0
// Recovery's part of the tree layer: applies a journal record's operations again, with the code that made them. The
// record's checksum was right, but nothing in it is trusted: an operation that can't be applied is reported as damage.

import HornbeamPages

extension Transaction {
    /// Applies one record with `pages` and sets the writer's root.
    static func replay(
        _ record: Bytes, with pages: PageWriter, memory: WriterMemory, names: TreeNames
    ) throws(StorageError) {
        memory.redo.begin(limit: 0)
        let writer = TreeWriter(pages: pages, memory: memory)
        let transaction = Transaction(store: nil, view: pages.view, writer: writer, names: names)
        defer { transaction.close() }
        var reader = RedoReader(record)
        while let operation = try reader.next() {
            do throws(StorageError) {
                try transaction.apply(operation)
            } catch {
                throw Self.asDamage(error)
            }
        }
        try transaction.storeRoots()
    }

    /// Turns an error into one of damage if no program could have done the operation. Returns other errors unchanged.
    private static func asDamage(_ error: StorageError) -> StorageError {
        switch error {
        case .invalid(let what): .corrupt(Corruption(reason: "a journal record can't be applied: \(what)"))
        case .tooLarge(let what, let size, let limit):
            .corrupt(Corruption(reason: "a journal record has a \(what) of \(size) bytes; the limit is \(limit)"))
        default: error
        }
    }

    private func apply(_ operation: RedoOperation) throws(StorageError) {
        let tree = TreeID(rawValue: operation.tree)
        switch operation.kind {
        case .create: try createAgain(operation.tree, Array(operation.a), operation.b)
        case .drop: _ = try dropTree(try nameAgain(tree))
        case .put:
            _ = try nameAgain(tree)
            try put(tree, operation.a, operation.b)
        case .delete:
            _ = try nameAgain(tree)
            _ = try delete(tree, operation.a)
        case .deleteRange:
            _ = try nameAgain(tree)
            _ = try deleteRange(tree, from: operation.a, to: operation.b)
        }
    }

    private func createAgain(_ number: UInt32, _ name: [UInt8], _ options: Bytes) throws(StorageError) {
        let options = try StoredOptions(journal: options)
        guard number > 0, number < .max, number >= nextTree, !name.isEmpty, name.count <= maximumName,
            try catalogueRecord(name) == nil
        else {
            throw .corrupt(
                Corruption(reason: "a journal record creates a tree whose number or name is impossible or taken"))
        }
        try createTree(name, options: options, number: number)
    }

    /// Returns the name of a tree of which only the number is known: recovery has opened no tree by name.
    private func nameAgain(_ tree: TreeID) throws(StorageError) -> String {
        if names.name(of: tree.rawValue) == nil {
            for name in try catalogueNames() {
                if let record = try catalogueRecord(name) { _ = try open(record, name) }
            }
        }
        guard let name = names.name(of: tree.rawValue) else {
            throw .corrupt(Corruption(reason: "a journal record changes tree \(tree.rawValue), which doesn't exist"))
        }
        return String(decoding: name, as: UTF8.self)
    }
}
