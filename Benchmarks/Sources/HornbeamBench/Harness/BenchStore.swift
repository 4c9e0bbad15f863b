// SPDX-License-Identifier: Apache-2.0
// A store with one tree, for the cases that measure Hornbeam alone: random entries, and the figures of the store and
// the system.

import BenchHarness
import CHornbeam
import Foundation

final class BenchStore {
    let store: OpaquePointer?
    private var tree: hb_tree = 0
    private var value = [UInt8](repeating: 7, count: BenchStore.entryBytes - 16)

    /// Bytes of a key and a value that `put` makes.
    static let entryBytes = 116
    static let treeName = "bench"

    /// Zeros select the defaults.
    init(path: String, cacheBytes: UInt64 = 0) throws {
        var options = hb_options()
        options.struct_size = MemoryLayout<hb_options>.size
        options.cache_bytes = cacheBytes
        var store: OpaquePointer?
        try HornbeamEngine.check(hb_open(path, &options, &store))
        self.store = store
        var tree: hb_tree = 0
        try change {
            try HornbeamEngine.check(hb_tree_open($0, Self.treeName, UInt32(HB_TREE_CREATE), &tree))
        }
        self.tree = tree
    }

    /// Makes a change in one transaction.
    func change(durability: Int = HB_DURABLE_FULL, _ body: (OpaquePointer?) throws -> Void) throws {
        var transaction: OpaquePointer?
        try HornbeamEngine.check(hb_begin(store, UInt32(HB_WRITE), &transaction))
        do {
            try HornbeamEngine.check(hb_durability(transaction, UInt32(durability)))
            try body(transaction)
        } catch {
            hb_abort(transaction)
            throw error
        }
        try HornbeamEngine.check(hb_commit(transaction))
    }

    func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in transaction: OpaquePointer?) throws {
        try HornbeamEngine.check(
            hb_put(
                transaction, tree, hb_slice(data: key.baseAddress, size: key.count),
                hb_slice(data: value.baseAddress, size: value.count)))
    }

    /// Puts 100 bytes under each of the numbers' keys, in one transaction. Consecutive numbers have keys far apart,
    /// unless `inOrder` is set.
    func put(_ numbers: some Sequence<Int>, durability: Int = HB_DURABLE_FULL, inOrder: Bool = false) throws {
        try change(durability: durability) { transaction in
            for number in numbers {
                var random = SplitMix(state: UInt64(number))
                let key = (inOrder ? 0 : random.next().bigEndian, UInt64(number).bigEndian)
                try withUnsafeBytes(of: key) { key in try value.withUnsafeBytes { try put(key, $0, in: transaction) } }
            }
        }
    }

    var figures: hb_figures {
        get throws {
            var figures = hb_figures()
            figures.struct_size = MemoryLayout<hb_figures>.size
            try HornbeamEngine.check(hb_figures_of(store, &figures))
            return figures
        }
    }

    func close() throws { try HornbeamEngine.check(hb_close(store)) }
}
