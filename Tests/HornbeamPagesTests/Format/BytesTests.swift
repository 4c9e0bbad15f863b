// SPDX-License-Identifier: Apache-2.0
// The order of keys in all trees: that of memcmp, a prefix first, with any bytes around them.

import Glibc
import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("Bytes")
struct BytesTests {
    @Test("are ordered as by memcmp at every size and wherever they differ")
    func order() {
        var random = SeededGenerator(seed: 5)
        for size in 0...80 {
            for otherSize in [size, size + 1, size + 9] {
                for round in 0..<40 {
                    let left = random.bytes(size)
                    var right = left + random.bytes(otherSize - size)
                    if round > 0, size > 0 { right[random.below(size)] = UInt8.random(in: 0...255, using: &random) }
                    let expected = left.lexicographicallyPrecedes(right) ? -1 : left == right ? 0 : 1
                    let order = left.withUnsafeBytes { a in right.withUnsafeBytes { a.order($0) } }
                    let reverse = left.withUnsafeBytes { a in right.withUnsafeBytes { $0.order(a) } }
                    #expect(order.signum() == expected && reverse.signum() == -expected, "\(left) \(right)")
                }
            }
        }
    }

    @Test("are compared without reading beyond their end")
    func bounds() {
        // The bytes end where memory ends.
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        guard let memory = mmap(nil, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            memory != MAP_FAILED
        else { return }
        defer { munmap(memory, 2 * page) }
        mprotect(memory + page, page, PROT_NONE)
        for size in 1...40 {
            let start = UnsafeRawPointer(memory) + (page - size)
            #expect(start.order(UnsafeRawPointer(memory), size) == 0)
            #expect(Bytes(start: start, count: size).order(Bytes(start: memory, count: size)) == 0)
        }
    }
}
