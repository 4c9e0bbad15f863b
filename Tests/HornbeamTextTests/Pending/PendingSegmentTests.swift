// SPDX-License-Identifier: Apache-2.0
// Segments and views compared with the texts: however the records are divided into segments and merged again, every
// answer agrees with the documents before and after them.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Segments of pending documents")
struct PendingSegmentTests {
    @Test("One segment of all records agrees with the texts", arguments: SeededGenerator.seeds(6))
    func whole(seed: UInt64) throws {
        var history = PendingHistory(seed: seed)
        for _ in 0..<150 { history.change() }
        for range in [0..<150, 0..<1, 20..<21, 100..<150] {
            let segment = try #require(history.segment(range))
            #expect(
                history.answers(range, PendingPart([segment])) == history.answers(range), "HORNBEAM_SEED=\(seed)")
        }
    }

    @Test("Records divided anywhere and merged in any order agree", arguments: SeededGenerator.seeds(10))
    func cuts(seed: UInt64) throws {
        var history = PendingHistory(seed: seed)
        for _ in 0..<120 { history.change() }
        var segments: [PendingSegment] = []
        var start = 0
        while start < 120 {
            let end = min(120, start + 1 + history.random.below(30))
            segments.append(try #require(history.segment(start..<end)))
            start = end
        }
        let expected = history.answers(0..<120)
        while true {
            #expect(history.answers(0..<120, PendingPart(segments)) == expected, "HORNBEAM_SEED=\(seed)")
            guard segments.count > 1 else { break }
            let first = history.random.below(segments.count - 1)
            let last = min(segments.count - 1, first + 1 + history.random.below(3))
            let merged = try #require(PendingSegment.merging(Array(segments[first...last])))
            segments.replaceSubrange(first...last, with: [merged])
        }
    }

    @Test("A cursor visits the terms of all segments in order, from any term on")
    func terms() throws {
        var history = PendingHistory(seed: 9)
        for _ in 0..<90 { history.change() }
        let segments = try [0..<30, 30..<31, 31..<90].map { try #require(history.segment($0)) }
        let sorted = PendingHistory.words.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
        for start in sorted.indices {
            for term in [sorted[start], start > 0 ? sorted[start - 1] + [0] : [0]] {
                var cursor = PendingTermCursor(segments)
                withBytes(term) { cursor.seek($0) }
                var found: [[UInt8]] = []
                while cursor.advance() { found.append(cursor.withText { [UInt8]($0) }) }
                #expect(found == Array(sorted[start...]))
            }
        }
    }

    @Test("Bounds of a block hold for each of its postings")
    func bounds() throws {
        var history = PendingHistory(seed: 5, stored: 0)
        for _ in 0..<700 { history.change() }
        let part = PendingPart([try #require(history.segment(0..<700))])
        let postings = try #require(withBytes(Array("a".utf8)) { part.postings(of: $0) })
        #expect(postings.count > 128)
        for place in 0..<postings.count {
            let bound = postings.blockBounds[place / 128]
            let posting = Bound(frequency: postings.frequencies[place], length: postings.lengths[place])
            #expect(bound.first.covers(posting) || bound.second.covers(posting))
            let part = postings.partBounds[place / PendingPostings.partSize]
            #expect(part.first.covers(posting) || part.second.covers(posting))
        }
    }

    @Test("Documents of several segments are merged in order, from any of them on")
    func mergedDocuments() throws {
        var history = PendingHistory(seed: 12)
        for _ in 0..<90 { history.change() }
        let segments = try [0..<40, 40..<41, 41..<90].map { try #require(history.segment($0)) }
        let all = try #require(history.segment(0..<90)).documents
        #expect(PendingSegment.mergedDocuments(segments) == all)
        for start in [all[3].docno, all[3].docno + 1, all[all.count - 1].docno, all[all.count - 1].docno + 1] {
            #expect(
                PendingSegment.mergedDocuments(segments, from: start) == all.filter { $0.docno >= start }, "\(start)")
        }
    }

    @Test("Frequently requested results are cached, even among many requested once")
    func known() {
        var known = KnownPostings()
        known.add(.none, of: [1])
        known.add(.none, of: [2])
        for number in UInt16(0)..<9_000 {
            known.add(.none, of: [3, UInt8(number >> 8), UInt8(number & 255)])
            if number % 1_000 == 0 { #expect(known.find([1]) != nil, "\(number)") }
        }
        #expect(known.find([2]) == nil)
    }

    @Test("Records that contradict each other make no segment")
    func contradictions() throws {
        var history = PendingHistory(seed: 1)
        for _ in 0..<60 { history.change() }
        // A document that is changed twice, without the record in between.
        var changes: [UInt32: [Int]] = [:]
        for (place, record) in history.records.enumerated() {
            let docno = try #require(withBytes(record) { PendingRecord($0)?.header.docno })
            changes[docno, default: []].append(place)
        }
        let places = try #require(changes.values.first { $0.count >= 3 })
        var builder = PendingSegmentBuilder()
        for place in [places[0], places[2]] {
            let isAdded = withBytes(history.records[place]) { PendingRecord($0).map { builder.add($0) } ?? false }
            #expect(isAdded)
        }
        #expect(builder.finish(start: 0, end: 2) == nil)
    }
}

@Suite("The pending records of an index in memory")
struct PendingIndexTests {
    /// Returns the bounds in a state with these records.
    private func bounds(_ history: PendingHistory, _ range: Range<Int>, fold: Int? = nil) throws -> PendingBounds {
        func identity(_ place: Int) throws -> UInt64 {
            if place < 0 { return 77 }
            return try #require(withBytes(history.records[place]) { PendingRecord($0)?.identity })
        }
        return PendingBounds(
            start: UInt64(range.lowerBound), startIdentity: try identity(range.lowerBound - 1),
            foldEnd: fold.map { UInt64($0) }, end: UInt64(range.upperBound),
            identity: try identity(range.upperBound - 1))
    }

    @Test("Views of any snapshots in any order agree with their texts", arguments: SeededGenerator.seeds(8))
    func snapshots(seed: UInt64) throws {
        var history = PendingHistory(seed: seed)
        let store = try TreeStore.inMemory()
        var snapshots: [(transaction: Transaction, range: Range<Int>, fold: Int?)] = []
        var (start, end, fold) = (0, 0, Int?.none)
        for _ in 0..<30 {
            let transaction = try store.beginWrite()
            let tree = try #require(try transaction.tree(testIndex.pendingName, create: true))
            for _ in 0..<(1 + history.random.below(6)) {
                history.change()
                try transaction.append(tree, PendingTreeReader.key(UInt64(end)), history.records[end])
                end += 1
            }
            switch (fold, history.random.below(4)) {
            case (nil, 0): fold = end
            case (let done?, 0):
                // The batch is in the postings now.
                for place in start..<done {
                    _ = try transaction.delete(tree, PendingTreeReader.key(UInt64(place)))
                }
                (start, fold) = (done, nil)
            default: break
            }
            try transaction.commit()
            if start < end { snapshots.append((try store.beginRead(), start..<end, fold)) }
            for _ in 0..<2 where !snapshots.isEmpty {
                let place = history.random.below(3) > 0 ? snapshots.count - 1 : history.random.below(snapshots.count)
                let (reader, range, fold) = snapshots[place]
                let tree = try #require(try reader.tree(testIndex.pendingName))
                let view = try PendingIndex.of(tree, in: reader).view(
                    try bounds(history, range, fold: fold), tree, testIndex, in: reader)
                #expect(history.answers(range, view.whole) == history.answers(range), "HORNBEAM_SEED=\(seed)")
                guard let fold else { continue }
                let later = fold..<range.upperBound
                #expect(history.answers(later, view.later) == history.answers(later), "HORNBEAM_SEED=\(seed)")
            }
        }
    }

    @Test("Writers remember their last records, and see the right history", arguments: SeededGenerator.seeds(4))
    func keepingUp(seed: UInt64) throws {
        var history = PendingHistory(seed: seed)
        let store = try TreeStore.inMemory()
        var (end, fold) = (0, Int?.none)
        for _ in 0..<40 {
            let transaction = try store.beginWrite()
            let tree = try #require(try transaction.tree(testIndex.pendingName, create: true))
            let former = (history, end)
            for _ in 0..<(1 + history.random.below(40)) {
                history.change()
                try transaction.append(tree, PendingTreeReader.key(UInt64(end)), history.records[end])
                end += 1
            }
            if fold == nil, history.random.below(8) == 0 { fold = end }
            let pending = PendingIndex.of(tree, in: transaction)
            let bounds = try bounds(history, 0..<end, fold: fold)
            try pending.keepUp(bounds, tree, testIndex, in: transaction)
            let view = try pending.view(
                bounds, tree, testIndex, lacking: PendingIndex.unreadLimit, in: transaction)
            #expect(UInt64(end) - view.bounds.end < PendingIndex.unreadLimit, "HORNBEAM_SEED=\(seed)")
            let range = 0..<Int(view.bounds.end)
            if !range.isEmpty {
                #expect(history.answers(range, view.whole) == history.answers(range), "HORNBEAM_SEED=\(seed)")
            }
            guard history.random.below(4) == 0 else {
                try transaction.commit()
                continue
            }
            transaction.abort()
            if fold == end { fold = nil }
            var random = history.random
            (history, end) = former
            // From here on the history is another one.
            _ = random.next()
            history.random = random
        }
    }

    @Test("Many records read at once are divided by bytes, with the same answers", arguments: [1, 400, 1 << 20])
    func sizes(limit: Int) throws {
        let store = try TreeStore.inMemory()
        var history = PendingHistory(seed: 12)
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree(testIndex.pendingName, create: true))
        let none = history.identity
        for place in 0..<90 {
            history.change()
            try transaction.append(tree, PendingTreeReader.key(UInt64(place)), history.records[place])
        }
        var reader = PendingTreeReader(tree: tree, index: testIndex, transaction: transaction)
        reader.segmentSize = limit
        var identity = none
        let segments = try reader.segments(from: 0, to: 90, after: &identity)
        #expect(identity == history.identity)
        #expect(segments.map(\.start) == [0] + segments.dropLast().map(\.end) && segments.last?.end == 90)
        for segment in segments {
            let records = history.records[Int(segment.start)..<Int(segment.end)]
            #expect(records.count == 1 || records.reduce(0) { $0 + $1.count } <= limit)
        }
        #expect([1: 90, 1 << 20: 1][limit, default: segments.count] == segments.count && segments.count != 0)
        #expect(history.answers(0..<90, PendingPart(segments)) == history.answers(0..<90))
    }

    @Test("After a long pause a writer reads new records in steps")
    func steps() throws {
        let store = try TreeStore.inMemory()
        var history = PendingHistory(seed: 6)
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree(testIndex.pendingName, create: true))
        for place in 0..<700 {
            history.change()
            try transaction.append(tree, PendingTreeReader.key(UInt64(place)), history.records[place])
        }
        for fold in [nil, 300] {
            let pending = PendingIndex()
            let bounds = try bounds(history, 0..<700, fold: fold)
            for _ in 0..<4 { try pending.keepUp(bounds, tree, testIndex, in: transaction) }
            let view = try pending.view(
                bounds, tree, testIndex, lacking: PendingIndex.unreadLimit, in: transaction)
            #expect(view.bounds.end == 700)
            #expect(history.answers(0..<700, view.whole) == history.answers(0..<700))
            if let fold {
                #expect(history.answers(fold..<700, view.later) == history.answers(fold..<700))
                #expect(history.answers(0..<fold, view.batch) == history.answers(0..<fold))
            }
        }
    }

    @Test("Records of an aborted transaction are never mistaken for records of another one")
    func aborted() throws {
        let store = try TreeStore.inMemory()
        var history = PendingHistory(seed: 11)
        for _ in 0..<5 { history.change() }
        var other = history
        func add(_ history: PendingHistory, _ range: Range<Int>, commits: Bool) throws {
            let transaction = try store.beginWrite()
            let tree = try #require(try transaction.tree(testIndex.pendingName, create: true))
            for place in range {
                try transaction.append(tree, PendingTreeReader.key(UInt64(place)), history.records[place])
            }
            let range = 0..<range.upperBound
            let view = try PendingIndex.of(tree, in: transaction).view(
                try bounds(history, range), tree, testIndex, in: transaction)
            #expect(history.answers(range, view.whole) == history.answers(range))
            if commits { try transaction.commit() } else { transaction.abort() }
        }
        try add(history, 0..<5, commits: true)
        _ = other.random.next()
        for _ in 0..<5 {
            history.change()
            other.change()
        }
        try add(history, 5..<10, commits: false)
        try add(other, 5..<10, commits: true)
    }

    @Test("A record that was changed or is missing is damage")
    func damage() throws {
        let store = try TreeStore.inMemory()
        var history = PendingHistory(seed: 4)
        for _ in 0..<9 { history.change() }
        for place in 0..<9 {
            let transaction = try store.beginWrite()
            let tree = try #require(try transaction.tree(testIndex.pendingName, create: true))
            for (place, record) in history.records.enumerated() {
                try transaction.append(tree, PendingTreeReader.key(UInt64(place)), record)
            }
            if place % 2 == 0 {
                _ = try transaction.delete(tree, PendingTreeReader.key(UInt64(place)))
            } else {
                var bytes = history.records[place]
                bytes[bytes.count / 2] ^= 1
                try transaction.put(tree, PendingTreeReader.key(UInt64(place)), bytes)
            }
            let bounds = try bounds(history, 0..<9)
            #expect(throws: StorageError.self) {
                try PendingIndex.of(tree, in: transaction).view(bounds, tree, testIndex, in: transaction)
            }
            transaction.abort()
        }
    }
}
