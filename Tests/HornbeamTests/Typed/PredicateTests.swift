// SPDX-License-Identifier: Apache-2.0
// Conditions beyond single comparisons: lists, ranges, nil, arrays, accents, regular expressions, nested structs. Each
// gives the result of Swift's own filter, with an index over the property and without.

import Foundation
import Hornbeam
import Testing
@testable import HornbeamEngine

private struct Address: Codable, Equatable, Sendable {
    var city: String
    var zip: Int?
}

@EntityModel
private struct Place: Equatable {
    let id: Int
    var name: String
    var size: Int
    var nick: String?
    var height: Double?
    var isOpen: Bool
    var tags: [String]
    var marks: [Int?]
    var extra: [Double]?
    var address: Address
    var kind: Kind

    enum Kind: String, Codable, Sendable { case shop, home, park }
    var shout: String { name.uppercased() }
}

@EntityModel
private struct IndexedPlace {
    @Index<Self>(\.name) private var byName
    @Index<Self>(\.size.desc) private var bySize
    @Index<Self>(\.nick.desc, \.size) private var byNick
    @Index<Self>(\.isOpen.desc, \.height) private var byOpen
    @Index<Self>(\.kind) private var byKind

    let id: Int
    var name: String
    var size: Int
    var nick: String?
    var height: Double?
    var isOpen: Bool
    var tags: [String]
    var marks: [Int?]
    var extra: [Double]?
    var address: Address
    var kind: Place.Kind

    var shout: String { name.uppercased() }

    init(_ place: Place) {
        id = place.id
        name = place.name
        size = place.size
        nick = place.nick
        height = place.height
        isOpen = place.isOpen
        tags = place.tags
        marks = place.marks
        extra = place.extra
        address = place.address
        kind = place.kind
    }
}

extension Place {
    fileprivate static let all: [Place] = (1...48).map { number in
        let names = ["Café", "cafe\u{301}", "Inn", "Müller", "muller", "Zoo 7", "", "Go"]
        return Place(
            id: number, name: names[number % 8], size: number * 7 % 20,
            nick: number % 3 == 0 ? nil : "n\(number % 5)", height: number % 4 == 0 ? nil : Double(number % 6) / 2,
            isOpen: number % 2 == 0, tags: [["a"], ["a", "b"], [], ["b", "c", "a"]][number % 4],
            marks: number % 2 == 0 ? [1, nil] : [2, number % 5], extra: number % 3 == 0 ? nil : [Double(number % 2)],
            address: Address(city: number % 2 == 0 ? "Bonn" : "Köln", zip: number % 3 == 0 ? nil : number),
            kind: [.shop, .home, .park][number % 3])
    }

    fileprivate static func context() throws -> Context {
        var context = Context()
        for place in all {
            try place.save(to: &context)
            try IndexedPlace(place).save(to: &context)
        }
        return context
    }
}

private typealias Condition = Hornbeam.Predicate

@Suite("Conditions")
struct PredicateTests {
    private func expect(
        _ plain: Condition<Place>, _ indexed: Condition<IndexedPlace>, in context: Context, _ test: (Place) -> Bool,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let wanted = Place.all.filter(test).map(\.id)
        #expect(try Place.filter(plain).ids(in: context) == wanted, sourceLocation: location)
        #expect(try IndexedPlace.filter(indexed).ids(in: context).sorted() == wanted, sourceLocation: location)
        #expect(try IndexedPlace.filter(indexed).count(in: context) == wanted.count, sourceLocation: location)
        let others = Place.all.map(\.id).filter { !wanted.contains($0) }
        #expect(try Place.filter(!plain).ids(in: context) == others, sourceLocation: location)
        #expect(try IndexedPlace.filter(!indexed).ids(in: context).sorted() == others, sourceLocation: location)
    }

    @Test("A value in a list, of columns, enums, optionals and computed properties")
    func lists() throws {
        let context = try Place.context()
        try expect(.value(\.size, in: [3, 7, 99]), .value(\.size, in: [3, 7, 99]), in: context) {
            [3, 7].contains($0.size)
        }
        try expect(.value(\.size, in: []), .value(\.size, in: []), in: context) { _ in false }
        try expect(.value(\.name, in: ["Café", "Go"]), .value(\.name, in: ["Café", "Go"]), in: context) {
            ["Café", "Go"].contains($0.name)
        }
        try expect(.value(\.kind, in: [.shop, .park]), .value(\.kind, in: [.shop, .park]), in: context) {
            $0.kind != .home
        }
        try expect(.value(\.nick, in: ["n1", nil]), .value(\.nick, in: ["n1", nil]), in: context) {
            ["n1", nil].contains($0.nick)
        }
        try expect(.value(\.nick, in: ["n1"]), .value(\.nick, in: ["n1"]), in: context) { $0.nick == "n1" }
        try expect(.value(\.shout, in: ["INN"]), .value(\.shout, in: ["INN"]), in: context) { $0.name == "Inn" }
        let plan = try IndexedPlace.filter(.value(\.size, in: [3, 7])).explain(in: context)
        #expect(plan.access.description.hasPrefix("index bySize, 2 ranges"))
    }

    @Test("A value not in a list: the opposite of one in it, also for nil")
    func otherThanListed() throws {
        let context = try Place.context()
        try expect(.value(\.size, notIn: [3, 7, 99]), .value(\.size, notIn: [3, 7, 99]), in: context) {
            ![3, 7].contains($0.size)
        }
        try expect(.value(\.size, notIn: []), .value(\.size, notIn: []), in: context) { _ in true }
        try expect(.value(\.nick, notIn: ["n1"]), .value(\.nick, notIn: ["n1"]), in: context) { $0.nick != "n1" }
        try expect(.value(\.nick, notIn: ["n1", nil]), .value(\.nick, notIn: ["n1", nil]), in: context) {
            !["n1", nil].contains($0.nick)
        }
        try expect(.value(\.kind, notIn: [.home]), .value(\.kind, notIn: [.home]), in: context) { $0.kind != .home }
        try expect(.value(\.shout, notIn: ["INN"]), .value(\.shout, notIn: ["INN"]), in: context) { $0.name != "Inn" }
        try expect(.array(\.tags, containsNone: ["a", "c"]), .array(\.tags, containsNone: ["a", "c"]), in: context) {
            Set($0.tags).isDisjoint(with: ["a", "c"])
        }
        try expect(.array(\.extra, containsNone: [1]), .array(\.extra, containsNone: [1]), in: context) {
            !($0.extra ?? []).contains(1)
        }
        try expect(
            .string(\.name, \.nick, notContaining: "N"), .string(\.name, \.nick, notContaining: "N"), in: context
        ) {
            !$0.name.lowercased().contains("n") && !($0.nick ?? "").lowercased().contains("n")
        }
    }

    @Test("ranges, with both bounds, one, or none of them included")
    func ranges() throws {
        let context = try Place.context()
        try expect(.value(\.size, in: 3...7), .value(\.size, in: 3...7), in: context) { (3...7).contains($0.size) }
        try expect(.value(\.size, in: 3..<7), .value(\.size, in: 3..<7), in: context) { (3..<7).contains($0.size) }
        try expect(.value(\.size, in: 3...), .value(\.size, in: 3...), in: context) { $0.size >= 3 }
        try expect(.value(\.size, in: ...7), .value(\.size, in: ...7), in: context) { $0.size <= 7 }
        try expect(.value(\.size, in: ..<7), .value(\.size, in: ..<7), in: context) { $0.size < 7 }
        try expect(.value(\.size, between: 7, and: 3), .value(\.size, between: 7, and: 3), in: context) { _ in false }
        try expect(.value(\.height, in: 0.5...1), .value(\.height, in: 0.5...1), in: context) {
            $0.height.map { (0.5...1).contains($0) } ?? false
        }
        try expect(.value(\.height, in: 1...), .value(\.height, in: 1...), in: context) {
            $0.height.map { $0 >= 1 } ?? false
        }
        try expect(.value(\.height, in: ...1), .value(\.height, in: ...1), in: context) {
            $0.height.map { $0 <= 1 } ?? false
        }
        try expect(.value(\.height, in: ..<1), .value(\.height, in: ..<1), in: context) {
            $0.height.map { $0 < 1 } ?? false
        }
        try expect(.value(\.nick, in: "n2"...), .value(\.nick, in: "n2"...), in: context) {
            $0.nick.map { $0 >= "n2" } ?? false
        }
        try expect(.value(\.nick, in: ..<"n2"), .value(\.nick, in: ..<"n2"), in: context) {
            $0.nick.map { $0 < "n2" } ?? false
        }
        try expect(.value(\.address.zip, in: 9...), .value(\.address.zip, in: 9...), in: context) {
            $0.address.zip.map { $0 >= 9 } ?? false
        }
        try expect(.value(\.nick, in: "n1"..<"n3"), .value(\.nick, in: "n1"..<"n3"), in: context) {
            $0.nick.map { ("n1"..<"n3").contains($0) } ?? false
        }
        try expect(.value(\.shout.count, in: 2...3), .value(\.shout.count, in: 2...3), in: context) {
            (2...3).contains($0.shout.count)
        }
    }

    @Test("nil and Booleans")
    func nils() throws {
        let context = try Place.context()
        try expect(.isNil(\.nick), .isNil(\.nick), in: context) { $0.nick == nil }
        try expect(.isNotNil(\.height), .isNotNil(\.height), in: context) { $0.height != nil }
        try expect(\.isOpen == true, \.isOpen == true, in: context) { $0.isOpen }
        try expect(\.isOpen != true, \.isOpen != true, in: context) { !$0.isOpen }
    }

    @Test("elements of arrays: one, any, all; nil elements and nil arrays")
    func arrays() throws {
        let context = try Place.context()
        try expect(.array(\.tags, contains: "b"), .array(\.tags, contains: "b"), in: context) { $0.tags.contains("b") }
        try expect(.array(\.tags, containsAny: ["c", "x"]), .array(\.tags, containsAny: ["c", "x"]), in: context) {
            $0.tags.contains("c")
        }
        try expect(.array(\.tags, containsAll: ["b", "a"]), .array(\.tags, containsAll: ["b", "a"]), in: context) {
            $0.tags.contains("a") && $0.tags.contains("b")
        }
        try expect(.array(\.tags, containsAll: []), .array(\.tags, containsAll: []), in: context) { _ in true }
        try expect(.array(\.tags, containsAny: []), .array(\.tags, containsAny: []), in: context) { _ in false }
        try expect(.array(\.marks, contains: nil), .array(\.marks, contains: nil), in: context) {
            $0.marks.contains(nil)
        }
        try expect(.array(\.marks, contains: 4), .array(\.marks, contains: 4), in: context) { $0.marks.contains(4) }
        try expect(.array(\.extra, contains: 1), .array(\.extra, contains: 1), in: context) { $0.extra == [1] }
        try expect(.array(\.extra, containsAll: []), .array(\.extra, containsAll: []), in: context) { _ in true }
    }

    @Test("paths into nested structs")
    func nested() throws {
        let context = try Place.context()
        try expect(\.address.city == "Bonn", \.address.city == "Bonn", in: context) { $0.address.city == "Bonn" }
        try expect(\.address.zip == nil, \.address.zip == nil, in: context) { $0.address.zip == nil }
        try expect(\.address.zip > 20, \.address.zip > 20, in: context) { ($0.address.zip ?? 0) > 20 }
        try expect(\.address == Address(city: "Köln", zip: 7), \.address == Address(city: "Köln", zip: 7), in: context)
        {
            $0.id == 7
        }
        try expect(
            .string(\.address.city, contains: "köl"), .string(\.address.city, contains: "köl"), in: context
        ) { $0.address.city == "Köln" }
    }

    @Test("parts of strings with and without case and accents")
    func strings() throws {
        let context = try Place.context()
        try expect(.string(\.name, hasPrefix: "caf"), .string(\.name, hasPrefix: "caf"), in: context) {
            $0.name.lowercased().hasPrefix("caf")
        }
        try expect(
            .string(\.name, contains: "CAFE", diacriticSensitive: false),
            .string(\.name, contains: "CAFE", diacriticSensitive: false), in: context
        ) { ["Café", "cafe\u{301}"].contains($0.name) }
        try expect(
            .string(\.name, hasSuffix: "é", caseSensitive: true, diacriticSensitive: false),
            .string(\.name, hasSuffix: "é", caseSensitive: true, diacriticSensitive: false), in: context
        ) { ["Café", "cafe\u{301}"].contains($0.name) }
        try expect(
            .string(\.name, hasPrefix: "Mull", caseSensitive: true, diacriticSensitive: false),
            .string(\.name, hasPrefix: "Mull", caseSensitive: true, diacriticSensitive: false), in: context
        ) { $0.name == "Müller" }
        try expect(
            .string(\.shout, hasPrefix: "mul", diacriticSensitive: false),
            .string(\.shout, hasPrefix: "mul", diacriticSensitive: false), in: context
        ) { ["Müller", "muller"].contains($0.name) }
        try expect(.string(\.nick, notHavingPrefix: "n1"), .string(\.nick, notHavingPrefix: "n1"), in: context) {
            !($0.nick?.hasPrefix("n1") ?? false)
        }
    }

    @Test("regular expressions, and custom tests, of any of several properties")
    func expressions() throws {
        let context = try Place.context()
        try expect(
            .string(\.name, matches: #/[A-Z]oo \d/#), .string(\.name, matches: #/[A-Z]oo \d/#), in: context
        ) { $0.name == "Zoo 7" }
        try expect(
            .string(\.name, notMatching: #/o/#), .string(\.name, notMatching: #/o/#), in: context
        ) { !$0.name.contains("o") }
        try expect(
            .string(\.nick, matches: #/[12]$/#), .string(\.nick, matches: #/[12]$/#), in: context
        ) { ["n1", "n2"].contains($0.nick) }
        try expect(
            .string(\.name, \.address.city, matches: #/^(Go|Bonn)$/#),
            .string(\.name, \.address.city, matches: #/^(Go|Bonn)$/#), in: context
        ) { $0.name == "Go" || $0.address.city == "Bonn" }
        try expect(
            .string(\.name, passes: "has three letters") { $0.count == 3 },
            .string(\.name, passes: "has three letters") { $0.count == 3 }, in: context
        ) { $0.name == "Inn" }
        let plan = try Place.filter(.string(\.name, passes: "has three letters") { $0.count == 3 }).explain(in: context)
        #expect(plan.filter == "name has three letters")
        struct Refusal: Error {}
        #expect(throws: Refusal.self) {
            try Place.filter(.string(\.name, passes: "fails") { _ in throw Refusal() }).count(in: context)
        }
    }

    @Test("optionals and Booleans are sorted with nil and false first, or last in descending order, by an index or not")
    func orders() throws {
        let context = try Place.context()
        func nick(_ place: Place) -> String { place.nick ?? "" }
        let byNick = Place.all.sorted { (nick($0), $0.size, $0.id) < (nick($1), $1.size, $1.id) }.map(\.id)
        #expect(try Place.query().sorted(by: \.nick.asc, \.size).ids(in: context) == byNick)
        let down = Place.all.sorted { (nick($1), $0.size, $0.id) < (nick($0), $1.size, $1.id) }.map(\.id)
        #expect(try Place.query().sorted(by: \.nick.desc, \.size).ids(in: context) == down)
        #expect(try IndexedPlace.query().sorted(by: \.nick.desc, \.size).ids(in: context) == down)
        let plan = try IndexedPlace.query().sorted(by: \.nick.desc, \.size).limit(5).explain(in: context)
        #expect(plan.access == .index(name: "byNick", ranges: 1, entries: 48, reversed: false))
        let open = Place.all.sorted { ($0.isOpen ? 0 : 1, $0.id) < ($1.isOpen ? 0 : 1, $1.id) }.map(\.id)
        #expect(try Place.query().sorted(by: \.isOpen.desc).ids(in: context) == open)
        #expect(try IndexedPlace.query().sorted(by: \.isOpen.desc).ids(in: context) == open)
        #expect(try IndexedPlace.query().sorted(by: \.isOpen.desc).limit(9).explain(in: context).order == .byAccess)
        #expect(try Place.query().sorted(by: .by(\.isOpen.asc), .by(\.nick), .by(\.size)).first(in: context)?.id == 3)
    }

    @Test("continuing after an entity gives the same as an offset, in any order, by an index or not")
    func pages() throws {
        var context = try Place.context()
        let queries: [(QueryList<Place>, QueryList<IndexedPlace>)] = [
            (.init().sorted(by: \.size), .init().sorted(by: \.size)),
            (.init().sorted(by: \.size.desc), .init().sorted(by: \.size.desc)),
            (.init().sorted(by: \.isOpen.desc), .init().sorted(by: \.isOpen.desc)),
            (.init().sorted(by: \.isOpen.asc, \.height.desc), .init().sorted(by: \.isOpen.asc, \.height.desc)),
            (.filter(\.isOpen == true).sorted(by: \.height), .filter(\.isOpen == true).sorted(by: \.height)),
            (.init().sorted(by: \.shout, \.size), .init().sorted(by: \.shout, \.size)),
            (.init(), .init()), (.filter(\.size > 5), .filter(\.size > 5)),
            (Place.query([9, 3, 40, 7, 12]), IndexedPlace.query([9, 3, 40, 7, 12])),
        ]
        for (plain, indexed) in queries {
            let all = try plain.ids(in: context)
            for size in [1, 4, 7] {
                var paged: [Int] = []
                var page = try plain.limit(size).resolve(in: context)
                while let last = page.last {
                    paged += page.map(\.id)
                    page = try plain.after(last).limit(size).resolve(in: context)
                }
                #expect(paged == all)
                var pagedByIndex: [Int] = []
                var other = try indexed.limit(size).resolve(in: context)
                while let last = other.last {
                    pagedByIndex += other.map(\.id)
                    #expect(
                        try indexed.after(last).count(in: context) == all.count - pagedByIndex.count)
                    other = try indexed.after(last).limit(size).resolve(in: context)
                }
                #expect(pagedByIndex == all)
            }
        }
        // The last entity may be deleted: an integer id still gives its row.
        let sorted = IndexedPlace.query().sorted(by: \.size)
        let first = try sorted.limit(10).resolve(in: context)
        let rest = try sorted.limit(100, offset: 10).ids(in: context)
        try #require(first.last).delete(from: &context)
        #expect(try sorted.after(#require(first.last)).ids(in: context) == rest)
    }
}
