// SPDX-License-Identifier: Apache-2.0
// Builds the bytes of one row. In code that the macro writes, the form of each stored property writes its value (see
// ColumnForms.swift). The first failure is kept and thrown by `finish`, so that writing needs no `try` for each
// property.

package import HornbeamPages

/// Builds a row. Columns may be written in any order; a column that isn't written is null.
public struct RowWriter {
    let layout: RowLayout
    private var bytes: [UInt8]
    private let fixedStart: Int
    private let variableStart: Int
    /// The number of variable columns that were written, and the stored position of the last one. They count only while
    /// columns are written in their order; the fixed area then has the end of each column.
    private var written = 0
    private var lastVariable = -1
    /// The range of each variable column's bytes in `bytes`, by stored position. Empty while columns are written in
    /// order.
    private var spans: [Range<Int>] = []
    private var failure: HornbeamError?
    /// Whether the failure is one of a property; its message then needs the entity.
    private var isOfProperty = false

    package init(layout: RowLayout) {
        self.layout = layout
        fixedStart = RowLayout.headerSize(columns: layout.count)
        variableStart = layout.emptyRow.count
        // Enough for most rows, so that memory is allocated once.
        bytes = []
        bytes.reserveCapacity(layout.emptyRow.count + 200)
        bytes.append(contentsOf: layout.emptyRow)
    }

    /// Returns the finished row. Throws the first error of writing it.
    /// - Parameter owner: describes the row's entity in errors; nil for the name of the type alone.
    package mutating func finish(of owner: @autoclosure () -> String? = nil) throws(HornbeamError) -> [UInt8] {
        if let failure { throw named(failure, owner()) }
        guard bytes.count - variableStart <= Int(UInt32.max) else {
            throw HornbeamError(
                .tooLarge,
                "a row of \(layout.type) takes \(bytes.count) bytes, the limit is 4 GiB: split the entity, or keep its "
                    + "large values in files")
        }
        if !spans.isEmpty { return reassemble() }
        if written < layout.variableCount { endUnwritten() }
        return bytes
    }

    private func named(_ failure: HornbeamError, _ owner: String?) -> HornbeamError {
        let owner = owner ?? layout.type
        guard isOfProperty, !owner.isEmpty else { return failure }
        return HornbeamError(failure.code, "\(owner): \(failure.message)")
    }

    /// A variable column that was not written ends where the one before it does.
    private mutating func endUnwritten() {
        var end = 0
        for column in layout.columns {
            let place = layout.places[column]
            guard place.isVariable else { continue }
            if isWritten(place) { end = storedEnd(of: place) } else { store(UInt64(end), at: place.offset, width: 4) }
        }
    }

    private func reassemble() -> [UInt8] {
        var row = Array(bytes[0..<variableStart])
        for column in layout.columns {
            let place = layout.places[column]
            guard place.isVariable else { continue }
            row.append(contentsOf: bytes[spans[place.stored]])
            let end = row.count - variableStart
            for byte in 0..<4 {
                row[fixedStart + place.offset + byte] = UInt8(truncatingIfNeeded: end >> (8 * byte))
            }
        }
        return row
    }

    private func isWritten(_ place: RowLayout.Place) -> Bool { bytes[place.nullByte] & place.nullBit == 0 }

    /// The end of a variable column that was written in order.
    private func storedEnd(of place: RowLayout.Place) -> Int {
        bytes.withUnsafeBytes { bytes in
            Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: fixedStart + place.offset, as: UInt32.self)))
        }
    }

    /// Lets variable columns be written in any order, and repeatedly, from now on.
    private mutating func leaveOrder() {
        guard spans.isEmpty else { return }
        var spans = [Range<Int>](repeating: 0..<0, count: layout.count)
        var start = variableStart
        for column in layout.columns {
            let place = layout.places[column]
            guard place.isVariable, isWritten(place) else { continue }
            // Ends wrap in a row that is too large, which `finish` refuses.
            let end = max(start, variableStart + storedEnd(of: place))
            spans[place.stored] = start..<end
            start = end
        }
        self.spans = spans
    }

    /// Keeps the first of all failures.
    package mutating func fail(_ code: HornbeamError.Code, _ message: String) {
        if failure == nil { failure = HornbeamError(code, message) }
    }

    /// Keeps the failure of a property, if it is the first one: "property “name” " goes before the message.
    @inline(never)
    mutating func fail(column: Int, _ message: String) {
        guard failure == nil, place(column) != nil else { return }
        fail(.invalid, "property “\(layout.fields[column].name)” \(message)")
        isOfProperty = true
    }

    @inline(never)
    private mutating func mismatch(_ column: Int, _ what: String) {
        fail(
            column: column,
            "is stored as \(layout.fields[column].type): it can't hold \(what); give it a value that fits, or declare "
                + "a new property of the type that you need")
    }

    @inline(__always)
    private mutating func place(_ column: Int) -> RowLayout.Place? {
        guard column >= 0, column < layout.count else {
            fail(.invalid, "there is no column \(column): the type has \(layout.count)")
            return nil
        }
        return layout.places[column]
    }

    @inline(__always)
    private mutating func markPresent(_ place: RowLayout.Place) {
        bytes[place.nullByte] &= ~place.nullBit
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

    /// To be called before the bytes of a variable column are appended.
    private mutating func beginVariable(_ place: RowLayout.Place) {
        if place.stored <= lastVariable { leaveOrder() }
        lastVariable = max(lastVariable, place.stored)
    }

    /// To be called after the bytes were appended.
    /// - Parameter start: where they begin.
    private mutating func endVariable(_ place: RowLayout.Place, from start: Int) {
        if spans.isEmpty {
            // `finish` refuses too many bytes.
            store(UInt64(bytes.count - variableStart), at: place.offset, width: 4)
            written += 1
        } else {
            spans[place.stored] = start..<bytes.count
        }
        markPresent(place)
    }
}

// Raw columns: the fast paths of the known types.
extension RowWriter {
    @usableFromInline
    package mutating func setNull(_ column: Int) {
        guard let place = place(column) else { return }
        if place.isVariable, isWritten(place) {
            leaveOrder()
            spans[place.stored] = 0..<0
        }
        bytes[place.nullByte] |= place.nullBit
    }

    @usableFromInline
    package mutating func setBool(_ value: Bool, _ column: Int) {
        guard let place = place(column) else { return }
        guard place.kind == .bool else { return mismatch(column, "a Bool") }
        store(value ? 1 : 0, at: place.offset, width: 1)
        markPresent(place)
    }

    @usableFromInline
    package mutating func setInt(_ value: Int64, _ column: Int) {
        guard let place = place(column) else { return }
        let width: Int? =
            switch place.kind {
            case .int64: 8
            case .int32: Int32(exactly: value) != nil ? 4 : nil
            case .int16: Int16(exactly: value) != nil ? 2 : nil
            case .int8: Int8(exactly: value) != nil ? 1 : nil
            default: nil
            }
        guard let width else { return mismatch(column, "the integer \(value)") }
        store(UInt64(bitPattern: value), at: place.offset, width: width)
        markPresent(place)
    }

    @usableFromInline
    package mutating func setUInt(_ value: UInt64, _ column: Int) {
        guard let place = place(column) else { return }
        let width: Int? =
            switch place.kind {
            case .uint64: 8
            case .uint32: UInt32(exactly: value) != nil ? 4 : nil
            case .uint16: UInt16(exactly: value) != nil ? 2 : nil
            case .uint8: UInt8(exactly: value) != nil ? 1 : nil
            default: nil
            }
        guard let width else { return mismatch(column, "the unsigned integer \(value)") }
        store(value, at: place.offset, width: width)
        markPresent(place)
    }

    /// Float, double and date columns.
    package mutating func setDouble(_ value: Double, _ column: Int) {
        guard let place = place(column) else { return }
        switch place.kind {
        case .float: store(UInt64(Float(value).bitPattern), at: place.offset, width: 4)
        case .double, .date: store(value.bitPattern, at: place.offset, width: 8)
        default: return mismatch(column, "a floating-point number")
        }
        markPresent(place)
    }

    package mutating func setString(_ value: String, _ column: Int) {
        guard let place = place(column) else { return }
        guard place.kind == .text else { return mismatch(column, "a string") }
        beginVariable(place)
        let start = bytes.count
        var value = value
        value.withUTF8 { bytes.append(contentsOf: $0) }
        endVariable(place, from: start)
    }

    /// Writes the bytes of a column as a row of the same layout holds them. Nil is null.
    package mutating func setRaw(_ raw: Bytes?, _ column: Int) {
        guard let place = place(column) else { return }
        guard let raw else { return setNull(column) }
        if place.isVariable {
            beginVariable(place)
            let start = bytes.count
            bytes.append(contentsOf: raw)
            endVariable(place, from: start)
        } else {
            guard raw.count == layout.fields[column].width else { return mismatch(column, "\(raw.count) bytes") }
            for (index, byte) in raw.enumerated() { bytes[fixedStart + place.offset + index] = byte }
            markPresent(place)
        }
    }

    /// Writes any value that fits the column.
    package mutating func set(_ value: Value, _ column: Int) {
        guard let place = place(column) else { return }
        if value == .null { return setNull(column) }
        let field = layout.fields[column]
        guard let converted = value.converted(to: field.type) else { return mismatch(column, "\(value)") }
        guard converted.isWithinDepth(of: layout) else { return fail(column: column, CodedJSON.tooDeep.message) }
        if place.isVariable {
            beginVariable(place)
            let start = bytes.count
            guard ValueBytes.append(converted, as: field.type, to: &bytes) else { return mismatch(column, "\(value)") }
            endVariable(place, from: start)
        } else {
            var fixed: [UInt8] = []
            guard ValueBytes.append(converted, as: field.type, to: &fixed), fixed.count == field.width else {
                return mismatch(column, "\(value)")
            }
            for (index, byte) in fixed.enumerated() { bytes[fixedStart + place.offset + index] = byte }
            markPresent(place)
        }
    }
}

extension Value {
    /// Whether the JSON in the value has at most the levels that a row of `layout` may have. The row of a deleted
    /// entity has the JSON of a whole entity, so an object and the arrays of the property's type may be around a
    /// property's value.
    func isWithinDepth(of layout: RowLayout) -> Bool {
        switch self {
        case .json(let text):
            CodedJSON.isWithinDepth(
                text, around: EntityDescription.isTombstone(layout.type) ? 1 + ColumnType.maximumDepth : 0)
        case .array(let values): values.allSatisfy { $0.isWithinDepth(of: layout) }
        default: true
        }
    }
}
