// SPDX-License-Identifier: Apache-2.0
// Reads columns straight from the bytes of a row. Every offset is validated before it is used: garbage gives a typed
// error, never a trap or a read outside the row.

package import HornbeamPages

/// Reads the columns of a row in its page. The row is borrowed: it is valid until its transaction ends or, in a write
/// transaction, until the next change. It must not be kept after the call that received it.
public struct RowReader {
    private let start: UnsafeRawPointer
    private let size: Int
    /// Borrowed like the bytes, so a reader is plain numbers and copying it counts no references, which took 200
    /// instructions a row. An entity type owns its layout, a schema owns its types, and the transaction of the bytes
    /// owns the schema. A layout without a type is kept alive by the caller that passes it.
    package unowned(unsafe) let layout: RowLayout
    /// The layout's `places`, which saves an access to the layout.
    private let places: UnsafePointer<RowLayout.Place>
    private let columns: Int
    /// Columns in this row; fewer than the layout's if an older schema wrote it.
    private let count: Int
    private let fixedStart: Int
    private let variableStart: Int

    /// Makes a reader of a row. `layout` must outlive the reader. Throws `.corrupt` if the bytes are no row of the
    /// layout.
    @inline(__always)
    package init(_ bytes: Bytes, layout: __shared RowLayout) throws(HornbeamError) {
        guard bytes.count >= 2, let start = bytes.baseAddress else {
            throw Self.corrupt("a row of \(bytes.count) bytes")
        }
        self.start = start
        size = bytes.count
        self.layout = layout
        places = layout.places
        columns = layout.count
        count = Int(UInt16(littleEndian: bytes.loadUnaligned(as: UInt16.self)))
        guard count <= columns else {
            throw Self.corrupt("a row with \(count) columns, the schema has \(columns)")
        }
        fixedStart = RowLayout.headerSize(columns: count)
        variableStart = fixedStart &+ layout.sizes[count]
        guard variableStart <= bytes.count else {
            throw Self.corrupt("a row of \(bytes.count) bytes, its \(count) columns need \(variableStart)")
        }
    }

    package var bytes: Bytes { Bytes(start: start, count: size) }

    private static func corrupt(_ what: String) -> HornbeamError {
        HornbeamError(.corrupt, "corrupt data: \(what); run a check, restore a backup or export what is still readable")
    }

    /// - Parameter isCoded: whether the value is JSON that the type's own `init(from:)` refused.
    @inline(never) @usableFromInline
    package func undecodable(_ column: Int, as type: String, isCoded: Bool = false) -> HornbeamError {
        let name = layout.fields.indices.contains(column) ? layout.fields[column].name : "\(column)"
        let remedy =
            isCoded
            ? "make its init(from:) accept the stored value, or change the stored values by a migration"
            : "make the property optional, give it a default, which replaces such values, or convert the stored "
                + "values by a migration (.convert)"
        return HornbeamError(
            .undecodable,
            "\(owner(of: column))property “\(name)” can't be read as \(type): \(stored(column)); \(remedy)")
    }

    /// Describes the content of a column, for messages.
    private func stored(_ column: Int) -> String {
        guard let field = try? field(column) else { return "there is no such column" }
        guard !isNull(field) else { return "null is stored" }
        guard let bytes = try? place(of: field), let value = ValueBytes.decode(bytes, as: field.type) else {
            return "the stored bytes are not \(field.type)"
        }
        return "the stored \(field.type) \(value.text.shown(100)) doesn't fit"
    }

    /// The row's entity, for messages: its type, and its id if the row has a readable one. Rows that an index covers
    /// may lack the id.
    private func owner(of column: Int) -> String {
        if layout.type.isEmpty { return "" }
        guard column != 0, let id = try? value(0), id != .null else { return "\(layout.type): " }
        return "\(layout.type) \(id.text): "
    }

    @inline(__always)
    private func field(_ column: Int) throws(HornbeamError) -> RowLayout.Field {
        guard column >= 0, column < layout.fields.count else {
            throw HornbeamError(
                .invalid,
                "\(layout.type.isEmpty ? "the type" : layout.type) has no column \(column): its columns are 0 to "
                    + "\(layout.fields.count - 1)")
        }
        return layout.fields[column]
    }

    @inline(__always)
    private func isNull(_ field: RowLayout.Field) -> Bool {
        field.stored >= count || bytes[2 + field.stored / 8] & (1 << UInt8(field.stored % 8)) != 0
    }

    @inline(__always)
    private func isNull(_ place: RowLayout.Place) -> Bool {
        place.stored >= count || start.load(fromByteOffset: place.nullByte, as: UInt8.self) & place.nullBit != 0
    }

    /// Whether the row was written with this column. False for rows that are older than the property or were written by
    /// a program without it: these hold null even if the property can't be nil.
    public func contains(column: Int) -> Bool {
        guard column >= 0, column < columns else { return false }
        let place = places[column]
        return place.stored < count && (place.isOptional || !isNull(place))
    }

    /// Whether the column holds no value. Throws `.invalid` if there is no such column.
    public func isNull(column: Int) throws(HornbeamError) -> Bool {
        try place(column) == nil
    }

    /// The bytes of a column as they are stored; nil if it is null.
    package func rawBytes(_ column: Int) throws(HornbeamError) -> Bytes? {
        let field = try field(column)
        guard !isNull(field) else { return nil }
        return try place(of: field)
    }

    private func place(of field: RowLayout.Field) throws(HornbeamError) -> Bytes {
        let at = fixedStart + field.offset
        guard field.isVariable else { return Bytes(rebasing: bytes[at..<at + field.width]) }
        let end = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self)))
        var start = 0
        if field.previousEnd >= 0 {
            let offset = fixedStart + field.previousEnd
            start = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
        }
        guard start <= end, end <= bytes.count - variableStart else {
            throw Self.corrupt("property “\(field.name)” lies outside its row")
        }
        return Bytes(rebasing: bytes[variableStart + start..<variableStart + end])
    }

    /// Hashes all bytes, except those of one column of fixed width that has a value.
    package func hash(into hasher: inout Hasher, without column: Int?) {
        let (before, after) = bytes(around: column)
        hasher.combine(bytes: before)
        hasher.combine(bytes: after)
    }

    /// Whether both rows have the same bytes, apart from those of one column of fixed width.
    func isSame(as other: RowReader, ignoring column: Int?) -> Bool {
        let (before, after) = bytes(around: column)
        let (otherBefore, otherAfter) = other.bytes(around: column)
        return before.elementsEqual(otherBefore) && after.elementsEqual(otherAfter)
    }

    /// Returns the bytes before and after a column of fixed width. If the column is null, all bytes are before it.
    private func bytes(around column: Int?) -> (Bytes, Bytes) {
        guard let column, let field = layout.fields.indices.contains(column) ? layout.fields[column] : nil,
            !field.isVariable, !isNull(field)
        else { return (bytes, Bytes(start: nil, count: 0)) }
        let at = fixedStart + field.offset
        return (Bytes(rebasing: bytes[..<at]), Bytes(rebasing: bytes[(at + field.width)...]))
    }

    /// Any column as a value; null if it holds none.
    package func value(_ column: Int) throws(HornbeamError) -> Value {
        let field = try field(column)
        guard !isNull(field) else { return .null }
        guard let value = ValueBytes.decode(try place(of: field), as: field.type) else {
            throw undecodable(column, as: field.type.description)
        }
        return value
    }

    /// All columns of the schema, in the order of their numbers.
    package func values() throws(HornbeamError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(layout.fields.count)
        for column in layout.fields.indices { values.append(try value(column)) }
        return values
    }
}

// Raw columns: the fast paths of the known types. They return nil for null and throw `.undecodable` for a column of
// another type.
extension RowReader {
    /// Returns a pointer to the column's place, or nil if the column is null. A pointer avoids a copy of all parts of
    /// the place.
    @inline(__always)
    private func place(_ column: Int) throws(HornbeamError) -> UnsafePointer<RowLayout.Place>? {
        guard column >= 0, column < columns else {
            // Throws: there is no such column.
            _ = try field(column)
            return nil
        }
        let place = places + column
        let isNull =
            place.pointee.stored >= count
            || start.load(fromByteOffset: place.pointee.nullByte, as: UInt8.self) & place.pointee.nullBit != 0
        return isNull ? nil : place
    }

    /// A number in the fixed area of the row.
    @inline(__always)
    private func number<Number: FixedWidthInteger & BitwiseCopyable>(
        _ offset: Int, as type: Number.Type
    ) -> Number {
        Number(littleEndian: start.loadUnaligned(fromByteOffset: fixedStart &+ offset, as: type))
    }

    /// Returns the kind in which the column is stored. There must be such a column.
    func kind(_ column: Int) -> RowLayout.Place.Kind { layout.places[column].kind }

    @usableFromInline
    package func bool(_ column: Int) throws(HornbeamError) -> Bool? {
        guard let place = try place(column)?.pointee else { return nil }
        guard place.kind == .bool else { throw undecodable(column, as: "bool") }
        let byte = number(place.offset, as: UInt8.self)
        guard byte <= 1 else { throw undecodable(column, as: "bool") }
        return byte == 1
    }

    @usableFromInline
    package func int(_ column: Int) throws(HornbeamError) -> Int64? {
        guard let place = try place(column)?.pointee else { return nil }
        // The commonest kind comes first, without a jump through a table.
        if place.kind == .int64 { return number(place.offset, as: Int64.self) }
        switch place.kind {
        case .int32: return Int64(number(place.offset, as: Int32.self))
        case .int16: return Int64(number(place.offset, as: Int16.self))
        case .int8: return Int64(number(place.offset, as: Int8.self))
        default: throw undecodable(column, as: "an integer")
        }
    }

    @usableFromInline
    package func uint(_ column: Int) throws(HornbeamError) -> UInt64? {
        guard let place = try place(column)?.pointee else { return nil }
        switch place.kind {
        case .uint64: return number(place.offset, as: UInt64.self)
        case .uint32: return UInt64(number(place.offset, as: UInt32.self))
        case .uint16: return UInt64(number(place.offset, as: UInt16.self))
        case .uint8: return UInt64(number(place.offset, as: UInt8.self))
        default: throw undecodable(column, as: "an unsigned integer")
        }
    }

    /// Float, double and date columns.
    package func double(_ column: Int) throws(HornbeamError) -> Double? {
        guard let place = try place(column)?.pointee else { return nil }
        switch place.kind {
        case .double, .date: return Double(bitPattern: number(place.offset, as: UInt64.self))
        case .float: return Double(Float(bitPattern: number(place.offset, as: UInt32.self)))
        default: throw undecodable(column, as: "a floating-point number")
        }
    }

    /// The UTF-8 of a string, URL or JSON column. Not yet validated as UTF-8.
    package func stringBytes(_ column: Int) throws(HornbeamError) -> Bytes? { try text(column) }

    @inline(__always)
    package func string(_ column: Int) throws(HornbeamError) -> String? {
        guard let utf8 = try text(column) else { return nil }
        guard let text = ValueBytes.string(utf8) else { throw notUTF8(column) }
        return text
    }

    @inline(never)
    private func notUTF8(_ column: Int) -> HornbeamError { undecodable(column, as: "a string (it is no UTF-8)") }

    @inline(__always)
    private func text(_ column: Int) throws(HornbeamError) -> Bytes? {
        guard let place = try place(column)?.pointee else { return nil }
        guard place.kind == .text else { throw undecodable(column, as: "a string") }
        let end = Int(number(place.offset, as: UInt32.self))
        let from = place.previousEnd < 0 ? 0 : Int(number(place.previousEnd, as: UInt32.self))
        // `rawBytes` throws the error for a damaged offset.
        guard from <= end, end <= size &- variableStart else { return try rawBytes(column) }
        return Bytes(start: start + (variableStart &+ from), count: end &- from)
    }
}
