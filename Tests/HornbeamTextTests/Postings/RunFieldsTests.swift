// SPDX-License-Identifier: Apache-2.0
// Fields in runs: encoded fields come back for any of the positions, a reader that doesn't need them is unaffected,
// and damaged bytes are refused or stay within the stated counts.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Fields in runs")
struct RunFieldsTests {
    private struct Posting {
        var docno: UInt32
        var counts: FieldCounts
        var length: UInt32
        var frequency: UInt32 { counts.wrappedSum() }
    }

    /// Returns blocks whose postings use one, all, or few of the fields.
    private func postings(_ count: Int, _ random: inout SeededGenerator) -> [Posting] {
        var docno: UInt32 = 0
        var places = [0]
        var share = 1
        return (0..<count).map { number in
            if number % 128 == 0 {
                places = [[0], [1], [3], [0, 1], [0, 2, 3], [0, 1, 2, 3]][random.below(6)]
                share = [1, 2, 60][random.below(3)]
            }
            docno += UInt32(1 + random.below(4))
            var counts = FieldCounts()
            for place in places where random.oneIn(share) { counts[place] = UInt32(1 + random.below(6)) }
            if counts == FieldCounts() { counts[places[places.count - 1]] = 1 }
            return Posting(docno: docno, counts: counts, length: counts.wrappedSum() + UInt32(random.below(90)))
        }
    }

    private func encoded(
        _ postings: [Posting], tellsFields: Bool = true
    ) -> (run: [UInt8], fields: FieldBounds, sizes: [Int]) {
        var buffer = PostingsBuffer()
        for posting in postings {
            buffer.append(posting.docno, frequency: posting.frequency, length: posting.length)
            buffer.setLastFields(posting.counts)
        }
        var run = ByteSink()
        var frontier = BoundFrontier()
        var fields = FieldBounds()
        var encoder = RunEncoder(tellsFields: tellsFields)
        encoder.encode(buffer, 0..<buffer.count, to: &run, bounds: &frontier, fields: &fields)
        return ([UInt8](run.bytes), fields, encoder.sizes.indices.map { encoder.sizes[$0] })
    }

    /// Returns the wanted counts of each posting, and the bounds of each block; nil if the run can't be decoded.
    private func decoded(
        _ run: [UInt8], first: UInt32, _ wanted: FieldPlaces
    ) -> (counts: [FieldCounts], bounds: [FieldBounds])? {
        withBytes(run) { run in
            var directory = RunDirectory()
            var fields = RunFields()
            guard directory.read(run, first: first) else { return nil }
            let memory = UnsafeMutablePointer<UInt32>.allocate(capacity: 256)
            defer { memory.deallocate() }
            let columns = FieldColumns()
            var (counts, bounds): ([FieldCounts], [FieldBounds]) = ([], [])
            guard let start = directory.fieldsStart else { return ([], []) }
            guard fields.read(Bytes(rebasing: run[start...]), of: directory) else { return nil }
            for block in 0..<directory.count {
                let size = directory.size(block)
                guard directory.decode(block, of: run, docnos: memory, frequencies: memory + 128),
                    fields.decode(block, wanted, frequencies: memory + 128, count: size, to: columns)
                else { return nil }
                for place in 0..<size { counts.append(columns.counts(place, fields.places(block), wanted)) }
                bounds.append(fields.bound(block))
            }
            return (counts, bounds)
        }
    }

    @Test("Each field comes back alone and with others, within bounds", .seeded)
    func roundTrips() throws {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for round in 0..<60 {
            let postings = postings([1, 5, 127, 128, 129, 600, 1024][round % 7], &random)
            let (run, list, sizes) = encoded(postings)
            #expect(postings.allSatisfy { list.covers($0.counts, length: $0.length) })
            #expect(sizes[(postings.count - 1) / 128] == run.count)
            guard postings.contains(where: { $0.counts[0] != $0.frequency }) else {
                #expect(run == encoded(postings, tellsFields: false).run)
                continue
            }
            for bits in [1, 2, 4, 8, 5, 15] as [UInt8] {
                let wanted = FieldPlaces(bits: bits)
                let found = try #require(decoded(run, first: postings[0].docno, wanted))
                for (place, posting) in postings.enumerated() {
                    var expected = posting.counts
                    for other in 0..<4 where !wanted.contains(other) { expected[other] = 0 }
                    #expect(found.counts[place] == expected)
                    #expect(found.bounds[place / 128].covers(posting.counts, length: posting.length))
                }
            }
        }
    }

    @Test("A run that ends with an earlier block takes at most the computed size", .seeded)
    func sizes() {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for _ in 0..<20 {
            let postings = postings(1024, &random)
            let sizes = encoded(postings).sizes
            for blocks in 1..<8 { #expect(encoded(Array(postings[..<(128 * blocks)])).run.count <= sizes[blocks - 1]) }
        }
    }

    @Test("A block with all words in one field takes a byte, and none in a run of the first field alone")
    func oneField() {
        func run(_ place: Int, other: Int?) -> Int {
            encoded(
                (0..<1024).map { number in
                    var counts = FieldCounts()
                    counts[number == 5 ? other ?? place : place] = 1
                    return Posting(docno: UInt32(number), counts: counts, length: 1)
                }
            ).run.count
        }
        #expect(run(1, other: nil) == run(0, other: nil) + 8)
        #expect(run(1, other: 0) <= run(0, other: nil) + 24)
    }

    @Test("Damaged bytes are refused, or give no posting more occurrences than it has", .seeded)
    func hostile() {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        var refused = 0
        for _ in 0..<400 {
            let postings = postings([3, 128, 300][random.below(3)], &random)
            var run = encoded(postings).run
            for _ in 0..<1 + random.below(3) {
                run[random.below(run.count)] ^= 1 << UInt8(random.below(8))
            }
            if random.oneIn(8) { run.removeLast(1 + random.below(min(20, run.count - 1))) }
            guard let found = decoded(run, first: postings[0].docno, .all) else {
                refused += 1
                continue
            }
            for (place, counts) in found.counts.enumerated() {
                let most = found.bounds[place / 128].frequencies
                for field in 0..<4 { #expect(counts[field] <= most[field]) }
            }
        }
        #expect(refused > 100)
    }
}
