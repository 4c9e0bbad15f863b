// SPDX-License-Identifier: Apache-2.0
// An entry of the catalogue, which is a tree of name → record with an entry for each named tree. Decoding trusts
// nothing that it reads.

import HornbeamPages

/// A tree's entry in the catalogue: number u32 · level u8 · flags u8 · size of a reduced value u16 · page u64 ·
/// birth u64 · count u64 · long values u64 · zero ×8 · name of the reduction, to the end.
struct CatalogueRecord: Equatable {
    /// The size without the reduction's name.
    static let fixedSize = 48
    static let maximumSize = fixedSize + StoredOptions.maximumName

    /// Longest name of a tree. With it any record still fits in its leaf: no record is ever a long value.
    static func maximumName(pageSize: Int) -> Int {
        min(
            NodeLayout.maximumKey(pageSize: pageSize),
            NodeLayout.inlineLimit(pageSize: pageSize) - NodeLayout.cellHeader - maximumSize)
    }

    var number: UInt32
    var options: StoredOptions
    var root: TreeRoot
    var longValues: UInt64

    init(number: UInt32, options: StoredOptions, root: TreeRoot, longValues: UInt64) {
        self.number = number
        self.options = options
        self.root = root
        self.longValues = longValues
    }

    /// Decodes a catalogue entry as of the snapshot `transaction`. Throws `.corrupt` for impossible content.
    init(_ bytes: Bytes, transaction: UInt64) throws(StorageError) {
        guard bytes.count >= Self.fixedSize, let start = bytes.baseAddress else {
            throw .corrupt(Corruption(reason: "a catalogue record has \(bytes.count) bytes"))
        }
        number = start.read32(0)
        root = TreeRoot(
            page: start.read64(8), birth: start.read64(16), count: start.read64(24),
            level: Int(start.load(fromByteOffset: 4, as: UInt8.self)))
        longValues = start.read64(32)
        options = StoredOptions(
            flags: start.load(fromByteOffset: 5, as: UInt8.self), reductionSize: start.read16(6),
            reduction: Array(bytes[Self.fixedSize...]))
        guard number > 0, number < .max, root.isPlausible(transaction: transaction), longValues <= root.count,
            options.isPlausible
        else { throw .corrupt(Corruption(reason: "a catalogue record has impossible content")) }
        try options.checkFlags()
    }

    var size: Int { Self.fixedSize + options.reduction.count }

    /// Writes `size` bytes.
    func write(to target: UnsafeMutableRawPointer) {
        target.write32(number, 0)
        target.write16(root.level | Int(options.flags) << 8, 4)
        target.write16(options.reductionSize, 6)
        target.write64(root.page, 8)
        target.write64(root.birth, 16)
        target.write64(root.count, 24)
        target.write64(longValues, 32)
        target.write64(0, 40)
        options.reduction.withUnsafeBytes { (target + Self.fixedSize).copy($0) }
    }
}

extension TreeRoot {
    /// Whether a snapshot can have this root. Births of pages on disk are always below the writer's.
    func isPlausible(transaction: UInt64) -> Bool {
        isEmpty
            ? self == TreeRoot()
            : PagePointer.isStored(page, isLeaf: level == 0) && count > 0 && birth <= transaction
                && level < NodeLayout.maximumLevels
    }
}
