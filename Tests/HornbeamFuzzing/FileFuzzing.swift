// SPDX-License-Identifier: Apache-2.0
// Fuzz target: a hostile file. Opening it, reading all of it, checking it and writing to it may give typed errors and
// nothing else: no trap, no endless loop, no read outside the file.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree

/// The pristine image, made once.
private let pristine: StoreImage? = try? StoreImage()

/// Opens a store file that `input` has damaged, and uses all of it.
public func fuzzFile(_ input: UnsafeRawBufferPointer) {
    guard var image = pristine else { preconditionFailure("the pristine store can't be made") }
    image.mutate(input)
    do throws(StorageError) {
        let disk = try SimulatedDisk(image: image.bytes)
        let store = try TreeStore.open(file: disk)
        defer { try? store.close() }
        readAll(store)
        _ = try store.check { _ in }
        try change(store)
    } catch {
        // A typed error is what a damaged file should give.
    }
}

private func readAll(_ store: TreeStore) {
    do throws(StorageError) {
        let transaction = try store.beginRead()
        defer { transaction.abort() }
        for name in try transaction.treeNames() {
            guard let tree = try transaction.tree(name) else { continue }
            try walk(transaction, tree)
        }
    } catch {}
}

private func walk(_ transaction: Transaction, _ tree: TreeID) throws(StorageError) {
    var cursor = try transaction.cursor(tree)
    // A tree of a file this small has few entries: many more would be a loop.
    var left = 100_000
    var sum = 0
    var isOn = try cursor.first()
    while isOn {
        sum &+= cursor.key.reduce(0) { $0 &+ Int($1) }
        sum &+= cursor.value.reduce(0) { $0 &+ Int($1) }
        _ = try transaction.get(tree, Array(cursor.key))
        left -= 1
        precondition(left > 0, "a walk that does not end")
        isOn = try cursor.next()
    }
    isOn = try cursor.last()
    while isOn, left > 0 {
        left -= 1
        isOn = try cursor.previous()
    }
    _ = try cursor.seek(index: try transaction.count(tree) / 2)
}

private func change(_ store: TreeStore) throws(StorageError) {
    let transaction = try store.beginWrite()
    defer { transaction.abort() }
    for name in ["short", "deep", "long"] {
        guard let tree = try transaction.tree(name, create: true) else { continue }
        for index in 0..<30 {
            let key = Array("\(name)/\(index &* 7919 % 10_007)".utf8)
            if index % 3 == 0 {
                _ = try transaction.delete(tree, key)
            } else {
                try transaction.put(tree, key, [UInt8](repeating: 7, count: index * 40))
            }
        }
    }
    try transaction.commit()
}
