// SPDX-License-Identifier: Apache-2.0
// Limits the memory of rows that a statement keeps until its result is made: groups, sorted rows, and distinct values.
// So no short statement takes all memory.

/// Counts the bytes that a run keeps. A class, because several parts of a run count together.
final class KeptBytes {
    static let standardLimit = 1 << 30
    /// Bytes of an entry of a set or a dictionary, besides its content.
    static let entry = 48

    let limit: Int
    private(set) var used = 0

    init(limit: Int = standardLimit) { self.limit = limit }

    var isOver: Bool { used > limit }

    func add(_ bytes: Int) throws(HornbeamError) {
        used += bytes
        try check()
    }

    /// Adds without checking the limit, for a caller that can free memory.
    func note(_ bytes: Int) { used += bytes }

    func check() throws(HornbeamError) {
        if isOver { throw tooLarge }
    }

    var tooLarge: HornbeamError {
        HornbeamError(
            .tooLarge,
            "what a statement keeps of rows to sort, group, change or tell them apart takes more than \(limit) bytes: "
                + "have fewer rows, by conditions, or an order that an index has")
    }
}

/// The keys of the values or rows so far, for recognizing equal ones.
struct SeenKeys {
    private var keys: Set<[UInt8]> = []

    var count: Int { keys.count }

    /// Returns whether the key is a new one.
    mutating func insert(_ key: [UInt8], _ kept: KeptBytes) throws(HornbeamError) -> Bool {
        let size = key.count + KeptBytes.entry
        guard keys.insert(key).inserted else { return false }
        try kept.add(size)
        return true
    }
}

extension StatementValue {
    /// Bytes that an array of items takes.
    static func bytes(of items: [StatementValue]) -> Int {
        items.reduce(MemoryLayout<StatementValue>.stride) { $0 + $1.bytes }
    }

    /// Bytes that it takes in an array.
    var bytes: Int { MemoryLayout<StatementValue>.stride + size(upTo: .max) }
}
