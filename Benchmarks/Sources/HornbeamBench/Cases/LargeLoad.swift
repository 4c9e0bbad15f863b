// SPDX-License-Identifier: Apache-2.0
// A load in one transaction, larger than the memory it may take: how much anonymous memory the process has at most, how
// long it takes, and how large the file becomes.
//
//     hornbeam-bench load MEBIBYTES [--cache MEBIBYTES] [--order sorted|random] [--seed NUMBER]

import CHornbeam
import Foundation

/// Entries of 16-byte keys and 1,000-byte values, made as they are put: they take no memory of their own.
struct LargeLoad {
    static let keySize = 16
    static let valueSize = 1000

    let bytes: Int
    let cacheBytes: Int
    let isSorted: Bool
    let seed: UInt64

    init(bytes: Int, cacheBytes: Int, isSorted: Bool, seed: UInt64) {
        self.bytes = bytes
        self.cacheBytes = cacheBytes
        self.isSorted = isSorted
        self.seed = seed
    }

    init(_ arguments: [String]) throws {
        let arguments = try Arguments(arguments, options: ["cache", "order", "seed"])
        guard let mebibytes = arguments.words.first.flatMap({ Int($0) }), mebibytes > 0 else {
            throw EngineError("load needs a number of mebibytes")
        }
        self.init(
            bytes: mebibytes << 20, cacheBytes: try arguments.number("cache", 64) << 20,
            isSorted: arguments.text("order") != "random", seed: UInt64(try arguments.number("seed", 1)))
    }

    func run(at path: String) throws {
        var options = hb_options()
        options.struct_size = MemoryLayout<hb_options>.size
        options.cache_bytes = UInt64(cacheBytes)
        var store: OpaquePointer?
        try check(hb_open(path, &options, &store))
        var transaction: OpaquePointer?
        try check(hb_begin(store, UInt32(HB_WRITE), &transaction))
        var tree: hb_tree = 0
        try check(hb_tree_open(transaction, "load", UInt32(HB_TREE_CREATE), &tree))
        let before = Machine.resident.anonymous >> 10
        var most = before
        let start = ContinuousClock.now
        let count = bytes / (Self.keySize + Self.valueSize)
        for index in 0..<count {
            try put(index, transaction, tree)
            if index % 4096 == 0 { most = max(most, Machine.resident.anonymous >> 10) }
        }
        let putting = ContinuousClock.now - start
        try check(hb_commit(transaction))
        most = max(most, Machine.resident.anonymous >> 10)
        let whole = ContinuousClock.now - start
        try check(hb_close(store))
        let size = (try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
        print(
            "\(count) entries, \(bytes >> 20) MiB, \(isSorted ? "sorted" : "random") order, "
                + "\(cacheBytes >> 20) MiB for pages: \(putting) to put, \(whole) with the commit; anonymous memory "
                + "\(before / 1024) MiB before, at most \(most / 1024) MiB; file \(size >> 20) MiB")
    }

    private func put(_ index: Int, _ transaction: OpaquePointer?, _ tree: hb_tree) throws {
        var random = SplitMix(state: seed &+ UInt64(index))
        // Each number once: an odd factor permutes the 64-bit numbers.
        let number = isSorted ? UInt64(index) : UInt64(index) &* 0x9E37_79B9_7F4A_7C15
        let code = withUnsafeTemporaryAllocation(byteCount: Self.keySize + Self.valueSize, alignment: 8) { entry in
            entry.storeBytes(of: number.bigEndian, as: UInt64.self)
            for place in stride(from: 8, to: entry.count, by: 8) {
                entry.storeBytes(of: random.next(), toByteOffset: place, as: UInt64.self)
            }
            return hb_put(
                transaction, tree, hb_slice(data: entry.baseAddress, size: Self.keySize),
                hb_slice(data: entry.baseAddress.map { UnsafeRawPointer($0 + Self.keySize) }, size: Self.valueSize))
        }
        try check(code)
    }

    private func check(_ code: Int32) throws {
        guard code == Int32(HB_OK) else {
            throw EngineError("hornbeam: \(hb_error().map { String(cString: $0) } ?? "error \(code)")")
        }
    }
}
