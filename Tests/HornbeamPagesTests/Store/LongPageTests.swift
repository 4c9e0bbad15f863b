// SPDX-License-Identifier: Apache-2.0
// A long value's page: the places of its bytes, and that damage to any of them is found and named.

import Glibc
import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("Long value pages")
struct LongPageTests {
    /// A sealed page with a value of `size` bytes.
    private func page(_ size: UInt64, number: UInt64 = 77) -> [UInt8] {
        var random = SeededGenerator()
        var page = [UInt8](repeating: 0, count: Int(LongPage.sectors(size, isSealed: false)) * 4096)
        page.withUnsafeMutableBytes { page in
            guard let start = page.baseAddress else { return }
            PageHeader.write(
                to: start, birth: 5, kind: .longValue, level: 0, sectors: LongPage.sectors(size, isSealed: false))
            LongPage.setSize(size, of: start)
            let value = random.bytes(Int(size))
            for (index, byte) in value.enumerated() {
                start.storeBytes(
                    of: byte, toByteOffset: LongPage.dataOffset(size, isSealed: false) + index, as: UInt8.self)
            }
            PageHeader.seal(page, number: number)
        }
        return page
    }

    private func isRight(_ page: [UInt8], number: UInt64 = 77) -> Bool {
        page.withUnsafeBytes { page in
            guard let start = page.baseAddress else { return false }
            return PageHeader(reading: start).checksum == PageHeader.checksum(of: page, number: number)
                && LongPage.problem(page, number: number) == nil
        }
    }

    @Test("The value comes after header, size and a checksum for each 64 KiB")
    func layout() {
        #expect(LongPage.dataOffset(0, isSealed: false) == 32)
        #expect(LongPage.dataOffset(1, isSealed: false) == 40)
        #expect(LongPage.dataOffset(65_536, isSealed: false) == 40)
        #expect(LongPage.dataOffset(65_537, isSealed: false) == 48)
        #expect(LongPage.sectors(4056, isSealed: false) == 1)
        #expect(LongPage.sectors(4057, isSealed: false) == 2)
        #expect(LongPage.sectors((1 << 32) - 1, isSealed: false) == FileFormat.maximumPageSectors)
    }

    @Test(
        "A flipped bit is found wherever it is", .seeded,
        arguments: [UInt64(0), 1, 4056, 4057, 65_536, 65_537, 200_000])
    func flips(size: UInt64) {
        var random = SeededGenerator()
        let whole = page(size)
        #expect(isRight(whole))
        #expect(!isRight(whole, number: 78))
        let end = LongPage.dataOffset(size, isSealed: false) + Int(size)
        for place in Array(0..<min(64, end)) + (0..<40).map({ _ in random.below(end) }) {
            var damaged = whole
            damaged[place] ^= UInt8(1 << random.below(8))
            #expect(!isRight(damaged), "byte \(place)")
        }
    }

    @Test("A size that doesn't fit the page is a problem and is not used for reading")
    func sizes() {
        for size: UInt64 in [1, 4057, 1 << 32, .max, .max - 4096] {
            var page = page(4000)
            page.withUnsafeMutableBytes { page in
                guard let start = page.baseAddress else { return }
                LongPage.setSize(size, of: start)
                PageHeader.seal(page, number: 77)
            }
            // One byte needs as many sectors as 4,000: such a page is valid, but has another value.
            #expect(isRight(page) == (size == 1))
        }
    }

    private func write(_ size: Int, _ writer: PageWriter) throws -> LongPageWriter {
        let long = try LongPageWriter(writer, size: UInt64(size))
        try [UInt8](repeating: 7, count: size).withBytes { try long.append($0) }
        try long.finish()
        return long
    }

    /// A long value is written to its place before the commit. The transaction after an abort got the same number,
    /// and could get the same place: if one of its own writes was lost, a page of the aborted transaction, whole and
    /// with the right birth, could pass for it. Now the number isn't used again.
    @Test("The number of an aborted transaction with a long value is not used again")
    func number() throws {
        let store = try Toy.open(try SimulatedDisk())
        let first = try store.beginWrite()
        let birth = try write(5000, first).birth
        first.abort()
        let second = try store.beginWrite()
        #expect(second.birth > birth)
        second.abort()
    }

    /// Both ways of writing ahead of the commit continued after a failure whose outcome is unknown.
    @Test("Nothing is written ahead of the commit once the store has failed")
    func afterFailure() throws {
        let disk = try SimulatedDisk()
        let store = try Toy.open(disk)
        let writer = try store.beginWrite()
        try Toy.apply(ToyChange(cell: 1, value: 1), writer)
        let cause = StorageError.io(operation: "sync", path: disk.path, errno: EIO)
        _ = store.pipeline.fail(cause)
        let calls = disk.calls
        #expect(throws: StorageError.failed(cause: cause)) { try writer.spill() }
        #expect(throws: StorageError.failed(cause: cause)) { _ = try write(5000, writer) }
        #expect(disk.calls == calls)
        writer.abort()
    }
}
