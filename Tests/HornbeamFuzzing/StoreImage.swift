// SPDX-License-Identifier: Apache-2.0
// A small store's file, and hostile variants of it: bytes changed at chosen places, with checksums made right again, so
// that what a fuzzer changes gets past the first gate and meets the checks behind it.

import CXXHash
import Glibc
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree

/// The file of a store with trees of several shapes and a journal that is not yet empty.
struct StoreImage {
    private(set) var bytes: [UInt8]
    /// Number and size of every page with a right checksum.
    private let pages: [(number: Int, size: Int)]

    static let sector = 4096

    init() throws(StorageError) {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk)
        let first = try store.beginWrite()
        for (name, count) in [("short", 40), ("deep", 900), ("long", 6)] {
            guard let tree = try first.tree(name, create: true) else { continue }
            for index in 0..<count {
                let size = name == "long" ? 5_000 * (index + 1) : 20 + index % 90
                let key = Array("\(name)/\(index &* 7919 % 10_007)".utf8)
                try first.put(tree, key, [UInt8](repeating: UInt8(index & 255), count: size))
            }
        }
        try first.commit()
        try store.checkpoint()
        for round in 0..<3 {
            let more = try store.beginWrite()
            guard let tree = try more.tree("short", create: true) else { continue }
            try more.put(tree, Array("more \(round)".utf8), Array("value".utf8))
            try more.commit()
        }
        bytes = disk.killedImage() ?? []
        pages = Self.pages(in: bytes)
    }

    private static func pages(in bytes: [UInt8]) -> [(number: Int, size: Int)] {
        bytes.withUnsafeBytes { all in
            stride(from: 0, to: all.count / sector, by: 1).compactMap { number in
                let start = number * sector
                let sectors = Int(all.loadUnaligned(fromByteOffset: start + 20, as: UInt32.self))
                guard sectors > 0, sectors <= 64, start + sectors * sector <= all.count else { return nil }
                let size = sectors * sector
                let page = UnsafeRawBufferPointer(rebasing: all[start..<start + size])
                let right = page.loadUnaligned(as: UInt64.self) == checksum(page, from: 8, seed: UInt64(number))
                return right ? (number, size) : nil
            }
        }
    }

    private static func checksum(_ page: UnsafeRawBufferPointer, from start: Int, seed: UInt64) -> UInt64 {
        XXH3_64bits_withSeed(page.baseAddress.map { $0 + start }, page.count - start, seed)
    }

    /// Changes bytes as `input` says, four bytes a change: where (a part to change, an offset in it) and to what; then
    /// makes the checksums right, unless the first byte is odd.
    mutating func mutate(_ input: UnsafeRawBufferPointer) {
        guard let mode = input.first, !pages.isEmpty else { return }
        var place = 1
        while place + 4 <= input.count {
            let part = Int(input[place])
            let offset = Int(input[place + 1]) << 8 | Int(input[place + 2])
            let (start, size) = target(part)
            bytes[start + offset % size] ^= input[place + 3]
            place += 4
        }
        if mode & 1 == 0 { repair() }
    }

    /// A header slot, the journal's beginning, or one of the pages.
    private func target(_ part: Int) -> (start: Int, size: Int) {
        switch part {
        case 0, 1: return (part * Self.sector, 256)
        case 2: return (4 * Self.sector, 8 * Self.sector)
        default:
            let page = pages[part % pages.count]
            return (page.number * Self.sector, page.size)
        }
    }

    private mutating func repair() {
        let pages = self.pages
        bytes.withUnsafeMutableBytes { all in
            for page in pages {
                let start = page.number * Self.sector
                let content = UnsafeRawBufferPointer(rebasing: all[start..<start + page.size])
                let sum = Self.checksum(content, from: 8, seed: UInt64(page.number))
                all.storeBytes(of: sum, toByteOffset: start, as: UInt64.self)
            }
            for slot in 0..<2 {
                let start = slot * Self.sector
                let content = UnsafeRawBufferPointer(rebasing: all[start..<start + Self.sector])
                all.storeBytes(
                    of: Self.checksum(content, from: 16, seed: 0), toByteOffset: start + 8, as: UInt64.self)
            }
        }
    }
}
