// SPDX-License-Identifier: Apache-2.0
// A term's stored and pending postings, compared with the texts: however they are read, they keep the promises of
// `PostingSource`, and bounds and leaders belong to existing postings.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Stored and pending postings as one list")
struct TermPostingsTests {
    private struct Posting: Equatable {
        var docno: UInt32
        var frequency: UInt32
        var length: UInt32
        var bound: Bound { Bound(frequency: frequency, length: length) }
    }

    /// A history in which rows equal document numbers: each row is added before all larger ones and stays.
    private struct History {
        var random: SeededGenerator
        let store: TreeStore
        var texts: [UInt64: String] = [:]
        var next: UInt64 = 0

        init(seed: UInt64) throws {
            random = SeededGenerator(seed: seed)
            store = try TreeStore.inMemory()
        }

        mutating func text(_ share: Int) -> String {
            let count = random.below(100) < share ? 1 + random.below(1 + random.below(6)) : 0
            return String(repeating: "x ", count: count) + String(repeating: "o ", count: random.below(30))
        }

        /// Adds `count` documents in one transaction, `share` percent of them with the term.
        mutating func add(_ count: Int, share: Int, limits: PendingLimits) throws {
            try store.write(limits: limits) { writer in
                for _ in 0..<count {
                    let text = text(share)
                    try writer.insert(next, text: text)
                    texts[next] = text
                    next += 1
                }
            }
        }

        /// Changes or removes documents, with another probability in each stretch: so some blocks stay, some lose
        /// their last document, and some vanish.
        mutating func change(_ count: Int) throws {
            try store.write(limits: PendingLimits(pending: .max, slice: .max)) { writer in
                var row: UInt64 = 0
                for _ in 0..<count {
                    row += UInt64(1 + random.below([1, 4, 40][Int(row / 500) % 3]))
                    guard row < next else { return }
                    guard let old = texts[row] else { continue }
                    if random.below(3) == 0 {
                        let new = text(70)
                        try writer.update(row, from: DocumentText(old), to: DocumentText(new))
                        texts[row] = new
                    } else {
                        try writer.remove(row, DocumentText(old))
                        texts[row] = nil
                    }
                }
            }
        }

        var postings: [Posting] {
            texts.sorted { $0.key < $1.key }.compactMap { row, text in
                let words = text.split(separator: " ")
                let frequency = words.count { $0 == "x" }
                guard frequency > 0 else { return nil }
                return Posting(docno: UInt32(row), frequency: UInt32(frequency), length: UInt32(words.count))
            }
        }
    }

    @Test(
        "Any sequence of steps finds the postings, within the bounds", arguments: SeededGenerator.seeds(2),
        [3000, 300, 6])
    func walks(seed: UInt64, count: Int) throws {
        var history = try History(seed: seed)
        try history.add(count, share: [50, 90][history.random.below(2)], limits: .none)
        for round in 0..<5 {
            if round > 0 { try history.change([1, 40, 250][history.random.below(3)]) }
            if round > 2 {
                try history.add(200, share: 60, limits: PendingLimits(pending: .max, slice: .max))
            }
            let transaction = try history.store.beginRead()
            defer { transaction.abort() }
            let snapshot = try #require(try TextSnapshot(testIndex, in: transaction))
            let all = history.postings
            for _ in 0..<12 {
                let found = try withBytes(Array("x".utf8)) { try snapshot.postings(of: $0) }
                guard let found else {
                    #expect(all.isEmpty, "HORNBEAM_SEED=\(seed)")
                    break
                }
                try walk(found, all, &history.random, "round \(round), HORNBEAM_SEED=\(seed)")
            }
        }
    }

    private func walk(
        _ found: TermPostings, _ all: [Posting], _ random: inout SeededGenerator, _ note: Comment
    ) throws {
        let source = PendingSource(found)
        #expect(Int(source.documentFrequency) == all.count, note)
        #expect(all.allSatisfy { posting in source.bounds.contains { $0.covers(posting.bound) } }, note)
        #expect(source.leaders.areAmong(all.map(\.bound)), note)
        // From here on all postings are still to come.
        var start = 0
        var target: UInt32 = 0
        while !source.isAtEnd {
            let end = all.firstIndex { $0.docno > source.blockLast } ?? all.count
            let first = try #require(all.indices.first { all[$0].docno >= source.blockFirst }, note)
            #expect(first <= start && start < end, note)
            #expect(all[end - 1].docno == source.blockLast && source.count >= end - start, note)
            // Nothing is promised about postings before the target.
            let wanted = all[start..<end]
            #expect(
                wanted.allSatisfy { source.blockBound.covers($0.bound) || source.secondBlockBound.covers($0.bound) },
                note)
            let last = random.below(2) == 0 ? source.knownLast : source.blockLast
            var known: [Bound] = []
            source.forEachKnownBound(through: last) { known.append($0) }
            #expect(last >= source.blockLast, note)
            #expect(
                all[start...].prefix { $0.docno <= last }
                    .allSatisfy { posting in known.contains { $0.covers(posting.bound) } }, note)
            try read(source, wanted, Set(all[first..<end].map(\.docno)), &random, note)
            start = end
            switch random.below(4) {
            case 0:
                target = source.blockLast + UInt32(1 + random.below([3, 300, 3000][random.below(3)]))
                try source.seekBlock(target)
            default:
                target = source.blockLast + 1
                try source.nextBlock()
            }
            while start < all.count, all[start].docno < target { start += 1 }
        }
        #expect(start == all.count, note)
    }

    /// Steps in one of the ways, or not at all. All of `wanted` must be found; postings of the block that were
    /// already passed may be found.
    private func read(
        _ source: PendingSource, _ wanted: ArraySlice<Posting>, _ block: Set<UInt32>,
        _ random: inout SeededGenerator, _ note: Comment
    ) throws {
        let announced = source.count
        let room = 2 * max(source.count, PostingRun.blockCapacity)
        var memory = [UInt32](repeating: 1, count: 2 * room)
        switch random.below(4) {
        case 0:
            _ = try source.decode(from: 0)
            #expect(source.blockFirst == source.docnos[0], note)
            for place in 0..<source.count {
                (memory[place], memory[room + place]) = (source.docnos[place], source.frequencies[place])
            }
            let place = random.below(source.count)
            var positions: [UInt32] = []
            try source.readPositions(place, &positions)
            #expect(positions == Array(0..<source.frequencies[place]), note)
        case 1:
            try memory.withUnsafeMutableBufferPointer { buffer in
                let start = try #require(buffer.baseAddress)
                try source.decodeBlock(to: start, start + room)
            }
            // The source may also be decoded at its present position.
            if random.below(2) == 0 {
                _ = try source.decode(from: 0)
                #expect(memory[..<source.count].elementsEqual((0..<source.count).map { source.docnos[$0] }), note)
            }
        case 2:
            try memory.withUnsafeMutableBufferPointer { buffer in
                try source.decodeDocuments(to: try #require(buffer.baseAddress))
            }
            for place in 0..<source.count { memory[room + place] = source.frequencies[place] }
        default: return
        }
        #expect(source.count <= announced, note)
        let docnos = memory[..<source.count]
        #expect(zip(docnos, docnos.dropFirst()).allSatisfy { $0 < $1 } && docnos.allSatisfy(block.contains), note)
        let found = docnos.indices.filter { docnos[$0] >= wanted[wanted.startIndex].docno }
        #expect(found.map { docnos[$0] } == wanted.map(\.docno), note)
        #expect(found.map { memory[room + $0] } == wanted.map(\.frequency), note)
    }

    @Test("A word in no pending record is read from the stored postings, with its leaders")
    func unnamed() throws {
        let store = try TreeStore.inMemory()
        try store.write { writer in
            for row in UInt64(0)..<300 { try writer.insert(row, text: "common rare\(row % 7) more") }
        }
        try store.write(limits: .standard) { writer in
            try writer.update(5, from: DocumentText("common rare5 more"), to: DocumentText("common other more"))
        }
        let transaction = try store.beginRead()
        defer { transaction.abort() }
        let view = try StoredView(try #require(try TextSnapshot(testIndex, in: transaction)))
        let sources = try ["rare4", "rare5", "other", "nothing", "common"].map { try view.postings(of: Array($0.utf8)) }
        #expect(sources[0] is StoredSource && sources[1] is PendingSource && sources[3] == nil)
        #expect(sources.map { $0?.documentFrequency } == [43, 42, 1, nil, 300])
        #expect(sources[4]?.leaders.pairs.count == Leaders.limit)
    }
}
