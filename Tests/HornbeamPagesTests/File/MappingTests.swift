// SPDX-License-Identifier: Apache-2.0
// The address space that stores take.

import Testing

@testable import HornbeamPages

@Suite("The mapping of a store")
struct MappingTests {
    @Test("has room to grow, even for the thousandth store in a process")
    func many() throws {
        let files = try (0..<3000).map { _ in try MemoryFile() }
        #expect(files.allSatisfy { $0.maximumBytes >= 16 << 30 })
        let large = try Mapping(storeOf: -1, bytes: 4 << 30, path: "memory")
        #expect(large.capacity == 64 << 30)
    }
}
