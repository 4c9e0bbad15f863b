// SPDX-License-Identifier: Apache-2.0
// Builds the bytes of one row. Code that the macro writes calls `write(_:column:)` for each stored property; which
// overload that is, the property's type decides (see RowOverloads.swift). The first failure is kept and thrown by
// `finish`, so that writing needs no `try` for each property.

import HornbeamPages

/// A row in the making. Columns may be written in any order; those never written are null.
public struct RowWriter {
    let layout: RowLayout
    private var bytes: [UInt8]
    private let fixedStart: Int
    private let variableStart: Int
    /// Where the bytes of each variable column lie in `bytes`, by stored position; empty until one is written.
    private var spans: [Range<Int>] = []
    private var lastVariable = -1
    private var isInOrder = true
    private var failure: HornbeamError?

    package init(layout: RowLayout) {
        self.layout = layout
        let count = layout.fields.count
        fixedStart = RowLayout.headerSize(columns: count)
        variableStart = fixedStart + layout.fixedSizes[count]
        bytes = []
        bytes.reserveCapacity(variableStart + 64)
        bytes.append(UInt8(truncatingIfNeeded: count))
        bytes.append(UInt8(truncatingIfNeeded: count >> 8))
        for _ in 2..<fixedStart { bytes.append(0xFF) }
        for _ in fixedStart..<variableStart { bytes.append(0) }
    }

    /// The finished row, or the first error that writing met.
    package consuming func finish() throws(HornbeamError) -> [UInt8] {
        if let failure { throw failure }
        guard bytes.count - variableStart <= Int(UInt32.max) else {
            throw HornbeamError(.tooLarge, "a row of \(bytes.count) bytes is too large: the limit is 4 GiB")
        }
        guard !spans.isEmpty || layout.fields.contains(where: \.isVariable) else { return bytes }
        return isInOrder ? finishInOrder() : reassemble()
    }

    private consuming func finishInOrder() -> [UInt8] {
        var end = 0
        for column in layout.columns {
            let field = layout.fields[column]
            guard field.isVariable else { continue }
            if !spans.isEmpty, spans[field.stored].upperBound > 0 {
                end = spans[field.stored].upperBound - variableStart
            }
            store(UInt64(end), at: field.offset, width: 4)
        }
        return bytes
    }

    private consuming func reassemble() -> [UInt8] {
        var row = Array(bytes[0..<variableStart])
        for column in layout.columns {
            let field = layout.fields[column]
            guard field.isVariable else { continue }
            row.append(contentsOf: bytes[spans[field.stored]])
            let end = row.count - variableStart
            for byte in 0..<4 {
                row[fixedStart + field.offset + byte] = UInt8(truncatingIfNeeded: end >> (8 * byte))
            }
        }
        return row
    }

    /// Keeps the first of all failures.
    mutating func fail(_ code: HornbeamError.Code, _ message: String) {
        if failure == nil { failure = HornbeamError(code, message) }
    }

    private mutating func mismatch(_ field: RowLayout.Field, _ what: String) {
        fail(.invalid, "property “\(field.name)” is stored as \(field.type): it can't hold \(what)")
    }

    private mutating func field(_ column: Int) -> RowLayout.Field? {
        guard layout.fields.indices.contains(column) else {
            fail(.invalid, "there is no column \(column): the type has \(layout.fields.count)")
            return nil
        }
        return layout.fields[column]
    }

    private mutating func markPresent(_ field: RowLayout.Field) {
        bytes[2 + field.stored / 8] &= ~(1 << UInt8(field.stored % 8))
    }

    @inline(__always)
    private mutating func store(_ value: UInt64, at offset: Int, width: Int) {
        let start = fixedStart &+ offset
        bytes.withUnsafeMutableBytes { bytes in
            switch width {
            case 8: bytes.storeBytes(of: value.littleEndian, toByteOffset: start, as: UInt64.self)
            case 4:
                let value = UInt32(truncatingIfNeeded: value).littleEndian
                bytes.storeBytes(of: value, toByteOffset: start, as: UInt32.self)
            case 2:
                let value = UInt16(truncatingIfNeeded: value).littleEndian
                bytes.storeBytes(of: value, toByteOffset: start, as: UInt16.self)
            default: bytes[start] = UInt8(truncatingIfNeeded: value)
            }
        }
    }

    /// Makes place for the bytes of a variable column and says whether the column is one.
    private mutating func beginVariable(_ field: RowLayout.Field) -> Bool {
        guard field.isVariable else { return false }
        if spans.isEmpty { spans = [Range<Int>](repeating: 0..<0, count: layout.fields.count) }
        if field.stored <= lastVariable { isInOrder = false }
        lastVariable = field.stored
        return true
    }

    private mutating func endVariable(_ field: RowLayout.Field, from start: Int) {
        spans[field.stored] = start..<bytes.count
        markPresent(field)
    }
}

// Raw columns: the fast paths of the known types.
extension RowWriter {
    @usableFromInline
    package mutating func setNull(_ column: Int) {
        guard let field = field(column) else { return }
        bytes[2 + field.stored / 8] |= 1 << UInt8(field.stored % 8)
        if field.isVariable, !spans.isEmpty, !spans[field.stored].isEmpty {
            spans[field.stored] = 0..<0
            isInOrder = false
        }
    }

    @usableFromInline
    package mutating func setBool(_ value: Bool, _ column: Int) {
        guard let field = field(column) else { return }
        guard field.type == .bool else { return mismatch(field, "a Bool") }
        store(value ? 1 : 0, at: field.offset, width: 1)
        markPresent(field)
    }

    @usableFromInline
    package mutating func setInt(_ value: Int64, _ column: Int) {
        guard let field = field(column) else { return }
        let fits: Bool =
            switch field.type {
            case .int8: Int8(exactly: value) != nil
            case .int16: Int16(exactly: value) != nil
            case .int32: Int32(exactly: value) != nil
            case .int64: true
            default: false
            }
        guard fits else { return mismatch(field, "the integer \(value)") }
        store(UInt64(bitPattern: value), at: field.offset, width: field.width)
        markPresent(field)
    }

    @usableFromInline
    package mutating func setUInt(_ value: UInt64, _ column: Int) {
        guard let field = field(column) else { return }
        let fits: Bool =
            switch field.type {
            case .uint8: UInt8(exactly: value) != nil
            case .uint16: UInt16(exactly: value) != nil
            case .uint32: UInt32(exactly: value) != nil
            case .uint64: true
            default: false
            }
        guard fits else { return mismatch(field, "the unsigned integer \(value)") }
        store(value, at: field.offset, width: field.width)
        markPresent(field)
    }

    /// Float, double and date columns.
    package mutating func setDouble(_ value: Double, _ column: Int) {
        guard let field = field(column) else { return }
        switch field.type {
        case .float: store(UInt64(Float(value).bitPattern), at: field.offset, width: 4)
        case .double, .date: store(value.bitPattern, at: field.offset, width: 8)
        default: return mismatch(field, "a floating-point number")
        }
        markPresent(field)
    }

    package mutating func setString(_ value: String, _ column: Int) {
        guard let field = field(column) else { return }
        switch field.type {
        case .string, .url, .json: break
        default: return mismatch(field, "a string")
        }
        guard beginVariable(field) else { return }
        let start = bytes.count
        var value = value
        value.withUTF8 { bytes.append(contentsOf: $0) }
        endVariable(field, from: start)
    }

    /// The bytes of a column as a row of the same layout holds them; nil is null.
    mutating func setRaw(_ raw: Bytes?, _ column: Int) {
        guard let field = field(column) else { return }
        guard let raw else { return setNull(column) }
        if beginVariable(field) {
            let start = bytes.count
            bytes.append(contentsOf: raw)
            endVariable(field, from: start)
        } else {
            guard raw.count == field.width else { return mismatch(field, "\(raw.count) bytes") }
            for (index, byte) in raw.enumerated() { bytes[fixedStart + field.offset + index] = byte }
            markPresent(field)
        }
    }

    /// Any value that fits the column.
    package mutating func set(_ value: Value, _ column: Int) {
        guard let field = field(column) else { return }
        if value == .null { return setNull(column) }
        guard let converted = value.converted(to: field.type) else { return mismatch(field, "\(value)") }
        if beginVariable(field) {
            let start = bytes.count
            guard ValueBytes.append(converted, as: field.type, to: &bytes) else { return mismatch(field, "\(value)") }
            endVariable(field, from: start)
        } else {
            var fixed: [UInt8] = []
            guard ValueBytes.append(converted, as: field.type, to: &fixed), fixed.count == field.width else {
                return mismatch(field, "\(value)")
            }
            for (index, byte) in fixed.enumerated() { bytes[fixedStart + field.offset + index] = byte }
            markPresent(field)
        }
    }
}
