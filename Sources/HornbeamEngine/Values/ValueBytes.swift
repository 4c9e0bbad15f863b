// SPDX-License-Identifier: Apache-2.0
// The bytes of one value in a row, and the conversions between the literals of different types. An array is a u32 count
// and its elements; an element is a byte 0 (nil) or 1 if the element type is optional, then its fixed bytes, or a u32
// length and its bytes. Everything read is validated: garbage gives an error, never a trap.

import FoundationEssentials
package import HornbeamPages

extension Value {
    /// The value in the form that a column of `type` holds, or nil if it doesn't fit. Numbers are converted only
    /// without loss, except that a float column rounds doubles.
    package func converted(to type: ColumnType) -> Value? {
        switch (type, self) {
        case (.optional(let wrapped), _): return self == .null ? .null : converted(to: wrapped)
        case (_, .null): return nil
        case (.bool, .bool), (.date, .date), (.uuid, .uuid), (.string, .string), (.data, .data),
            (.decimal, .decimal), (.json, .json):
            return self
        case (.url, .string(let text)): return URL(string: text) == nil ? nil : self
        case (.int8, _): return signed(in: Int64(Int8.min)...Int64(Int8.max))
        case (.int16, _): return signed(in: Int64(Int16.min)...Int64(Int16.max))
        case (.int32, _): return signed(in: Int64(Int32.min)...Int64(Int32.max))
        case (.int64, _): return signed(in: .min ... .max)
        case (.uint8, _): return unsigned(to: UInt64(UInt8.max))
        case (.uint16, _): return unsigned(to: UInt64(UInt16.max))
        case (.uint32, _): return unsigned(to: UInt64(UInt32.max))
        case (.uint64, _): return unsigned(to: .max)
        case (.float, _): return double.map { .double(Double(Float($0))) }
        case (.double, _): return double.map { .double($0) }
        case (.decimal, .int(let value)): return .decimal(Decimal(value))
        case (.decimal, .uint(let value)): return .decimal(Decimal(value))
        case (.array(let element), .array(let values)):
            var converted: [Value] = []
            converted.reserveCapacity(values.count)
            for value in values {
                guard let one = value.converted(to: element) else { return nil }
                converted.append(one)
            }
            return .array(converted)
        default: return nil
        }
    }

    private func signed(in range: ClosedRange<Int64>) -> Value? {
        let exact: Int64? =
            switch self {
            case .int(let value): value
            case .uint(let value): Int64(exactly: value)
            case .double(let value): Int64(exactly: value)
            default: nil
            }
        return exact.flatMap { range.contains($0) ? .int($0) : nil }
    }

    private func unsigned(to maximum: UInt64) -> Value? {
        let exact: UInt64? =
            switch self {
            case .int(let value): UInt64(exactly: value)
            case .uint(let value): value
            case .double(let value): UInt64(exactly: value)
            default: nil
            }
        return exact.flatMap { $0 <= maximum ? .uint($0) : nil }
    }

    private var double: Double? {
        switch self {
        case .double(let value): value
        case .int(let value): Double(exactly: value)
        case .uint(let value): Double(exactly: value)
        default: nil
        }
    }
}

/// Encoding and decoding of single values by column type.
package enum ValueBytes {
    /// Appends the bytes of a value that was converted to `type`. Returns false if it doesn't fit the type.
    package static func append(_ value: Value, as type: ColumnType, to bytes: inout [UInt8]) -> Bool {
        switch (type, value) {
        case (.optional(let wrapped), _): return append(value, as: wrapped, to: &bytes)
        case (.bool, .bool(let flag)): bytes.append(flag ? 1 : 0)
        case (_, .int(let number)):
            guard let width = type.fixedWidth, width <= 8 else { return false }
            appendLittle(UInt64(bitPattern: number), width, to: &bytes)
        case (_, .uint(let number)):
            guard let width = type.fixedWidth, width <= 8 else { return false }
            appendLittle(number, width, to: &bytes)
        case (.float, .double(let number)): appendLittle(UInt64(Float(number).bitPattern), 4, to: &bytes)
        case (.double, .double(let number)), (.date, .date(let number)): appendLittle(number.bitPattern, 8, to: &bytes)
        case (.uuid, .uuid(let id)): withUnsafeBytes(of: id.uuid) { bytes.append(contentsOf: $0) }
        case (.string, .string(let text)), (.url, .string(let text)), (.json, .json(let text)):
            bytes.append(contentsOf: text.utf8)
        case (.data, .data(let data)): bytes.append(contentsOf: data)
        case (.decimal, .decimal(let number)): bytes.append(contentsOf: text(of: number).utf8)
        case (.array(let element), .array(let values)): return appendArray(values, element, to: &bytes)
        default: return false
        }
        return true
    }

    private static func appendArray(_ values: [Value], _ element: ColumnType, to bytes: inout [UInt8]) -> Bool {
        guard let count = UInt32(exactly: values.count) else { return false }
        appendLittle(UInt64(count), 4, to: &bytes)
        let isFixed = element.fixedWidth != nil
        for value in values {
            if element.isOptional {
                bytes.append(value == .null ? 0 : 1)
                if value == .null { continue }
            }
            if isFixed {
                guard append(value, as: element, to: &bytes) else { return false }
            } else {
                let mark = bytes.count
                appendLittle(0, 4, to: &bytes)
                guard append(value, as: element, to: &bytes),
                    let length = UInt32(exactly: bytes.count - mark - 4)
                else { return false }
                for byte in 0..<4 { bytes[mark + byte] = UInt8(truncatingIfNeeded: length >> UInt32(8 * byte)) }
            }
        }
        return true
    }

    package static func appendLittle(_ value: UInt64, _ width: Int, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0.prefix(width)) }
    }

    /// The value that all of these bytes encode. Returns nil if they aren't valid for the type.
    package static func decode(_ bytes: Bytes, as type: ColumnType) -> Value? {
        if let width = type.fixedWidth, bytes.count != width { return nil }
        switch type {
        case .optional(let wrapped): return decode(bytes, as: wrapped)
        case .bool: return bytes[0] > 1 ? nil : .bool(bytes[0] == 1)
        case .int8, .int16, .int32, .int64: return .int(signed(bytes))
        case .uint8, .uint16, .uint32, .uint64: return .uint(unsigned(bytes))
        case .float: return .double(Double(Float(bitPattern: UInt32(truncatingIfNeeded: unsigned(bytes)))))
        case .double: return .double(Double(bitPattern: unsigned(bytes)))
        case .date: return .date(Double(bitPattern: unsigned(bytes)))
        case .uuid: return .uuid(UUID(uuid: bytes.loadUnaligned(as: uuid_t.self)))
        case .string, .url: return string(bytes).map { .string($0) }
        case .json: return string(bytes).map { .json($0) }
        case .data: return .data(Data(bytes))
        case .decimal: return string(bytes).flatMap(decimal).map { .decimal($0) }
        case .array(let element): return array(bytes, element).map { .array($0) }
        }
    }

    private static func array(_ bytes: Bytes, _ element: ColumnType) -> [Value]? {
        guard bytes.count >= 4 else { return nil }
        let count = Int(unsigned(Bytes(rebasing: bytes[0..<4])))
        var at = 4
        // Every element takes a byte at least, so a false count can't ask for much memory.
        guard count <= bytes.count - 4 else { return nil }
        var values: [Value] = []
        values.reserveCapacity(count)
        func take(_ size: Int) -> Bytes? {
            guard size <= bytes.count - at else { return nil }
            defer { at += size }
            return Bytes(rebasing: bytes[at..<at + size])
        }
        for _ in 0..<count {
            if element.isOptional {
                guard let flag = take(1), flag[0] <= 1 else { return nil }
                if flag[0] == 0 {
                    values.append(.null)
                    continue
                }
            }
            var size = element.fixedWidth
            if size == nil {
                guard let length = take(4) else { return nil }
                size = Int(unsigned(length))
            }
            guard let size, let payload = take(size), let value = decode(payload, as: element) else { return nil }
            values.append(value)
        }
        return at == bytes.count ? values : nil
    }

    /// Returns the little-endian number in one to eight bytes.
    package static func unsigned(_ bytes: Bytes) -> UInt64 {
        if bytes.count == 8 { return UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)) }
        var value: UInt64 = 0
        for byte in bytes.reversed() { value = value << 8 | UInt64(byte) }
        return value
    }

    static func signed(_ bytes: Bytes) -> Int64 {
        let shift = UInt64(64 - 8 * bytes.count)
        return Int64(bitPattern: unsigned(bytes) << shift) >> Int64(shift)
    }

    /// Decodes UTF-8. Returns nil if the bytes are no UTF-8.
    @inline(__always)
    package static func string(_ bytes: Bytes) -> String? {
        if let words = ShortString.words(ofASCII: bytes) { return unsafeBitCast(words, to: String.self) }
        return validated(bytes)
    }

    private static func validated(_ bytes: Bytes) -> String? {
        // `String(validating:as:)` is generic and isn't specialized here.
        bytes.withMemoryRebound(to: UInt8.self) { (text) -> String? in
            // Most text is ASCII. Testing that by whole words takes a third of the time of validating.
            if isASCII(bytes) { return String(copying: unsafe UTF8Span(unchecked: text.span, isKnownASCII: true)) }
            do throws(UTF8.ValidationError) {
                return String(copying: try UTF8Span(validating: text.span))
            } catch {
                return nil
            }
        }
    }

    /// Whether these are at least eight bytes, all of them ASCII.
    private static func isASCII(_ bytes: Bytes) -> Bool {
        let last = bytes.count &- 8
        guard last >= 0 else { return false }
        var all = bytes.loadUnaligned(fromByteOffset: last, as: UInt64.self)
        var place = 0
        while place < last {
            all |= bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            place &+= 8
        }
        return all & 0x8080_8080_8080_8080 == 0
    }

    /// The exact decimal text, without an exponent or a locale's spelling.
    static func text(of decimal: Decimal) -> String { decimal.description }

    static func decimal(_ text: String) -> Decimal? {
        text == "NaN" ? Decimal.nan : Decimal(string: text)
    }
}
