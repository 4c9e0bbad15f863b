// SPDX-License-Identifier: Apache-2.0
// The types a stored property can have on disk. All reading and ordering of raw columns depends on them. Only the typed
// layer knows the Swift type of a column.

/// The form of a column in a row, and the order of its values.
public indirect enum ColumnType: Hashable, Sendable {
    case bool
    case int8, int16, int32, int64
    case uint8, uint16, uint32, uint64
    case float, double
    /// Seconds since 2001-01-01 00:00 UTC, as a double.
    case date
    case uuid
    case string
    case url
    case data
    case decimal
    /// JSON of a `Codable` value: can be stored and read, not ordered or indexed.
    case json
    case array(ColumnType)
    case optional(ColumnType)
}

extension ColumnType {
    /// Bytes in a row's fixed area, or nil for a type of varying size.
    package var fixedWidth: Int? {
        switch self {
        case .bool, .int8, .uint8: 1
        case .int16, .uint16: 2
        case .int32, .uint32, .float: 4
        case .int64, .uint64, .double, .date: 8
        case .uuid: 16
        case .string, .url, .data, .decimal, .json, .array: nil
        case .optional(let wrapped): wrapped.fixedWidth
        }
    }

    /// The type without its optionality. Nested optionals collapse to one: nil is nil at any depth.
    package var unwrapped: ColumnType {
        if case .optional(let wrapped) = self { return wrapped.unwrapped }
        return self
    }

    package var isOptional: Bool {
        if case .optional = self { return true }
        return false
    }

    /// The least and the greatest value of an integer type in words; empty for other types.
    var bounds: String { integers.map { "\($0.lowerBound) to \($0.upperBound)" } ?? "" }

    /// The integers that it holds; nil for other types.
    package var integers: ClosedRange<Int128>? {
        func range<Integer: FixedWidthInteger>(_: Integer.Type) -> ClosedRange<Int128> {
            Int128(Integer.min)...Int128(Integer.max)
        }
        return switch unwrapped {
        case .int8: range(Int8.self)
        case .int16: range(Int16.self)
        case .int32: range(Int32.self)
        case .int64: range(Int64.self)
        case .uint8: range(UInt8.self)
        case .uint16: range(UInt16.self)
        case .uint32: range(UInt32.self)
        case .uint64: range(UInt64.self)
        default: nil
        }
    }

    /// Whether values have an order-preserving key, so that an index or a raw sort can use the column.
    package var isOrdered: Bool {
        switch unwrapped {
        case .json, .array: false
        default: true
        }
    }
}

extension ColumnType: CustomStringConvertible, Codable {
    /// The schema's spelling: `int64`, `string?`, `[uuid]`.
    public var description: String {
        switch self {
        case .optional(let wrapped): "\(wrapped)?"
        case .array(let element): "[\(element)]"
        default: Self.names.first { $0.1 == self }?.0 ?? "json"
        }
    }

    /// The spelling with its article: `an int64`, `a string?`.
    package var withArticle: String { description.withArticle }

    private static let names: [(String, ColumnType)] = [
        ("bool", .bool), ("int8", .int8), ("int16", .int16), ("int32", .int32), ("int64", .int64),
        ("uint8", .uint8), ("uint16", .uint16), ("uint32", .uint32), ("uint64", .uint64),
        ("float", .float), ("double", .double), ("date", .date), ("uuid", .uuid), ("string", .string),
        ("url", .url), ("data", .data), ("decimal", .decimal), ("json", .json),
    ]

    /// Maximum nesting depth of a type. The spelling comes from the file, and parsing uses stack for each level.
    static let maximumDepth = 16

    /// Parses the schema's spelling. Returns nil if the text is no type, or is nested deeper than `maximumDepth`.
    package init?(_ text: some StringProtocol) {
        self.init(Substring(text), depth: 0)
    }

    private init?(_ text: Substring, depth: Int) {
        guard depth <= Self.maximumDepth else { return nil }
        if text.hasSuffix("?") {
            guard let wrapped = ColumnType(text.dropLast(), depth: depth + 1) else { return nil }
            self = .optional(wrapped)
        } else if text.hasPrefix("["), text.hasSuffix("]") {
            guard let element = ColumnType(text.dropFirst().dropLast(), depth: depth + 1) else { return nil }
            self = .array(element)
        } else if let known = Self.names.first(where: { $0.0 == text }) {
            self = known.1
        } else {
            return nil
        }
    }

    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let type = ColumnType(text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "unknown column type “\(text)”"))
        }
        self = type
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
