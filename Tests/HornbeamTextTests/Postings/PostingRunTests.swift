// SPDX-License-Identifier: Apache-2.0
// Runs of postings and of positions: dense, sparse and random ones; and the decoding of hostile bytes.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

/// A posting in the model.
private struct Model: Equatable {
    let docno: UInt32
    let positions: [UInt32]
    let length: UInt32
}

@Suite("Runs of postings")
struct PostingRunTests {
    /// Returns postings whose density and frequencies depend on the round.
    private func postings(_ round: Int, _ count: Int, _ random: inout SeededGenerator) -> [Model] {
        var docnos: Set<UInt32> = []
        let start = UInt32.random(in: 0...[0, 1000, UInt32.max - 5_000_000][round % 3], using: &random)
        let span = [UInt32(count), UInt32(count) * 3 / 2, UInt32(count) * 200, UInt32.max - start][round % 4]
        while docnos.count < count {
            docnos.insert(start + UInt32.random(in: 0..<max(span, UInt32(count)), using: &random))
        }
        let most = [1, 2, 40][round % 3]
        return docnos.sorted().map { docno in
            let frequency = Int.random(in: 0..<8, using: &random) == 0 ? Int.random(in: 1...most, using: &random) : 1
            var positions: Set<UInt32> = []
            let range: UInt32 = [60, 70_000, .max][round % 3]
            while positions.count < frequency { positions.insert(UInt32.random(in: 0...range, using: &random)) }
            return Model(
                docno: docno, positions: positions.sorted(),
                length: UInt32(frequency) + UInt32.random(in: 0...300, using: &random))
        }
    }

    private func encoded(_ model: [Model]) -> (run: [UInt8], positions: [UInt8], bounds: [Bound]) {
        var buffer = PostingsBuffer()
        var run = ByteSink()
        var positions = ByteSink()
        var encoder = RunEncoder()
        var positionEncoder = PositionRunEncoder()
        var frontier = BoundFrontier()
        for posting in model {
            buffer.append(posting.docno, frequency: UInt32(posting.positions.count), length: posting.length)
            for position in posting.positions { buffer.append(position: position) }
        }
        var fields = FieldBounds()
        encoder.encode(buffer, 0..<buffer.count, to: &run, bounds: &frontier, fields: &fields)
        let end = positionEncoder.encode(buffer, 0..<buffer.count, positionsFrom: 0, to: &positions)
        #expect(end == buffer.positionCount)
        frontier.reduce(to: 4)
        return ([UInt8](run.bytes), [UInt8](positions.bytes), frontier.descending)
    }

    @Test("Encoded postings come back, and their bounds hold", .seeded)
    func roundTrips() throws {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        for round in 0..<120 {
            let count = [1, 2, 127, 128, 129, 700, 1023, 1024][round % 8]
            let model = postings(round, count, &random)
            let (run, positions, bounds) = encoded(model)
            let block = DecodedRun()
            try #require(block.decode(run, positions, first: model[0].docno))
            #expect(block.docnos == model.map(\.docno))
            #expect(block.positions == model.map(\.positions))
            for (place, posting) in model.enumerated() {
                let bound = Bound(frequency: UInt32(posting.positions.count), length: posting.length)
                #expect(bounds.contains { $0.covers(bound) })
                #expect(block.bounds[place / 128].contains { $0.covers(bound) })
            }
            // The positions of a single posting, without those before it.
            for place in [0, count / 2, count - 1] {
                #expect(block.positions(of: place, positions) == model[place].positions)
            }
        }
    }

    /// Searches decode one block after the other, with room for each block's postings.
    @Test("Decoding writes nothing beyond the postings of a block", arguments: [1, 2, 3, 200])
    func room(spread: UInt32) throws {
        let mark: UInt32 = 0xA5A5_A5A5
        var random = SeededGenerator(seed: UInt64(spread))
        for count in 1...128 {
            var docno = UInt32(7)
            let model = (0..<count).map { (place) -> Model in
                docno += UInt32.random(in: 1...spread, using: &random)
                return Model(docno: docno, positions: place % 3 == 0 ? [0, 1] : [0], length: 2)
            }
            var directory = RunDirectory()
            let isRead = withBytes(encoded(model).run) { directory.read($0, first: model[0].docno) }
            try #require(isRead)
            let memory = UnsafeMutablePointer<UInt32>.allocate(capacity: 2 * (count + 128))
            defer { memory.deallocate() }
            memory.initialize(repeating: mark, count: 2 * (count + 128))
            let frequencies = memory + count + 128
            let isDecoded = withBytes(encoded(model).run) {
                directory.decode(0, of: $0, docnos: memory, frequencies: frequencies)
            }
            #expect(isDecoded)
            #expect((0..<count).map { memory[$0] } == model.map(\.docno))
            for place in count..<count + 128 {
                #expect(memory[place] == mark && frequencies[place] == mark, "\(place) of \(count)")
            }
        }
    }

    @Test("Dense documents take at most a bit each")
    func dense() {
        let all = (0..<1024).map { Model(docno: UInt32($0), positions: [0], length: 1) }
        #expect(encoded(all).run.count < 64)
        var random = SeededGenerator(seed: 1)
        let half = (UInt32(0)..<2100).filter { _ in Bool.random(using: &random) }.prefix(1024)
            .map { Model(docno: $0, positions: [0], length: 1) }
        #expect(encoded(half).run.count < half.count * 2 / 8 + 80)
    }

    @Test("Positions of zero bits can be many, but no block makes a reader take unbounded memory")
    func bitless() {
        func opens(_ frequencies: [UInt32]) -> Bool {
            let count = frequencies.reduce(0) { $0 + Int($1) } - frequencies.count
            let bytes = [UInt8](repeating: 0, count: (frequencies.count + 31) / 32 + (count + 31) / 32)
            var block = PositionBlock()
            return withBytes(bytes) { bytes in
                frequencies.withUnsafeBufferPointer { frequencies in
                    guard let start = frequencies.baseAddress else { return false }
                    return block.open(bytes, frequencies: start, count: frequencies.count)
                }
            }
        }
        #expect(opens([1]) && opens([128, 200_000]))
        #expect(!opens([1 << 30, 1]))
        #expect(!opens([UInt32(1) << 31]))
    }

    @Test("Damaged runs are refused, or decode to ascending postings within the stated counts", .seeded)
    func hostile() {
        var random = SeededGenerator(seed: SeededGenerator.seed)
        var refused = 0
        for round in 0..<600 {
            let model = postings(round, [3, 128, 200, 400][round % 4], &random)
            var (run, positions, _) = encoded(model)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                run[Int.random(in: 0..<run.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                positions[Int.random(in: 0..<positions.count, using: &random)] ^= 1
            }
            let block = DecodedRun()
            guard block.decode(run, positions, first: model[0].docno) else {
                refused += 1
                continue
            }
            #expect(zip(block.docnos, block.docnos.dropFirst()).allSatisfy { $0 < $1 })
            for list in block.positions { #expect(zip(list, list.dropFirst()).allSatisfy { $0 < $1 }) }
        }
        #expect(refused > 200)
    }
}

/// A completely decoded run.
private final class DecodedRun {
    var docnos: [UInt32] = []
    var frequencies: [UInt32] = []
    var positions: [[UInt32]] = []
    var bounds: [[Bound]] = []

    /// Returns bytes that live as long as this object.
    private func copy(_ bytes: [UInt8]) -> Bytes {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        memory.copyBytes(from: bytes)
        copies.append(memory)
        return Bytes(memory)
    }

    private var copies: [UnsafeMutableRawBufferPointer] = []
    private let docnoMemory = UnsafeMutablePointer<UInt32>.allocate(capacity: 128)
    private let frequencyMemory = UnsafeMutablePointer<UInt32>.allocate(capacity: 128)

    deinit {
        for copy in copies { copy.deallocate() }
        docnoMemory.deallocate()
        frequencyMemory.deallocate()
    }

    /// Returns false if a part of the run can't be decoded.
    func decode(_ run: [UInt8], _ positionRun: [UInt8], first: UInt32) -> Bool {
        var directory = RunDirectory()
        var positionBlock = PositionBlock()
        let run = copy(run)
        let positionRun = copy(positionRun)
        guard directory.read(run, first: first) else { return false }
        for block in 0..<directory.count {
            guard directory.decode(block, of: run, docnos: docnoMemory, frequencies: frequencyMemory) else {
                return false
            }
            let size = directory.size(block)
            let (base, last) = (directory.base(block), directory.last(block))
            docnos += UnsafeBufferPointer(start: docnoMemory, count: size)
            frequencies += UnsafeBufferPointer(start: frequencyMemory, count: size)
            #expect(docnoMemory[0] >= base && docnoMemory[size - 1] == last)
            bounds.append([directory.bound(block), directory.secondBound(block)])
            guard let bytes = PositionBlock.find(block, of: directory.count, in: positionRun),
                positionBlock.open(bytes, frequencies: frequencyMemory, count: size)
            else { return false }
            for place in 0..<size {
                var list: [UInt32] = []
                guard positionBlock.append(place, to: &list) else { return false }
                positions.append(list)
            }
        }
        return true
    }

    /// Returns the positions of a single posting, decoded again from the bytes.
    func positions(of place: Int, _ positionRun: [UInt8]) -> [UInt32] {
        let block = place / 128
        let size = min(128, frequencies.count - block * 128)
        for place in 0..<size { frequencyMemory[place] = frequencies[block * 128 + place] }
        var list: [UInt32] = []
        var positionBlock = PositionBlock()
        let blocks = (frequencies.count + 127) / 128
        guard let bytes = PositionBlock.find(block, of: blocks, in: copy(positionRun)),
            positionBlock.open(bytes, frequencies: frequencyMemory, count: size),
            positionBlock.append(place % 128, to: &list)
        else { return [] }
        return list
    }
}
