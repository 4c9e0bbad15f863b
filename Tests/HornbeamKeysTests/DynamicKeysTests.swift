// SPDX-License-Identifier: Apache-2.0
// Dynamic values as keys: one order over all types, numbers by value, strings by collation.

import HornbeamTestSupport
import Testing

@testable package import HornbeamKeys

extension DynamicValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(nilLiteral: ()) { self = .null }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .int(value) }
    package init(floatLiteral value: Double) { self = .double(value) }
    package init(stringLiteral value: String) { self = .string(value) }
    package init(arrayLiteral elements: DynamicValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, DynamicValue)...) {
        self = .dictionary(Dictionary(elements) { $1 })
    }
}

private func random(_ generator: inout SeededGenerator, depth: Int = 0) -> DynamicValue {
    switch generator.below(depth < 3 ? 10 : 7) {
    case 0: .null
    case 1: .bool(generator.oneIn(2))
    case 2: .int(generator.oneIn(2) ? Int64(generator.below(9)) - 4 : edgeInteger(&generator))
    case 3: .uint(generator.oneIn(2) ? UInt64(generator.below(5)) : generator.next())
    case 4: .double(Samples.double(&generator))
    case 5: .string(Samples.text(&generator))
    case 6: .string(["a", "b", "A", "é", "e\u{301}"][generator.below(5)])
    case 7, 8: .array((0..<generator.below(4)).map { _ in random(&generator, depth: depth + 1) })
    default:
        .dictionary(
            Dictionary(
                (0..<generator.below(3)).map { _ in
                    (["a", "b", "é", "e\u{301}", "\0"][generator.below(5)], random(&generator, depth: depth + 1))
                }, uniquingKeysWith: { $1 }))
    }
}

private func edgeInteger(_ generator: inout SeededGenerator) -> Int64 {
    let shift = Int64(generator.below(12)) + 50
    let base: Int64 = generator.oneIn(2) ? 1 << shift : -1 << shift
    return generator.oneIn(5)
        ? (generator.oneIn(2) ? .min : .max) : base + Int64(generator.below(7)) - 3
}

/// The order by exact arithmetic, under the binary collation.
private func modelOrder(_ left: DynamicValue, _ right: DynamicValue) -> Int {
    let ranks = (rank(left), rank(right))
    guard ranks.0 == ranks.1 else { return order(ranks.0, ranks.1) }
    switch (left, right) {
    case (.string(let left), .string(let right)): return order(left, right)
    case (.array(let left), .array(let right)): return modelOrder(left, right)
    case (.dictionary(let left), .dictionary(let right)):
        func flat(_ entries: [String: DynamicValue]) -> [DynamicValue] {
            entries.sorted { $0.key < $1.key }.flatMap { [.string($0.key), $0.value] }
        }
        return modelOrder(flat(left), flat(right))
    case (.double(let left), .double(let right)): return Samples.order(left, right)
    case (.double(let left), _): return -modelOrder(integer(right), left)
    case (_, .double(let right)): return modelOrder(integer(left), right)
    default: return ranks.0 == 3 ? order(integer(left), integer(right)) : 0
    }
}

private func modelOrder(_ left: [DynamicValue], _ right: [DynamicValue]) -> Int {
    for (left, right) in zip(left, right) {
        let found = modelOrder(left, right)
        if found != 0 { return found }
    }
    return order(left.count, right.count)
}

private func modelOrder(_ left: Int128, _ right: Double) -> Int {
    if right.isNaN || right >= 0x1p65 { return -1 }
    if right <= -0x1p65 { return 1 }
    let below = Int128(right.rounded(.down))
    if left != below { return order(left, below) }
    return right == right.rounded(.down) ? 0 : -1
}

private func integer(_ value: DynamicValue) -> Int128 {
    switch value {
    case .int(let value): Int128(value)
    case .uint(let value): Int128(value)
    default: 0
    }
}

private func rank(_ value: DynamicValue) -> Int {
    switch value {
    case .null: 0
    case .bool(let value): value ? 2 : 1
    case .int, .uint, .double: 3
    case .string: 4
    case .array: 5
    case .dictionary: 6
    }
}

@Suite("Dynamic keys")
struct DynamicKeysTests {
    private let unicode: Collator

    init() throws {
        unicode = try Collator(.unicode(locale: nil))
    }

    private func bytes(_ value: DynamicValue, _ collator: Collator) throws -> [UInt8] {
        try key { try $0.append(value, collator: collator) }
    }

    private func values(count: Int = 350) -> [DynamicValue] {
        var generator = SeededGenerator()
        return (0..<count).map { _ in random(&generator) }
    }

    @Test("All types sort in one order, numbers by value, and equality of the bytes is ==", .seeded)
    func order() throws {
        let values = values()
        try expectSameOrder(of: values, model: modelOrder) { try $0.append($1, collator: .binary) }
        for left in values {
            for right in values {
                #expect((left == right) == (modelOrder(left, right) == 0))
            }
        }
    }

    @Test("CouchDB's list comes out in CouchDB's order", .seeded)
    func couchDBList() throws {
        let list: [DynamicValue] = [
            nil, false, true, 1, 2, 3.0, 4, "a", "A", "aa", "b", "B", "ba", "bb", ["a"], ["b"], ["b", "c"],
            ["b", "c", "a"], ["b", "d"], ["b", "d", "e"], ["a": 1], ["a": 2], ["b": 1], ["b": 2], ["b": 2, "c": 2],
        ]
        var generator = SeededGenerator()
        for _ in 0..<20 {
            let sorted = try list.shuffled(using: &generator)
                .map { (value: $0, key: try bytes($0, unicode)) }
                .sorted { $0.key.lexicographicallyPrecedes($1.key) }
            #expect(sorted.map(\.value) == list)
        }
    }

    @Test(
        "Integers beside doubles compare exactly",
        arguments: [
            ([.int(1 << 53), .int(1 << 53 + 1), .int(1 << 53 + 2)], true),
            ([.int(-1 << 53 - 2), .int(-1 << 53 - 1), .int(-1 << 53)], true),
            ([.int(.min), .int(.min + 1), .double(-1.5), .int(-1), .double(-0.5), .double(-0.0), 1, 1.5, 2], true),
            ([.uint(.max - 1), .uint(.max), .double(0x1p64)], true),
            ([.int(.max - 1), .int(.max), .double(0x1p63), .uint(1 << 63 + 1)], true),
            ([.double(0x1p53), .int(1 << 53)], false), ([.double(-0.0), .double(0.0)], false),
            ([.double(-0.0), .int(0)], false), ([.int(7), .uint(7)], false), ([.uint(7), .double(7)], false),
            ([.double(0x1p63), .uint(1 << 63)], false), ([.double(-0x1p63), .int(.min)], false),
            ([.double(0x1p53 + 1), .int(1 << 53)], false), ([.double(.nan), .double(-.nan)], false),
        ] as [([DynamicValue], Bool)])
    func numbers(values: [DynamicValue], areAscending: Bool) throws {
        let keys = try values.map { try bytes($0, .binary) }
        for (index, (left, right)) in zip(keys, keys.dropFirst()).enumerated() {
            #expect(HornbeamKeysTests.order(left, right) == (areAscending ? -1 : 0))
            #expect((values[index] == values[index + 1]) == !areAscending)
        }
    }

    @Test("Values come back equal under each collation, and skipping ends where reading ends", .seeded)
    func roundTrips() throws {
        let collations: [Collation] = [
            .binary, .caseInsensitive, .caseAndDiacriticInsensitive, .unicode(locale: nil), .unicode(locale: "de"),
        ]
        for collation in collations {
            let collator = try Collator(collation)
            for value in values() {
                try bytes(value, collator).withUnsafeBytes { bytes in
                    var reader = KeyReader(bytes)
                    #expect(try reader.readDynamic(collation) == value)
                    try reader.expectEnd()
                    var skipper = KeyReader(bytes)
                    try skipper.skip(.dynamic(collation))
                    try skipper.expectEnd()
                }
            }
        }
    }

    @Test("Equality of the bytes is == under the Unicode collation too", .seeded)
    func unicodeEquality() throws {
        let values = values(count: 200)
        let keys = try values.map { try bytes($0, unicode) }
        for (left, leftKey) in zip(values, keys) {
            for (right, rightKey) in zip(values, keys) {
                #expect((left == right) == (leftKey == rightKey), "\(left) \(right)")
            }
        }
    }

    @Test("Descending dynamic values sort in reverse and come back", .seeded)
    func descending() throws {
        let values = values(count: 120)
        try expectSameOrder(of: values, model: { modelOrder($1, $0) }) { key, value in
            try key.descending { try $0.append(value, collator: .binary) }
        }
        for value in values {
            let back = try roundTrip(
                value, write: { key, value in try key.descending { try $0.append(value, collator: .binary) } },
                read: { try $0.descending { (reader) throws(KeyError) in try reader.readDynamic(.binary) } })
            #expect(back == value)
        }
    }

    @Test("Numbers come back in the narrowest case that holds them")
    func narrowest() throws {
        let cases: [(DynamicValue, String)] = [
            (3.0, "int(3)"), (.uint(3), "int(3)"), (.double(-0.0), "int(0)"), (.uint(.max), "uint(\(UInt64.max))"),
            (1.5, "double(1.5)"), (.double(0x1p63), "uint(\(UInt64(1) << 63))"), (.double(.infinity), "double(inf)"),
            (.int(.min), "int(\(Int64.min))"), (.double(.nan), "double(nan)"),
        ]
        for (value, expected) in cases {
            let back = try roundTrip(
                value, write: { try $0.append($1, collator: .binary) }, read: { try $0.readDynamic(.binary) })
            #expect("\(back)" == expected)
        }
    }

    @Test(
        "Bits that no writer makes are refused",
        arguments: [
            [0x30, 0xC3, 0x40, 0, 0, 0, 0, 0, 0, 0, 2],  // 2^53 and 2 more: the next double has a form of its own
            [0x30, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],  // −0.0
            [0x11], [0x40, 0x61], [0x50, 0x10], [0x60, 0x10, 0x10, 0],
            [0x60, 0x40, 0x61, 0, 0x10, 0x40, 0x61, 0, 0x10, 0],  // one key twice
        ] as [[UInt8]])
    func otherBits(bytes: [UInt8]) {
        #expect(throws: KeyError.self) { try reading(bytes) { try $0.readDynamic(.binary) } }
    }

    @Test("The bytes are those of the specification")
    func specifiedBytes() throws {
        #expect(try bytes([nil, true, "a"], .binary) == [0x50, 0x10, 0x21, 0x40, 0x61, 0, 0])
        #expect(try bytes(["k": false], .binary) == [0x60, 0x40, 0x6B, 0, 0x20, 0])
        #expect(try bytes(1, .binary) == [0x30, 0xBF, 0xF0, 0, 0, 0, 0, 0, 0])
        #expect(try bytes(.int(1 << 53 + 1), .binary) == [0x30, 0xC3, 0x40, 0, 0, 0, 0, 0, 0, 0, 1])
        let folded = try Collator(.caseInsensitive)
        #expect(try bytes("A", folded) == [0x40, 0x61, 0, 0x41, 0])
    }

    @Test("The key of an array's first items is a prefix of the keys of exactly the arrays that begin with them")
    func arrayPrefixes() throws {
        let prefix = try key { try $0.append(prefix: ["foo"], collator: unicode) }
        for value: DynamicValue in [["foo"], ["foo", ["a": 1]], ["foo", "bar", 7]] {
            #expect(try bytes(value, unicode).starts(with: prefix))
        }
        for value: DynamicValue in [["fo"], ["fool"], [["foo"]], "foo", [:]] {
            #expect(try !bytes(value, unicode).starts(with: prefix))
        }
    }

    @Test(
        "A string's prefix begins the keys of all strings with it",
        arguments: [Collation.binary, .unicode(locale: nil)])
    func stringPrefixes(collation: Collation) throws {
        let collator = try Collator(collation)
        let prefix = try key { try $0.append(prefix: DynamicValue.string("foé"), collator: collator) }
        for value: DynamicValue in ["foé", "foe\u{301}", "foéb\0ar"] {
            #expect(try bytes(value, collator).starts(with: prefix))
        }
        for value: DynamicValue in ["fa", "fax", ["foé"], 3] {
            #expect(try !bytes(value, collator).starts(with: prefix))
        }
    }

    @Test("Nesting is refused beyond the limit, by writer and reader, and allowed at it")
    func depth() throws {
        func nested(_ depth: Int) -> DynamicValue {
            var value: DynamicValue = .array([])
            for level in 1..<depth { value = level.isMultiple(of: 2) ? .array([value]) : .dictionary(["": value]) }
            return value
        }
        let limit = DynamicValue.depthLimit
        let deepest = try bytes(nested(limit), .binary)
        #expect(try reading(deepest) { try $0.readDynamic(.binary) } == nested(limit))
        #expect(throws: KeyError.tooDeep(limit: limit)) { try bytes(nested(limit + 1), .binary) }
        let tooDeep = [UInt8](repeating: 0x50, count: 100_000) + [UInt8](repeating: 0, count: 100_000)
        #expect(throws: KeyError.tooDeep(limit: limit)) { try reading(tooDeep) { try $0.readDynamic(.binary) } }
        try reading(tooDeep) { reader in
            try reader.skipDynamic(.binary)
            try reader.expectEnd()
        }
    }

    @Test("Reading any bytes ends with a value that can be written again, or an error", .seeded)
    func garbage() throws {
        var generator = SeededGenerator()
        let tags: [UInt8] = [0, 0, 0, 1, 0x10, 0x20, 0x21, 0x30, 0x40, 0x40, 0x50, 0x50, 0x60, 0x61, 0xC3, 0xFF]
        var readCount = 0
        for round in 0..<30_000 {
            let isInverted = round.isMultiple(of: 3)
            let collation: Collation = round.isMultiple(of: 2) ? .binary : .caseInsensitive
            let bytes = (0..<generator.below(20)).map { _ in tags[generator.below(tags.count)] ^ (isInverted ? 0xFF : 0)
            }
            try bytes.withUnsafeBytes { bytes in
                var reader = KeyReader(bytes)
                let value =
                    isInverted
                    ? try? reader.descending { (reader) throws(KeyError) in try reader.readDynamic(collation) }
                    : try? reader.readDynamic(collation)
                guard let value else { return }
                readCount += 1
                let back = try roundTrip(
                    value, write: { try $0.append($1, collator: .binary) }, read: { try $0.readDynamic(.binary) })
                #expect(back == value)
            }
        }
        #expect(readCount > 1000)
    }
}
