// SPDX-License-Identifier: Apache-2.0
// The ends of fields among a document's tokens, the occurrences of a term in each field, and their bounds.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Counts by field")
struct FieldCountsTests {
    private func ends(_ fields: [[UInt32]]) throws -> FieldEnds {
        let sections = DocumentSections(fields: fields)
        var bytes: [UInt8] = []
        sections.encode(to: &bytes)
        let read = try #require(withBytes(bytes) { FieldEnds(sections: $0) })
        #expect(read == FieldEnds(sections), "\(fields)")
        return read
    }

    @Test("Positions are counted in the first three fields and in all others")
    func counts() throws {
        let fields = try ends([[2], [], [1, 1], [3], [2, 2]])
        #expect(fields.counts([0, 1, 2, 3, 4, 6, 7, 10]) == [2, 0, 2, 4])
        #expect(fields.counts([9]) == [0, 0, 0, 1])
        #expect(FieldEnds.one.counts([0, 5, 1_000]) == [3, 0, 0, 0])
        #expect(try ends([[4], [3]]).counts([3, 4, 6]) == [1, 2, 0, 0])
        #expect(try ends([[0], [3]]).counts([0, 2]) == [0, 2, 0, 0])
        #expect(withBytes([]) { FieldEnds(sections: $0) } == .one)
        // A single section can't be encoded in the form of several.
        #expect(withBytes([3, 5]) { FieldEnds(sections: $0) } == nil)
    }

    @Test("Counts are those of the tokens, with any division into fields", .seeded)
    func random() throws {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for _ in 0..<200 {
            let fields = (0..<1 + random.below(6)).map { _ in
                (0..<random.below(3)).map { _ in UInt32(random.below(5)) }
            }
            var expected = FieldCounts()
            var (positions, position): ([UInt32], UInt32) = ([], 0)
            for (field, sections) in fields.enumerated() {
                for _ in 0..<sections.reduce(0, +) {
                    if random.oneIn(2) {
                        positions.append(position)
                        expected[min(field, 3)] += 1
                    }
                    position += 1
                }
            }
            #expect(try ends(fields).counts(positions) == expected, "\(fields), \(positions)")
        }
    }

    @Test("Bounds hold for all added counts, alone or with others, and come back from bytes", .seeded)
    func bounds() throws {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for _ in 0..<100 {
            var (first, second) = (FieldBounds(), FieldBounds())
            var postings: [(counts: FieldCounts, length: UInt32)] = []
            for _ in 0..<1 + random.below(20) {
                var counts = FieldCounts()
                for place in 0..<4 where random.oneIn(3) { counts[place] = UInt32(1 + random.below(9)) }
                if counts == FieldCounts() { counts[random.below(4)] = 1 }
                let posting = (counts: counts, length: counts.wrappedSum() + UInt32(random.below(50)))
                postings.append(posting)
                if random.oneIn(2) {
                    first.add(posting.counts, length: posting.length)
                } else {
                    second.add(posting.counts, length: posting.length)
                }
            }
            first.formUnion(second)
            #expect(postings.allSatisfy { first.covers($0.counts, length: $0.length) })
            for place in 0..<4 {
                let there = postings.filter { $0.counts[place] > 0 }
                #expect(first.places.contains(place) == !there.isEmpty)
                #expect(there.isEmpty || first[place].frequency == there.map { $0.counts[place] }.max())
                #expect(there.isEmpty || first[place].length == there.map(\.length).min())
            }
            var sink = ByteSink()
            first.encode(to: &sink)
            let bytes = [UInt8](sink.bytes)
            withBytes(bytes) { bytes in
                var reader = ByteReader(bytes)
                #expect(FieldBounds(&reader) == first && reader.isAtEnd)
                for size in 0..<bytes.count {
                    var reader = ByteReader(Bytes(rebasing: bytes[..<size]))
                    #expect(FieldBounds(&reader) == nil)
                }
            }
        }
        #expect(!FieldBounds(Bound(frequency: 2, length: 5), in: 1).covers([1, 0, 0, 0], length: 9))
    }

    @Test("Bounds without fields, or with fields that don't exist, are refused")
    func refused() {
        for bytes in [[0], [16, 0, 1], [255], [1], [1, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 1]] as [[UInt8]] {
            withBytes(bytes) { bytes in
                var reader = ByteReader(bytes)
                #expect(FieldBounds(&reader) == nil, "\([UInt8](bytes))")
            }
        }
    }
}
