// SPDX-License-Identifier: Apache-2.0
// Tuples of any components, optional, descending, in arrays: random schemas against a model.

import HornbeamTestSupport
import Testing

@testable import HornbeamKeys

/// The type of a component, as a schema would have it.
private indirect enum ComponentType {
    case bool, int, double, string, bytes
    case optional(ComponentType)
    case array(ComponentType)
    case descending(ComponentType)

    static func random(_ generator: inout SeededGenerator, depth: Int = 0) -> ComponentType {
        switch generator.below(depth < 3 ? 8 : 5) {
        case 0: .bool
        case 1: .int
        case 2: .double
        case 3: .string
        case 4: .bytes
        case 5: .optional(random(&generator, depth: depth + 1))
        case 6: .array(random(&generator, depth: depth + 1))
        default: .descending(random(&generator, depth: depth + 1))
        }
    }

    var shape: KeyShape {
        switch self {
        case .bool: .fixed(1)
        case .int: .fixed(2)
        case .double: .fixed(8)
        case .string, .bytes: .terminated
        case .optional(let wrapped): .optional(wrapped.shape)
        case .array(let element): .array(element.shape)
        case .descending(let inner): .descending(inner.shape)
        }
    }

    /// One of few values, so that many are equal and the next component decides.
    func value(_ generator: inout SeededGenerator) -> ComponentValue {
        switch self {
        case .bool: .bool(generator.oneIn(2))
        case .int: .int([-300, -1, 0, 1, 255, 256][generator.below(6)])
        case .double: .double([-.infinity, -1.5, 0, 0.25, .nan][generator.below(5)])
        case .string: .string(["", "\0", "a", "a\0", "a\u{1}", "ab", "é", "e\u{301}"][generator.below(8)])
        case .bytes: .bytes([[], [0], [0, 0], [0, 255], [1], [255]][generator.below(6)])
        case .optional(let wrapped): generator.oneIn(3) ? .none : .some(wrapped.value(&generator))
        case .array(let element): .array((0..<generator.below(4)).map { _ in element.value(&generator) })
        case .descending(let inner): inner.value(&generator)
        }
    }
}

private indirect enum ComponentValue {
    case bool(Bool)
    case int(Int16)
    case double(Double)
    case string(String)
    case bytes([UInt8])
    case none
    case some(ComponentValue)
    case array([ComponentValue])
}

private func modelOrder(_ left: ComponentValue, _ right: ComponentValue, _ type: ComponentType) -> Int {
    switch (type, left, right) {
    case (.descending(let inner), _, _): return modelOrder(right, left, inner)
    case (_, .bool(let left), .bool(let right)): return order(left ? 1 : 0, right ? 1 : 0)
    case (_, .int(let left), .int(let right)): return order(left, right)
    case (_, .double(let left), .double(let right)): return Samples.order(left, right)
    case (_, .string(let left), .string(let right)): return order(left, right)
    case (_, .bytes(let left), .bytes(let right)): return order(left, right)
    case (_, .none, .none): return 0
    case (_, .none, _): return -1
    case (_, _, .none): return 1
    case (.optional(let wrapped), .some(let left), .some(let right)): return modelOrder(left, right, wrapped)
    case (.array(let element), .array(let left), .array(let right)):
        for (left, right) in zip(left, right) {
            let found = modelOrder(left, right, element)
            if found != 0 { return found }
        }
        return order(left.count, right.count)
    default: preconditionFailure("values of two types")
    }
}

private func write(_ value: ComponentValue, as type: ComponentType, to key: inout KeyWriter) {
    switch (type, value) {
    case (.descending(let inner), _): key.descending { write(value, as: inner, to: &$0) }
    case (_, .bool(let value)): key.append(value)
    case (_, .int(let value)): key.append(value)
    case (_, .double(let value)): key.append(value)
    case (_, .string(let value)): key.append(value)
    case (_, .bytes(let value)): key.append(bytes: value)
    case (.optional(let wrapped), .none):
        key.append(optional: ComponentValue?.none) { write($1, as: wrapped, to: &$0) }
    case (.optional(let wrapped), .some(let value)):
        key.append(optional: Optional(value)) { write($1, as: wrapped, to: &$0) }
    case (.array(let element), .array(let values)):
        key.append(array: values) { write($1, as: element, to: &$0) }
    default: preconditionFailure("a value of another type")
    }
}

private func read(_ type: ComponentType, from reader: inout KeyReader) throws(KeyError) -> ComponentValue {
    switch type {
    case .bool: return .bool(try reader.readBool())
    case .int: return .int(try reader.read(Int16.self))
    case .double: return .double(try reader.readDouble())
    case .string: return .string(try reader.readString())
    case .bytes: return .bytes(try reader.readBytes())
    case .optional(let wrapped):
        let value = try reader.readOptional { (reader) throws(KeyError) in try read(wrapped, from: &reader) }
        return value.map { .some($0) } ?? .none
    case .array(let element):
        return .array(try reader.readArray { (reader) throws(KeyError) in try read(element, from: &reader) })
    case .descending(let inner):
        return try reader.descending { (reader) throws(KeyError) in try read(inner, from: &reader) }
    }
}

@Suite("Compound keys")
struct CompoundKeysTests {
    private typealias Tuple = [ComponentValue]

    private func modelOrder(_ left: Tuple, _ right: Tuple, _ schema: [ComponentType]) -> Int {
        for (type, (left, right)) in zip(schema, zip(left, right)) {
            let found = HornbeamKeysTests.modelOrder(left, right, type)
            if found != 0 { return found }
        }
        return 0
    }

    @Test("Tuples of any schema sort component by component, nil first, descending ones inverted", .seeded)
    func order() {
        var generator = SeededGenerator()
        for _ in 0..<80 {
            let schema = (0...generator.below(4)).map { _ in ComponentType.random(&generator) }
            let tuples = (0..<40).map { _ in schema.map { $0.value(&generator) } }
            expectSameOrder(of: tuples, model: { modelOrder($0, $1, schema) }) { key, tuple in
                for (type, value) in zip(schema, tuple) { write(value, as: type, to: &key) }
            }
        }
    }

    @Test("Each tuple comes back, its first components are a prefix, and skipping ends where reading ends", .seeded)
    func roundTrips() throws {
        var generator = SeededGenerator()
        for _ in 0..<600 {
            let schema = (0...generator.below(4)).map { _ in ComponentType.random(&generator) }
            let tuple = schema.map { $0.value(&generator) }
            var key = KeyWriter()
            var ends: [Int] = []
            for (type, value) in zip(schema, tuple) {
                write(value, as: type, to: &key)
                ends.append(key.bytes.count)
            }
            try key.bytes.withUnsafeBytes { bytes in
                var reader = KeyReader(bytes)
                var skipper = KeyReader(bytes)
                for (type, (value, end)) in zip(schema, zip(tuple, ends)) {
                    let back = try read(type, from: &reader)
                    try skipper.skip(type.shape)
                    let isSame = HornbeamKeysTests.modelOrder(back, value, type) == 0
                    #expect(
                        isSame && reader.offset == end && skipper.offset == end,
                        "\(type) \(value)")
                }
                try reader.expectEnd()
            }
        }
    }

    @Test("No component is a prefix of another: each shortened one is refused", .seeded)
    func cutShort() {
        var generator = SeededGenerator()
        for _ in 0..<300 {
            let type = ComponentType.random(&generator)
            var key = KeyWriter()
            write(type.value(&generator), as: type, to: &key)
            for count in 0..<key.bytes.count {
                key.bytes[..<count].withUnsafeBytes { bytes in
                    var reader = KeyReader(bytes)
                    var skipper = KeyReader(bytes)
                    let value = try? read(type, from: &reader)
                    let skipped: Void? = try? skipper.skip(type.shape)
                    #expect(value == nil && skipped == nil, "\(type) \(key.bytes) \(count)")
                }
            }
        }
    }

    @Test("Reading any bytes ends with a value or an error", .seeded)
    func garbage() {
        var generator = SeededGenerator()
        let edges: [UInt8] = [0, 1, 2, 0x61, 0x7F, 0x80, 0xC3, 0xFE, 0xFF]
        for _ in 0..<20_000 {
            let type = ComponentType.random(&generator)
            let bytes = (0..<generator.below(16)).map { _ in edges[generator.below(edges.count)] }
            bytes.withUnsafeBytes { bytes in
                var reader = KeyReader(bytes)
                guard let value = try? read(type, from: &reader) else { return }
                var key = KeyWriter()
                write(value, as: type, to: &key)
                // All types except strings have only one encoding; bytes need not be composed.
                if case .string = value { return }
                if case .int = value {
                    #expect(key.bytes == Array(bytes[..<reader.offset]))
                }
                #expect(reader.offset <= bytes.count)
            }
        }
    }

    @Test("The key of an array's first items is a prefix of the keys of exactly the arrays with these items", .seeded)
    func arrayPrefixes() {
        var generator = SeededGenerator()
        let type = ComponentType.optional(.string)
        func items() -> [ComponentValue] { (0..<generator.below(4)).map { _ in type.value(&generator) } }
        for _ in 0..<1500 {
            let prefix = items()
            let whole = generator.oneIn(2) ? prefix + items() : items()
            let isPrefix =
                prefix.count <= whole.count
                && zip(prefix, whole).allSatisfy { HornbeamKeysTests.modelOrder($0, $1, type) == 0 }
            let prefixBytes = key { $0.append(arrayPrefix: prefix) { write($1, as: type, to: &$0) } }
            let wholeBytes = key { $0.append(array: whole) { write($1, as: type, to: &$0) } }
            #expect(wholeBytes.starts(with: prefixBytes) == isPrefix)
        }
    }

    @Test("A writer starts over, goes back to a prefix, and inverts twice to the original")
    func writer() {
        var key = KeyWriter(capacity: 32)
        key.append(Int32(7))
        let count = key.bytes.count
        key.append("text")
        key.truncate(to: count)
        #expect(key.bytes == [0x80, 0, 0, 7])
        key.removeAll()
        key.descending { key in key.descending { $0.append("a") } }
        #expect(key.bytes == [0x61, 0])
    }

    @Test("Bytes after the last component are refused")
    func trailingBytes() throws {
        #expect(throws: KeyError.malformed(offset: 1, reason: "1 bytes follow the last component")) {
            try reading([1, 9]) { reader in
                _ = try reader.readBool()
                #expect(!reader.isAtEnd && reader.remaining == 1)
                try reader.expectEnd()
            }
        }
    }
}
