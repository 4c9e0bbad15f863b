// SPDX-License-Identifier: Apache-2.0
// Rows made from index entries: with every type that a key can have, in both directions, and with values that a key
// doesn't determine.

import Foundation
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

/// Every type of a fixed width, optional or not, half of them descending.
@EntityModel
private struct Sample {
    @Index<Self>(\.flag.desc, \.i8.desc, \.i16, \.i32.desc) private var first
    @Index<Self>(\.u8.desc, \.u16, \.u32.desc, \.u64) private var second
    @Index<Self>(\.float.desc, \.double, \.date.desc, \.i64) private var third
    let id: Int
    var flag: Bool
    var i8: Int8
    var i16: Int16?
    var i32: Int32
    var i64: Int64?
    var u8: UInt8?
    var u16: UInt16
    var u32: UInt32?
    var u64: UInt64
    var float: Float?
    var double: Double
    var date: Date?

    init(_ id: Int) {
        self.id = id
        // Numbers that are far apart, of either sign, with all kinds of bytes.
        let bits = UInt64(truncatingIfNeeded: id) &* 0x9E37_79B9_7F4A_7C15
        let isNil = id % 7 == 0
        flag = id % 2 == 0
        i8 = Int8(truncatingIfNeeded: bits >> 40)
        i16 = isNil ? nil : Int16(truncatingIfNeeded: bits >> 30)
        i32 = Int32(truncatingIfNeeded: bits >> 20)
        i64 = isNil ? nil : Int64(bitPattern: bits) / 1_000
        u8 = isNil ? nil : UInt8(truncatingIfNeeded: bits >> 13)
        u16 = UInt16(truncatingIfNeeded: bits >> 21)
        u32 = isNil ? nil : UInt32(truncatingIfNeeded: bits >> 17)
        u64 = bits >> 8
        float = isNil ? nil : Float(Int32(truncatingIfNeeded: bits >> 9)) / 64
        double = Double(Int64(bitPattern: bits)) / 4096
        date = isNil ? nil : Date(timeIntervalSinceReferenceDate: Double(Int32(truncatingIfNeeded: bits >> 5)))
    }
}

@EntityModel
private struct Word {
    @Index<Self>(\.text, \.size) private var byText
    @HashIndex<Self>(\.kind) private var byKind
    let id: Int
    var text: String
    var size: Int
    var kind: String
}

@Suite("Rows made of index entries")
struct CoveredRowTests {
    @Test("have every number, date and Boolean of the stored row, in either direction")
    func numbers() throws {
        var context = Context()
        let samples = (0..<97).map { Sample($0) }
        for sample in samples { try sample.save(to: &context) }
        try context.session.run { session in
            let store = try session.store(Sample.self)
            for id in 0..<97 { try store.transaction.put(store.type.rows, RowID(rawValue: UInt64(id)).key, [0]) }
        }
        let all = Sample.query()
        let groups = try all.grouped(by: \.flag).aggregate(.min(\.i8), .max(\.i16), .min(\.i32))
            .resolve(in: context)
        #expect(groups.compactMap(\.values.0).min() == samples.map(\.i8).min())
        #expect(groups.compactMap(\.values.1).max() == samples.compactMap(\.i16).max())
        #expect(groups.compactMap(\.values.2).min() == samples.map(\.i32).min())
        #expect(try Set(all.distinct(\.i8, in: context)) == Set(samples.map(\.i8)))
        #expect(try Set(all.distinct(\.u8, in: context)) == Set(samples.compactMap(\.u8)))
        let (u16, u32, u64) = try all.aggregate(.max(\.u16), .min(\.u32), .max(\.u64), in: context)
        #expect(u16 == samples.map(\.u16).max() && u32 == samples.compactMap(\.u32).min())
        #expect(u64 == samples.map(\.u64).max())
        let (mean, double, date, i64) = try all.aggregate(
            .max(\.float), .sum(\.double), .min(\.date), .countDistinct(\.i64), in: context)
        var sum = FloatingSummation()
        for sample in samples { sum.add(sample.double) }
        #expect(mean == samples.compactMap(\.float).max() && double == sum.total())
        #expect(date == samples.compactMap(\.date).min() && i64 == Set(samples.compactMap(\.i64)).count)
        #expect(try all.aggregate(.min(\.float), in: context) == samples.compactMap(\.float).min())
    }

    @Test("have the original text if other texts share its key, and read rows for cut keys")
    func texts() throws {
        var context = Context()
        let long = String(repeating: "l", count: 2_000)
        // The Kelvin sign, the Greek question mark and the varia become other characters in the key.
        let texts = [
            "\u{212A}", "K", "\u{37E}", ";", "\u{1FEF}", "`", "a\u{0}b", "a\u{1}", "", "e\u{301}", long + "1",
            long + "2",
            "plain",
        ]
        for (id, text) in texts.enumerated() {
            try Word(id: id, text: text, size: 1 << id, kind: "k\(id % 3)").save(to: &context)
        }
        let sorted = Word.query().sorted(by: \.text, \.size)
        #expect(try sorted.explain(.groupConcat(\.text), in: context).isCovering)
        let joined = try sorted.groupConcat(\.text, separator: "|", in: context)
        let wanted = try sorted.resolve(in: context).map(\.text).joined(separator: "|")
        #expect(Array(joined.utf8) == Array(wanted.utf8))
        let totals = try Word.query().grouped(by: \.text).aggregate(.sum(\.size)).resolve(in: context)
        let sizes = Dictionary(texts.enumerated().map { ($1, 1 << $0) }, uniquingKeysWith: +)
        #expect(totals.count == sizes.count)
        for (text, size) in totals { #expect(sizes[text] == size) }
        #expect(try Word.query().sum(\.size, in: context) == (1 << texts.count) - 1)
        // Hashes determine neither the order nor the value.
        let kinds = Word.query().grouped(by: \.kind).aggregate(.count)
        #expect(try kinds.resolve(in: context).map(\.values) == [5, 4, 4])
        #expect(try kinds.explain(in: context).access == .rowScan(rows: 13))
    }
}
