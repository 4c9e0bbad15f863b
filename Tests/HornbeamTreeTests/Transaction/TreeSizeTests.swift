// SPDX-License-Identifier: Apache-2.0
// The nodes of a tree in the file, listed from its branches.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("The nodes of a tree")
struct TreeSizeTests {
    @Test("are listed with their positions, each once, and none is another tree's")
    func places() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let store = try TreeStore.open(at: folder.path("store"))
        let write = try store.beginWrite()
        let names = ["few", "many", "none"]
        for name in names { _ = try write.tree(name, create: true) }
        let many = try #require(try write.tree("many"))
        for number in 0..<5_000 {
            try write.put(many, Self.key(number), [UInt8](repeating: 1, count: 100))
        }
        try write.put(try #require(try write.tree("few")), [1], [2])
        try write.commit()

        let read = try store.beginRead()
        defer { read.abort() }
        var seen: Set<UInt64> = []
        for name in names {
            let tree = try #require(try read.tree(name))
            var (size, nodes) = (UInt64(0), 0)
            try read.forEachNode(tree) { position, bytes in
                #expect(position + bytes <= store.statistics.fileBytes)
                for sector in stride(from: position, to: position + bytes, by: FileFormat.sectorSize) {
                    #expect(seen.insert(sector).inserted, "\(name): \(sector)")
                }
                size += bytes
                nodes += 1
            }
            #expect(try read.nodeBytes(tree) == size)
            #expect(name == "many" ? nodes > 10 : nodes == (name == "few" ? 1 : 0))
        }
    }

    private static func key(_ number: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) } }
}
