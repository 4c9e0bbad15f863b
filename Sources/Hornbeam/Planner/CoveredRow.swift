// SPDX-License-Identifier: Apache-2.0
// Rows made of index entries: what an index holds of an entity, in the form of a row whose other columns are null, so
// that whoever reads columns (aggregates, groups, filters) reads these, and no row is looked up. A key tells the values
// themselves, but for two: −0.0 is 0.0 in it, and a text is in its composed form, which Swift holds equal.

import HornbeamKeys
import HornbeamPages

/// What a reader of rows asks of them, and nothing else.
package struct RowNeeds: Sendable {
    var columns: Set<Int> = []
    /// Whether its result is the same in whatever order the rows come.
    var isOrderFree = true
    /// Whether texts must come as they were written.
    var wantsExactText = false

    func union(_ other: RowNeeds) -> RowNeeds {
        RowNeeds(
            columns: columns.union(other.columns), isOrderFree: isOrderFree && other.isOrderFree,
            wantsExactText: wantsExactText || other.wantsExactText)
    }
}

/// Whether an index holds all that is asked of rows.
enum Covering {
    case no
    case values
    /// Where the key tells it: texts are to come as they were written.
    case exactValues
}

/// Makes rows of the entries of one index, one at a time. A class, because closures keep it.
final class CoveredRow {
    /// A component of the key, and where its column lies in a row.
    private struct Part {
        let place: RowLayout.Place
        let width: Int
        /// Combined with each byte of the component.
        let mask: UInt8
    }

    private let layout: RowLayout
    private let parts: [Part]
    /// Columns of the variable area in their order in the row: the offset of each end, and the part that is its text.
    private let variables: [(end: Int, part: Int?)]
    private let fixedStart: Int
    private let wantsExactText: Bool
    /// The row that was made last. Of the columns that the index has not it never holds a value.
    private let memory: UnsafeMutableRawBufferPointer
    /// Where the text of each part lies in the key.
    private var texts: [Range<Int>]

    /// Whether the index holds all these columns, and nothing that a row can't be made of.
    static func covers(_ index: EntityIndex, _ columns: Set<Int>, _ type: EntityType) -> Bool {
        !index.isHashed && columns.allSatisfy { index.columns.contains($0) }
            && index.columns.allSatisfy { type.layout.places[$0].kind != .other }
    }

    static func hasText(_ index: EntityIndex, _ type: EntityType) -> Bool {
        index.columns.contains { type.layout.places[$0].kind == .text }
    }

    /// An index that covers what is asked for.
    init(_ index: EntityIndex, _ type: EntityType, _ covering: Covering = .values) {
        let layout = type.layout
        self.layout = layout
        wantsExactText = covering == .exactValues
        parts = index.components.map { component in
            Part(
                place: layout.places[component.column], width: layout.fields[component.column].width,
                mask: component.descending ? 0xFF : 0)
        }
        fixedStart = RowLayout.headerSize(columns: layout.count)
        variables = layout.columns.compactMap { [fixedStart] column in
            let place = layout.places[column]
            return place.isVariable ? (fixedStart + place.offset, index.columns.firstIndex(of: column)) : nil
        }
        texts = parts.map { _ in 0..<0 }
        memory = .allocate(byteCount: layout.emptyRow.count + IndexKeyBytes.cutSize, alignment: 8)
        memory.copyBytes(from: layout.emptyRow)
    }

    deinit { memory.deallocate() }

    /// The row, which lasts until the next one is made; nil if the key doesn't tell all of it.
    func row(of key: Bytes) throws(HornbeamError) -> RowReader? {
        guard key.count < IndexKeyBytes.keptSize else { return nil }
        var at = 0
        for component in parts.indices {
            let part = parts[component]
            guard at < key.count else { return nil }
            let marker = key[at] ^ part.mask
            at += 1
            if marker == 0 {
                memory[part.place.nullByte] |= part.place.nullBit
                texts[component] = 0..<0
                continue
            }
            memory[part.place.nullByte] &= ~part.place.nullBit
            guard marker == 1, let end = part.place.isVariable ? text(component, key, at) : number(part, key, at) else {
                return nil
            }
            at = end
        }
        let size = variables.isEmpty ? layout.emptyRow.count : assembled(key)
        return try RowReader(Bytes(start: memory.baseAddress, count: size), layout: layout)
    }

    /// Copies a number into the row; where its bytes end in the key, nil if it is none.
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

    /// Notes where a text lies; where it ends in the key, its terminator included, nil if it must be read in the row.
    private func text(_ component: Int, _ key: Bytes, _ start: Int) -> Int? {
        let mask = parts[component].mask
        var end = start
        while end < key.count, key[end] != mask {
            let byte = key[end] ^ mask
            // Escaped; or not the only text that has this key: all but ASCII may be composed of others, and three
            // characters are what others, such as the kelvin sign, are composed to.
            if byte == 1 || wantsExactText && (byte >= 0x80 || byte == 0x4B || byte == 0x3B || byte == 0x60) {
                return nil
            }
            end += 1
        }
        guard end < key.count else { return nil }
        texts[component] = start..<end
        return end + 1
    }

    /// Copies the texts behind each other; the size of the row.
    private func assembled(_ key: Bytes) -> Int {
        let start = layout.emptyRow.count
        var size = 0
        for (end, part) in variables {
            if let part {
                let mask = parts[part].mask
                for place in texts[part] {
                    memory[start + size] = key[place] ^ mask
                    size += 1
                }
            }
            memory.storeBytes(of: UInt32(size).littleEndian, toByteOffset: end, as: UInt32.self)
        }
        return start + size
    }
}
