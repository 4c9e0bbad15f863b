// SPDX-License-Identifier: Apache-2.0
// A store with one tree for the cases that measure Hornbeam alone: random entries, and what the store and the system
// say of it.

import CHornbeam
import Foundation

final class BenchStore {
    let store: OpaquePointer?
    private var tree: hb_tree = 0
    private var value = [UInt8](repeating: 7, count: BenchStore.entryBytes - 16)

    /// Of a key and a value.
    static let entryBytes = 116

    /// `checkpointBytes`: 0 for the default.
    init(path: String, checkpointBytes: UInt64 = 0) throws {
        var options = hb_options()
        options.struct_size = MemoryLayout<hb_options>.size
        options.checkpoint_bytes = checkpointBytes
        var store: OpaquePointer?
        try Self.check(hb_open(path, &options, &store))
        self.store = store
        var transaction: OpaquePointer?
        try Self.check(hb_begin(store, UInt32(HB_WRITE), &transaction))
        try Self.check(hb_tree_open(transaction, "bench", UInt32(HB_TREE_CREATE), &tree))
        try Self.check(hb_commit(transaction))
    }

    static func check(_ code: Int32) throws {
        guard code == Int32(HB_OK) else {
            throw EngineError("hornbeam: \(hb_error().map { String(cString: $0) } ?? "error \(code)")")
        }
    }

    /// Puts 100 bytes under each of the numbers' keys, in one transaction. Numbers that follow each other lie far
    /// apart, unless `inOrder`.
    func put(_ numbers: some Sequence<Int>, durability: Int = HB_DURABLE_FULL, inOrder: Bool = false) throws {
        var transaction: OpaquePointer?
        try Self.check(hb_begin(store, UInt32(HB_WRITE), &transaction))
        try Self.check(hb_durability(transaction, UInt32(durability)))
        for number in numbers {
            var random = SplitMix(state: UInt64(number))
            let key = (inOrder ? 0 : random.next().bigEndian, UInt64(number).bigEndian)
            let code = withUnsafeBytes(of: key) { key in
                value.withUnsafeBytes { value in
                    hb_put(
                        transaction, tree, hb_slice(data: key.baseAddress, size: key.count),
                        hb_slice(data: value.baseAddress, size: value.count))
                }
            }
            try Self.check(code)
        }
        try Self.check(hb_commit(transaction))
    }

    var figures: hb_figures {
        get throws {
            var figures = hb_figures()
            figures.struct_size = MemoryLayout<hb_figures>.size
            try Self.check(hb_figures_of(store, &figures))
            return figures
        }
    }

    func close() throws { try Self.check(hb_close(store)) }
}
