// SPDX-License-Identifier: Apache-2.0
// Records of pending documents: written records are read back, and impossible ones are refused.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Records of pending documents")
struct PendingRecordTests {
    private func read(_ bytes: [UInt8]) -> (header: PendingHeader, terms: [[UInt8]], isWhole: Bool)? {
        withBytes(bytes) { bytes in
            guard var record = PendingRecord(bytes) else { return nil }
            var term = TermBytes()
            var terms: [[UInt8]] = []
            while record.next(into: &term) != nil { terms.append([UInt8](term.bytes)) }
            return (record.header, terms, record.isWhole)
        }
    }

    @Test("Every part of a record is read as it was written")
    func roundTrip() throws {
        var header = PendingHeader(row: .max, docno: 4_000_000_000, oldLength: 3, newLength: 300)
        header.sections = [1, 0, 255]
        header.fingerprint = 0x1234_FFFE
        header.totals = .init(documentCount: 1 << 40, totalLength: 1 << 50, nextDocno: .max)
        header.totals.laterFields = [0, 1 << 49, 3]
        let terms = ["a", "ab", String(repeating: "x", count: 300), String(repeating: "x", count: 300) + "y", "z"]
        let positions: [[UInt32]] = [[0, 1, 4_294_967_294], [], [7], Array(8..<303), [1000]]
        let old: [UInt32] = [1, 2, 0, 0, 0]
        var writer = PendingRecordWriter(header, termCount: terms.count)
        for place in terms.indices {
            withBytes(Array(terms[place].utf8)) { term in
                positions[place].withUnsafeBufferPointer {
                    writer.add(
                        term, oldFrequency: old[place], newFrequency: UInt32(positions[place].count), positions: $0)
                }
            }
        }
        let record = writer.finish(after: 5)
        let (bytes, identity) = ([UInt8](record.bytes), record.identity)
        let found = try #require(read(bytes))
        #expect(found.header == header)
        #expect(found.terms == terms.map { Array($0.utf8) })
        #expect(found.isWhole)
        #expect(withBytes(bytes) { PendingRecord($0)?.identity } == identity)
        #expect(withBytes(bytes) { PendingRecord.follows($0, after: 5) })
        #expect(!withBytes(bytes) { PendingRecord.follows($0, after: 6) }, "another history is another record")
    }

    @Test("A record cut off anywhere is refused, and so is one with trailing bytes")
    func cut() throws {
        var history = PendingHistory(seed: 3)
        for _ in 0..<20 { history.change() }
        for record in history.records {
            for size in 0..<record.count { #expect(read(Array(record[..<size]))?.isWhole ?? false == false) }
            #expect(read(record + [0])?.isWhole == false)
            #expect(read(record)?.isWhole == true)
        }
    }

    @Test("A record with a changed byte is refused or read as another record", arguments: SeededGenerator.seeds(1))
    func hostile(seed: UInt64) throws {
        var history = PendingHistory(seed: seed)
        for _ in 0..<40 { history.change() }
        var identity: UInt64 = 77
        for record in history.records {
            for place in record.indices {
                var bytes = record
                bytes[place] ^= UInt8(1 + history.random.below(255))
                _ = read(bytes)
                var builder = PendingSegmentBuilder()
                if withBytes(bytes, { PendingRecord($0).map { builder.add($0) } ?? false }) {
                    _ = builder.finish(start: 0, end: 1)
                }
                #expect(!withBytes(bytes) { PendingRecord.follows($0, after: identity) }, "HORNBEAM_SEED=\(seed)")
            }
            identity = try #require(withBytes(record) { PendingRecord($0)?.identity })
        }
    }
}
