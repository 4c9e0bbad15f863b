// SPDX-License-Identifier: Apache-2.0
// Rows made of index entries. Such a row holds the values in the entry; its other columns are null. Aggregates, groups
// and filters read it instead of looking up the row. A key holds the values themselves, with three exceptions: −0.0 is
// 0.0, a text is in its composed form, and a decimal has no trailing zeros. In Swift these are equal to the original
// values.

import HornbeamKeys
import HornbeamPages

/// Whether an index holds all data that a query reads of rows.
enum Covering {
    case no
    case values
    /// The key must give the exact value: texts must come in their original form.
    case exactValues
}

/// Makes rows of the entries of one index, one at a time. A class, because closures keep it.
final class CoveredRow {
    /// The form of a value in a key.
    private enum Form {
        case number, uuid, text, data, decimal

        /// The form of a type's values in keys. Returns nil for types that keys can't hold.
        init?(_ type: ColumnType) {
            switch type.unwrapped {
            case .bool, .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64, .float, .double, .date:
                self = .number
            case .uuid: self = .uuid
            case .string, .url: self = .text
            case .data: self = .data
            case .decimal: self = .decimal
            case .json, .array, .optional: return nil
            }
        }
    }

    /// A component of the key, and the position of its column in a row.
    private struct Part {
        let form: Form
        let place: RowLayout.Place
        let width: Int
        /// Each byte of the component is combined with it by exclusive or.
        let mask: UInt8
    }

    private let layout: RowLayout
    private let parts: [Part]
    /// The offset of the first part in a key.
    private let offset: Int
    /// Number of leading bytes of the last key that were read.
    @exclusivity(unchecked) private(set) var readSize = 0
    /// Columns of the variable area in their order in the row: the offset at which each one's end is stored, and the
    /// part with its content, if there is one.
    private let variables: [(end: Int, part: Int?)]
    private let fixedStart: Int
    private let wantsExactText: Bool
    /// The row that was made last. It never holds a value of a column that the index lacks.
    private let memory: UnsafeMutableRawBufferPointer
    /// The content of each part in the variable area: its range in the key, escaped or not, or the text of a decimal.
    private var contents: [Content]

    private enum Content {
        case plain(Range<Int>)
        case escaped(Range<Int>)
        case text([UInt8])
    }

    /// Room for the text of any decimal that a row holds, in bytes.
    private static let decimalSize = 256

    /// Whether the index holds all these columns, and a row can be made of all its components.
    static func covers(_ index: EntityIndex, _ columns: Set<Int>, _ type: EntityType) -> Bool {
        columns.allSatisfy { index.columns.contains($0) } && covers(index, index.components.indices, type)
    }

    /// Whether a row can be made of these components.
    static func covers(_ index: EntityIndex, _ components: Range<Int>, _ type: EntityType) -> Bool {
        !index.isHashed
            && index.columns[components].allSatisfy { $0 >= 0 && Form(type.layout.fields[$0].type) != nil }
    }

    static func hasText(_ index: EntityIndex, _ type: EntityType) -> Bool { hasText(index.columns, type) }

    /// Whether any of these columns is a text.
    static func hasText(_ columns: some Sequence<Int>, _ type: EntityType) -> Bool {
        columns.contains { if case .text = Form(type.layout.fields[$0].type) { true } else { false } }
    }

    /// Makes rows of all components of an index.
    convenience init(_ index: EntityIndex, _ type: EntityType, _ covering: Covering = .values) {
        self.init(index, type, covering, index.components.indices, from: 0)
    }

    /// Makes rows of some components of an index, which begin at `offset` in every key.
    init(
        _ index: EntityIndex, _ type: EntityType, _ covering: Covering, _ components: Range<Int>, from offset: Int
    ) {
        let layout = type.layout
        self.offset = offset
        self.layout = layout
        wantsExactText = covering == .exactValues
        let columns = Array(index.columns[components])
        parts = index.components[components].map { component in
            let field = layout.fields[component.column]
            return Part(
                form: Form(field.type) ?? .number, place: layout.places[component.column], width: field.width,
                mask: component.descending ? 0xFF : 0)
        }
        fixedStart = RowLayout.headerSize(columns: layout.count)
        variables = layout.columns.compactMap { [fixedStart] column in
            let place = layout.places[column]
            return place.isVariable ? (fixedStart + place.offset, columns.firstIndex(of: column)) : nil
        }
        contents = parts.map { _ in .plain(0..<0) }
        let decimals = parts.count { if case .decimal = $0.form { true } else { false } }
        memory = .allocate(
            byteCount: layout.emptyRow.count + IndexKeyBytes.cutSize + decimals * Self.decimalSize, alignment: 8)
        memory.copyBytes(from: layout.emptyRow)
    }

    deinit { memory.deallocate() }

    /// Makes a row of a key. It is valid until the next one is made. Returns nil if the key doesn't hold all values.
    func row(of key: Bytes) throws(HornbeamError) -> RowReader? {
        let key = key.count < IndexKeyBytes.keptSize ? key : Bytes(rebasing: key[..<IndexKeyBytes.keptSize])
        var at = offset
        for component in parts.indices {
            let part = parts[component]
            guard at < key.count else { return nil }
            let marker = key[at] ^ part.mask
            at += 1
            if marker == 0 {
                memory[part.place.nullByte] |= part.place.nullBit
                contents[component] = .plain(0..<0)
                continue
            }
            memory[part.place.nullByte] &= ~part.place.nullBit
            guard marker == 1 else { return nil }
            let end =
                switch part.form {
                case .number: number(part, key, at)
                case .uuid: uuid(part, key, at)
                case .text, .data: terminated(component, key, at)
                case .decimal: decimal(component, key, at)
                }
            guard let end else { return nil }
            at = end
        }
        readSize = at
        let size = variables.isEmpty ? layout.emptyRow.count : assembled(key)
        return try RowReader(Bytes(start: memory.baseAddress, count: size), layout: layout)
    }

    /// Copies a number into the row. Returns the end of its bytes in the key, or nil if the key is too short.
    private func number(_ part: Part, _ key: Bytes, _ start: Int) -> Int? {
        let end = start + part.width
        guard end <= key.count else { return nil }
        var bits: UInt64 = 0
        for place in start..<end { bits = bits << 8 | UInt64(key[place] ^ part.mask) }
        switch part.place.kind {
        case .int8, .int16, .int32, .int64: bits ^= 1 << UInt64(8 * part.width - 1)
        case .double, .date: bits = bits >> 63 == 1 ? bits & ~(1 << 63) : ~bits
        case .float: bits = UInt64(bits >> 31 == 1 ? UInt32(bits) & ~(1 << 31) : ~UInt32(bits))
        default: break
        }
        let offset = fixedStart + part.place.offset
        for byte in 0..<part.width { memory[offset + byte] = UInt8(truncatingIfNeeded: bits >> UInt64(8 * byte)) }
        return end
    }

    /// Copies a UUID, whose bytes have the same order in keys and rows. Returns the end of its bytes in the key, or nil
    /// if the key is too short.
    private func uuid(_ part: Part, _ key: Bytes, _ start: Int) -> Int? {
        let end = start + part.width
        guard end <= key.count else { return nil }
        let offset = fixedStart + part.place.offset
        for place in start..<end { memory[offset + place - start] = key[place] ^ part.mask }
        return end
    }

    /// Notes the position of a text or of data. Returns the end of its bytes in the key, including the terminator, or
    /// nil if the value must be read from the row.
    private func terminated(_ component: Int, _ key: Bytes, _ start: Int) -> Int? {
        let mask = parts[component].mask
        let isText = if case .text = parts[component].form { true } else { false }
        let needsOrigin = isText && wantsExactText
        var isEscaped = false
        var end = start
        while end < key.count, key[end] != mask {
            let byte = key[end] ^ mask
            // Another text may have the same key: non-ASCII text may have been composed, and three ASCII characters are
            // the composed form of others, such as K of the kelvin sign.
            if needsOrigin && (byte >= 0x80 || byte == 0x4B || byte == 0x3B || byte == 0x60) { return nil }
            if byte == 1 {
                isEscaped = true
                end += 1
                guard end < key.count, case 1...2 = key[end] ^ mask else { return nil }
            }
            end += 1
        }
        guard end < key.count else { return nil }
        contents[component] = isEscaped ? .escaped(start..<end) : .plain(start..<end)
        return end + 1
    }

    /// Makes the text of a decimal. Returns the end of its bytes in the key, or nil if the value must be read from the
    /// row.
    private func decimal(_ component: Int, _ key: Bytes, _ start: Int) -> Int? {
        var reader = KeyReader(Bytes(rebasing: key[start...]))
        let number =
            parts[component].mask == 0
            ? try? reader.readDecimal()
            : try? reader.descending { (reader) throws(KeyError) in try reader.readDecimal() }
        guard let number, let text = Self.text(of: number) else { return nil }
        contents[component] = .text(text)
        return start + reader.offset
    }

    /// Returns the text of a decimal as rows hold it, or nil if it is NaN or beyond the decimals that rows hold.
    private static func text(of number: KeyDecimal) -> [UInt8]? {
        guard !number.isNaN, abs(number.exponent) <= 200 else { return nil }
        var digits = Array(String(number.mantissa).utf8)
        if number.exponent >= 0 {
            digits += repeatElement(UInt8(ascii: "0"), count: number.exponent)
        } else {
            let missing = max(0, 1 - number.exponent - digits.count)
            digits.insert(contentsOf: repeatElement(UInt8(ascii: "0"), count: missing), at: 0)
            digits.insert(UInt8(ascii: "."), at: digits.count + number.exponent)
        }
        return number.isNegative ? [UInt8(ascii: "-")] + digits : digits
    }

    /// Copies the content of the variable area. Returns the size of the row.
    private func assembled(_ key: Bytes) -> Int {
        let start = layout.emptyRow.count
        var size = 0
        for (end, part) in variables {
            if let part {
                let mask = parts[part].mask
                switch contents[part] {
                case .plain(let range):
                    for place in range {
                        memory[start + size] = key[place] ^ mask
                        size += 1
                    }
                case .escaped(let range):
                    var place = range.lowerBound
                    while place < range.upperBound {
                        let byte = key[place] ^ mask
                        // The byte after a 1 is 0 or 1 plus one.
                        if byte == 1 { place += 1 }
                        memory[start + size] = byte == 1 ? (key[place] ^ mask) &- 1 : byte
                        place += 1
                        size += 1
                    }
                case .text(let text):
                    for byte in text {
                        memory[start + size] = byte
                        size += 1
                    }
                }
            }
            memory.storeBytes(of: UInt32(size).littleEndian, toByteOffset: end, as: UInt32.self)
        }
        return start + size
    }
}
