// SPDX-License-Identifier: Apache-2.0
// A load in one transaction, larger than its memory limit: the peak of the process's anonymous memory, the time, and
// the size of the file.
//
//     hornbeam-bench load MEBIBYTES [--cache MEBIBYTES] [--order sorted|random] [--seed NUMBER]

import BenchHarness
import Foundation

/// Entries of 16-byte keys and 1,000-byte values, generated when they are put, so that they take no memory.
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
            throw BenchError("load needs a number of mebibytes")
        }
        self.init(
            bytes: mebibytes << 20, cacheBytes: try arguments.number("cache", 64, least: 1) << 20,
            isSorted: arguments.text("order") != "random", seed: UInt64(try arguments.number("seed", 1)))
    }

    func run(at path: String) throws {
        let store = try BenchStore(path: path, cacheBytes: UInt64(cacheBytes))
        let before = Machine.resident.anonymous
        var most = before
        let start = ContinuousClock.now
        var putting = Duration.zero
        let count = bytes / (Self.keySize + Self.valueSize)
        try store.change { transaction in
            for index in 0..<count {
                try put(index, in: store, transaction)
                if index % 4096 == 0 { most = max(most, Machine.resident.anonymous) }
            }
            putting = ContinuousClock.now - start
        }
        most = max(most, Machine.resident.anonymous)
        let whole = ContinuousClock.now - start
        try store.close()
        let size = (try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
        print(
            "\(count) entries, \(bytes >> 20) MiB, \(isSorted ? "sorted" : "random") order, "
                + "\(cacheBytes >> 20) MiB for pages: \(putting) to put, \(whole) with the commit; anonymous memory "
                + "\(before >> 20) MiB before, at most \(most >> 20) MiB; file \(size >> 20) MiB")
    }

    private func put(_ index: Int, in store: BenchStore, _ transaction: OpaquePointer?) throws {
        var random = SplitMix(state: seed &+ UInt64(index))
        // Each number occurs once: an odd factor permutes the 64-bit numbers.
        let number = isSorted ? UInt64(index) : UInt64(index) &* 0x9E37_79B9_7F4A_7C15
        try withUnsafeTemporaryAllocation(byteCount: Self.keySize + Self.valueSize, alignment: 8) { entry in
            entry.storeBytes(of: number.bigEndian, as: UInt64.self)
            for place in stride(from: 8, to: entry.count, by: 8) {
                entry.storeBytes(of: random.next(), toByteOffset: place, as: UInt64.self)
            }
            try store.put(
                UnsafeRawBufferPointer(rebasing: entry[..<Self.keySize]),
                UnsafeRawBufferPointer(rebasing: entry[Self.keySize...]), in: transaction)
        }
    }
}
