// SPDX-License-Identifier: Apache-2.0
// The entry of a row in an index, and the changes of entries that follow from a change of the row. These are pure
// functions: from the old row and the new one they make the keys to remove and to add. They never touch a tree.
//
// Keys that are too long for a tree are cut to 884 bytes and a 128-bit hash of the whole key. The order among such keys
// is that of the 884 bytes. Equality is exact because every reader that finds a cut key compares with the row.

import HornbeamKeys
import HornbeamPages
package import HornbeamText

/// A row's key in one index, or none. An optional would need a test for each copy, which took a tenth of a save's
/// instructions.
package struct IndexKeyBytes: Equatable {
    /// The key without a row id; cut if it was too long. Empty if there is none: a key has at least a component's
    /// marker.
    var bytes: [UInt8] = []
    /// Whether other rows of a unique index may have the key, too: it has a nil, and nils are distinct.
    var isExempt = false
    var isNone: Bool { bytes.isEmpty }
    var isCut: Bool { bytes.count == IndexKeyBytes.cutSize }

    /// Keys of at least this size are cut to exactly this size. With a row id appended they fit the smallest node page.
    static let cutSize = 900
    /// Number of bytes of a cut key before its hash.
    static let keptSize = cutSize - 16

    package static func cut(_ key: inout [UInt8]) {
        guard key.count >= cutSize else { return }
        let hash = hash(of: key)
        key.removeLast(key.count - keptSize)
        withUnsafeBytes(of: hash.bigEndian) { key.append(contentsOf: $0) }
    }

    /// Returns the hash that stands for a key in an index by hashes.
    package static func hashed(_ key: [UInt8]) -> [UInt8] {
        withUnsafeBytes(of: hash(of: key).bigEndian) { Array($0) }
    }

    /// The hash in hexadecimal digits.
    package static func hashedText(_ key: [UInt8]) -> String {
        hashed(key).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// FNV-1a with 128 bits.
    private static func hash(of bytes: [UInt8]) -> UInt128 {
        var hash: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
        for byte in bytes { hash = (hash ^ UInt128(byte)) &* 0x0000_0000_0100_0000_0000_0000_0000_013b }
        return hash
    }
}

extension EntityIndex {
    /// The whole key of a row, not cut.
    package func fullKey(of row: RowReader) throws(HornbeamError) -> (key: [UInt8], isExempt: Bool) {
        var writer = KeyWriter(capacity: 48)
        var hasNil = false
        for component in components where try !append(component, of: row, to: &writer) { hasNil = true }
        return (writer.bytes, hasNil && description.nilsDistinct)
    }

    /// The key of some leading components, not cut.
    /// - Parameter leading: number of components; nil for all.
    func leadingKey(of row: RowReader, _ leading: Int?) throws(HornbeamError) -> [UInt8] {
        var writer = KeyWriter(capacity: 48)
        for component in components.prefix(leading ?? components.count) { try append(component, of: row, to: &writer) }
        return writer.bytes
    }

    /// Appends a component. Returns whether it has a value.
    @discardableResult
    @inline(__always)
    private func append(
        _ component: Component, of row: RowReader, to key: inout KeyWriter
    ) throws(HornbeamError) -> Bool {
        guard component.column < 0 else {
            return try KeyCoding.appendComponent(
                of: row, column: component.column, descending: component.descending, to: &key)
        }
        let value = try computed[-1 - component.column].value(row)
        try KeyCoding.appendComponent(value, as: component.type, descending: component.descending, to: &key)
        return value != .null
    }

    package func key(of row: RowReader) throws(HornbeamError) -> IndexKeyBytes {
        var (bytes, isExempt) = try fullKey(of: row)
        if isHashed { bytes = IndexKeyBytes.hashed(bytes) } else { IndexKeyBytes.cut(&bytes) }
        return IndexKeyBytes(bytes: bytes, isExempt: isExempt)
    }

    /// Whether the tree can hold one entity at most under this key, so that the key has no row id appended.
    func isExclusive(_ key: IndexKeyBytes) -> Bool {
        isUnique && !key.isExempt && !key.isCut
    }

    /// The entry in the tree.
    package func entry(_ key: IndexKeyBytes, _ rowID: RowID) -> (key: [UInt8], value: [UInt8]) {
        if isExclusive(key) { return (key.bytes, rowID.stored) }
        return (key.bytes + rowID.key, isUnique ? rowID.stored : [])
    }

    /// Calls `body` with the entry in the tree, without an array for it.
    func withEntry(
        _ key: IndexKeyBytes, _ rowID: RowID, _ body: (_ key: Bytes, _ value: Bytes) throws(StorageError) -> Void
    ) throws(StorageError) {
        try rowID.withStored { (stored) throws(StorageError) in
            if isExclusive(key) {
                return try key.bytes.withBytes { (bytes) throws(StorageError) in try body(bytes, stored) }
            }
            let size = key.bytes.count
            let value = isUnique ? stored : Bytes(start: nil, count: 0)
            try withUnsafeTemporaryAllocation(byteCount: size + 8, alignment: 8) { (entry) throws(StorageError) in
                entry.copyBytes(from: key.bytes)
                entry.storeBytes(of: rowID.rawValue.bigEndian, toByteOffset: size, as: UInt64.self)
                try body(Bytes(entry), value)
            }
        }
    }

    /// The row id that an entry names; nil if the entry is damaged.
    @inline(__always)
    func rowID(key: Bytes, value: Bytes) -> RowID? { Self.rowID(key: key, value: value, isUnique: isUnique) }

    @inline(__always)
    static func rowID(key: Bytes, value: Bytes, isUnique: Bool) -> RowID? {
        isUnique ? RowID(stored: value) : RowID(key: key, at: key.count - 8)
    }

    /// The number of bytes that the leading components take in an entry's key. Returns nil if they aren't all in the
    /// part before the hash.
    func leadingSize(_ key: Bytes, _ leading: Int) -> Int? {
        let kept = Bytes(rebasing: key.prefix(IndexKeyBytes.keptSize))
        var reader = KeyReader(kept)
        for component in components.prefix(leading) {
            guard let shape = KeyCoding.shape(of: component.type, descending: component.descending),
                (try? reader.skip(shape)) != nil
            else { return nil }
        }
        return reader.offset
    }

    /// The number of bytes of an entry's key without an appended row id. Returns nil if the entry is damaged.
    @inline(__always)
    func keySize(_ key: Bytes) -> Int? {
        if !isUnique || key.count >= IndexKeyBytes.cutSize { return key.count >= 8 ? key.count - 8 : nil }
        return uniqueKeySize(key)
    }

    private func uniqueKeySize(_ key: Bytes) -> Int? {
        var reader = KeyReader(key)
        for component in components {
            guard let shape = KeyCoding.shape(of: component.type, descending: component.descending),
                (try? reader.skip(shape)) != nil
            else { return nil }
        }
        return reader.offset
    }
}

/// The effect of a change of one row on one index.
struct IndexChange {
    let index: EntityIndex
    var removed = IndexKeyBytes()
    var added = IndexKeyBytes()
}

/// The effect of a change of one row on one full-text index.
struct TextChange {
    /// A text of the new row.
    enum Added {
        case text(DocumentText)
        /// The range of the text in a new row, so that it isn't copied.
        case place(Range<Int>)
    }

    /// The index's position among the type's full-text indexes.
    let index: Int
    var removed: DocumentText?
    var added: Added?
}

/// The effects of a change of one row on all indexes that it touches.
package struct IndexChanges {
    var keys: [IndexChange] = []
    var texts: [TextChange] = []

    /// - Parameters: nil for a row that doesn't exist before, or after.
    init(of type: EntityType, from old: RowReader?, to new: RowReader?) throws(HornbeamError) {
        guard type.hasIndexes else { return }
        keys.reserveCapacity(type.indexes.count)
        for index in type.indexes {
            if let old, let new, try Self.isUntouched(index.sources, old, new) { continue }
            var change = IndexChange(index: index)
            if let old { change.removed = try index.key(of: old) }
            if let new { change.added = try index.key(of: new) }
            if change.removed != change.added { keys.append(change) }
        }
        for (place, index) in type.textIndexes.enumerated() {
            if let old, let new, try Self.isUntouched(index.sources, old, new) { continue }
            let (had, has) = (try index.has(old), try index.has(new))
            if index.isPartial, had, has, let old, let new, try Self.isUntouched(index.columns, old, new) { continue }
            var change = TextChange(index: place)
            if had, let old { change.removed = try index.text(of: old) }
            if has, let new { change.added = try Self.added(by: new, index, isFirst: old == nil) }
            if had || has { texts.append(change) }
        }
    }

    private static func added(
        by row: RowReader, _ index: EntityTextIndex, isFirst: Bool
    ) throws(HornbeamError) -> TextChange.Added {
        if isFirst, let place = try index.place(in: row) { return .place(place) }
        return .text(try index.text(of: row))
    }

    package static func isUntouched(
        _ columns: [Int], _ old: RowReader, _ new: RowReader
    ) throws(HornbeamError) -> Bool {
        for column in columns {
            switch (try old.rawBytes(column), try new.rawBytes(column)) {
            case (nil, nil): continue
            case (let before?, let after?) where before.order(after) == 0: continue
            default: return false
            }
        }
        return true
    }
}

extension EntityTextIndex {
    /// The document: the fields in declared order. A nil field is an empty one.
    func text(of row: RowReader) throws(HornbeamError) -> DocumentText {
        try row.texts(columns)
    }

    /// The range of the document in the row. Returns nil if the document must be made of several values.
    func place(in row: RowReader) throws(HornbeamError) -> Range<Int>? {
        guard row.isText(columns), let bytes = try row.stringBytes(columns[0]), let start = bytes.baseAddress,
            let rowStart = row.bytes.baseAddress
        else { return nil }
        return start - rowStart..<start - rowStart + bytes.count
    }
}

extension RowReader {
    /// The texts of string columns, or arrays of strings.
    func texts(_ columns: [Int]) throws(HornbeamError) -> DocumentText {
        if isText(columns) { return DocumentText(try string(columns[0]) ?? "") }
        var fields: [[String]] = []
        fields.reserveCapacity(columns.count)
        for column in columns { fields.append(Self.texts(in: try value(column))) }
        return DocumentText(fields: fields)
    }

    /// The texts of `texts`, each element of an array a section of its own.
    package func sections(_ columns: [Int]) throws(HornbeamError) -> [TextSection] {
        var sections: [TextSection] = []
        for (field, texts) in try texts(columns).fields.enumerated() {
            for text in texts { sections.append(TextSection(field: field, text: text)) }
        }
        return sections
    }

    /// Whether these are exactly one column, of strings.
    func isText(_ columns: [Int]) -> Bool {
        guard columns.count == 1, case .string = layout.fields[columns[0]].type else { return false }
        return true
    }

    private static func texts(in value: Value) -> [String] {
        switch value {
        case .string(let text): [text]
        case .array(let values): values.flatMap(texts(in:))
        default: [""]
        }
    }
}
