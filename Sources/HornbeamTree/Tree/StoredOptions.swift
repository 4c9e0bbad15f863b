// SPDX-License-Identifier: Apache-2.0
// The options with which a tree was created, as the catalogue and the journal store them. They never change.

import HornbeamPages

/// A tree's properties. In the journal: flags u8 · zero u8 · size of a reduced value u16 · name of the reduction.
struct StoredOptions: Equatable {
    /// Longest name of a reduction, in bytes.
    static let maximumName = 64
    private static let fixedSize = 4
    /// Flags that this library knows.
    private static let knownFlags: UInt8 = 3
    /// The flag of a tree whose leaves are compressed.
    static let compressed: UInt8 = 1
    /// The flag of a tree whose reduced values may be absent.
    static let optionalValues: UInt8 = 2

    var flags: UInt8 = 0
    /// Size of a reduced value; 0 if the tree has no reduction.
    var reductionSize = 0
    /// The reduction's name, UTF-8.
    var reduction: [UInt8] = []

    init(flags: UInt8 = 0, reductionSize: Int = 0, reduction: [UInt8] = []) {
        self.flags = flags
        self.reductionSize = reductionSize
        self.reduction = reduction
    }

    /// Decodes the options in a journal's operation, which may be empty.
    init(journal bytes: Bytes) throws(StorageError) {
        guard !bytes.isEmpty else {
            self.init()
            return
        }
        guard bytes.count >= Self.fixedSize, let start = bytes.baseAddress else {
            throw .corrupt(Corruption(reason: "a journal record creates a tree with incomplete options"))
        }
        self.init(
            flags: start.load(as: UInt8.self), reductionSize: start.read16(2),
            reduction: Array(bytes[Self.fixedSize...]))
        guard isPlausible else {
            throw .corrupt(Corruption(reason: "a journal record creates a tree with impossible options"))
        }
        try checkFlags()
    }

    /// The options for the journal: empty if none was chosen.
    var journalBytes: [UInt8] {
        guard self != StoredOptions() else { return [] }
        let size = UInt16(truncatingIfNeeded: reductionSize)
        return [flags, 0, UInt8(truncatingIfNeeded: size), UInt8(truncatingIfNeeded: size >> 8)] + reduction
    }

    var isCompressed: Bool { flags & Self.compressed != 0 }
    var hasOptionalValues: Bool { flags & Self.optionalValues != 0 }

    var isPlausible: Bool {
        reductionSize <= NodeLayout.maximumReduction && reduction.count <= Self.maximumName
            && (reductionSize == 0) == reduction.isEmpty
    }

    func checkFlags() throws(StorageError) {
        let unknown = flags & ~Self.knownFlags
        guard unknown == 0 else {
            throw .unsupported("the tree has features (flags \(unknown)) that this library lacks: use a newer Hornbeam")
        }
    }
}

extension StoredOptions {
    /// The tree's reduction as a copy made by another program can have it. Returns nil if the tree has none, or one
    /// that is not built in.
    var keptReduction: Reduction? {
        if hasOptionalValues { return Reduction(unknown: self) }
        let builtIn = Reduction.builtIn(String(decoding: reduction, as: UTF8.self))
        // A program may have a reduction of its own with such a name.
        return builtIn?.size == reductionSize ? builtIn : nil
    }
}
