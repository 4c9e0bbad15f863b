// SPDX-License-Identifier: Apache-2.0
// The keys that map functions emit, whose type is known only at run time. Their order is that of dynamic values in
// Docs/keys.md: null, false, true, numbers, strings, arrays, dictionaries.

public import FoundationEssentials
import HornbeamKeys

/// A key of a map index, of any type that JSON has. The order is: null, false, true, numbers by their exact values,
/// strings by the index's collation, arrays item by item, dictionaries entry by entry. An array comes after its
/// beginnings.
///
/// It is `Equatable` and not `Comparable`: the order of strings is the index's. It can also be a value that an index
/// emits.
public enum MapKey: Sendable {
    case null
    case bool(Bool)
    case int(Int)
    case uint(UInt64)
    case double(Double)
    case string(String)
    case array([MapKey])
    /// A dictionary. It is allowed, but of little use as a key: entries are compared in the order of their keys.
    case dictionary([String: MapKey])

    /// Makes a key of a date: the number of seconds since 2001-01-01 00:00 UTC. The property `date` returns the date.
    public static func date(_ date: Date) -> MapKey { .double(date.timeIntervalSinceReferenceDate) }

    /// The date with this number of seconds since 2001-01-01 00:00 UTC. Nil if the key isn't a number.
    public var date: Date? { number.map { Date(timeIntervalSinceReferenceDate: $0) } }

    /// The `Double` nearest to the number. Nil if the key isn't a number.
    private var number: Double? {
        switch self {
        case .int(let value): Double(value)
        case .uint(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    init(_ value: DynamicValue) {
        switch value {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .int(let value): self = .int(Int(value))
        case .uint(let value): self = .uint(value)
        case .double(let value): self = .double(value)
        case .string(let value): self = .string(value)
        case .array(let items): self = .array(items.map { MapKey($0) })
        case .dictionary(let entries): self = .dictionary(entries.mapValues { MapKey($0) })
        }
    }

    var dynamic: DynamicValue {
        switch self {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(let value): .int(Int64(value))
        case .uint(let value): .uint(value)
        case .double(let value): .double(value)
        case .string(let value): .string(value)
        case .array(let items): .array(items.map(\.dynamic))
        case .dictionary(let entries): .dictionary(entries.mapValues(\.dynamic))
        }
    }

    /// Returns the key's bytes under a collation. Throws `.invalid` if the key is nested too deep or the collation
    /// can't sort it.
    func bytes(_ collator: Collator) throws(HornbeamError) -> [UInt8] {
        do throws(KeyError) {
            var writer = KeyWriter(capacity: 32)
            try writer.append(dynamic, collator: collator)
            return writer.bytes
        } catch {
            throw HornbeamError(.invalid, "\("\(self)".shown()) can't be a key: \(error)")
        }
    }

    /// Reads a key from all of the bytes. Returns nil if they aren't a key.
    init?(_ bytes: UnsafeRawBufferPointer, _ collation: Collation) {
        var reader = KeyReader(bytes)
        guard let value = try? reader.readDynamic(collation), reader.isAtEnd else { return nil }
        self.init(value)
    }
}

extension MapKey: Hashable {
    /// Compares by value: 1 and 1.0 are the same key.
    public static func == (left: MapKey, right: MapKey) -> Bool { left.dynamic == right.dynamic }

    public func hash(into hasher: inout Hasher) {
        // Equal keys have equal bytes.
        hasher.combine((try? bytes(.binary)) ?? [])
    }
}

extension MapKey: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral items: MapKey...) { self = .array(items) }
    /// If a key occurs twice, its last value counts.
    public init(dictionaryLiteral entries: (String, MapKey)...) {
        self = .dictionary(Dictionary(entries) { _, last in last })
    }
}

extension MapKey: ColumnValue {
    public static var columnType: ColumnType { .data }

    /// The key as data. Null if it is nested too deep to be stored.
    public var columnValue: Hornbeam.Value { (try? bytes(.binary)).map { .data(Data($0)) } ?? .null }

    public init?(columnValue: Hornbeam.Value) {
        guard case .data(let data) = columnValue, let key = data.withUnsafeBytes({ MapKey($0, .binary) }) else {
            return nil
        }
        self = key
    }
}

extension MapKey: CustomStringConvertible {
    /// The key like JSON, except that strings are not escaped.
    public var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .int(let value): "\(value)"
        case .uint(let value): "\(value)"
        case .double(let value): "\(value)"
        case .string(let value): "\"\(value)\""
        case .array(let items): "[" + items.map(\.description).joined(separator: ",") + "]"
        case .dictionary(let entries):
            "{" + entries.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
        }
    }
}

/// A `Codable` type whose values a map index can emit. They are stored as JSON.
/// `struct Line: EmittedValue { var text: String; var price: Double }`
public protocol EmittedValue: ColumnValue, Codable {}

extension EmittedValue {
    public static var columnType: ColumnType { .json }

    /// The value as JSON. Null if it can't be encoded.
    public var columnValue: Value {
        (try? CodedJSON.text(self)).map { .json($0) } ?? .null
    }

    public init?(columnValue: Value) {
        guard case .json(let text) = columnValue, let value = try? CodedJSON.value(Self.self, of: text) else {
            return nil
        }
        self = value
    }
}

/// The type of values of a map index that emits only keys. It has no values.
public enum NoValue: ColumnValue {
    public static var columnType: ColumnType { .bool }
    public var columnValue: Value { .null }
    public init?(columnValue: Value) { return nil }
}
