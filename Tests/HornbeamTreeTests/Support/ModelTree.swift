// SPDX-License-Identifier: Apache-2.0
// The model of a tree: two sorted arrays. It is as simple as possible, because it decides which result is right.

import HornbeamPages
import HornbeamTestSupport

@testable import HornbeamTree

struct ModelTree: Equatable {
    private(set) var keys: [[UInt8]] = []
    private(set) var values: [[UInt8]] = []

    var count: Int { keys.count }

    /// Returns the number of keys that are less.
    func rank(_ key: [UInt8]) -> Int {
        var low = 0
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if isLess(keys[middle], key) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func index(of key: [UInt8]) -> Int? {
        let rank = rank(key)
        return rank < keys.count && keys[rank] == key ? rank : nil
    }

    func get(_ key: [UInt8]) -> [UInt8]? { index(of: key).map { values[$0] } }

    mutating func put(_ key: [UInt8], _ value: [UInt8]) {
        let rank = rank(key)
        if rank < keys.count && keys[rank] == key {
            values[rank] = value
        } else {
            keys.insert(key, at: rank)
            values.insert(value, at: rank)
        }
    }

    mutating func delete(_ key: [UInt8]) -> Bool {
        guard let index = index(of: key) else { return false }
        keys.remove(at: index)
        values.remove(at: index)
        return true
    }

    /// Returns the indexes of [from, to). Empty bounds are open.
    func range(_ from: [UInt8], _ to: [UInt8]) -> Range<Int> {
        let start = from.isEmpty ? 0 : rank(from)
        let end = to.isEmpty ? keys.count : rank(to)
        return start..<max(start, end)
    }

    mutating func deleteRange(_ from: [UInt8], _ to: [UInt8]) -> Int {
        let range = range(from, to)
        keys.removeSubrange(range)
        values.removeSubrange(range)
        return range.count
    }

    private func isLess(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withUnsafeBytes { l in right.withUnsafeBytes { r in l.order(r) < 0 } }
    }
}

extension Transaction {
    /// Returns the values of the keys, in their order.
    func getMany(_ tree: TreeID, _ keys: [Bytes]) throws(StorageError) -> [Bytes?] {
        var values = [Bytes?](repeating: nil, count: keys.count)
        try getMany(tree, count: keys.count, key: { keys[$0] }, { values[$0] = $1 })
        return values
    }

    /// Returns the whole tree, read by a cursor from its start.
    func contents(_ tree: TreeID) throws -> ModelTree {
        var model = ModelTree()
        var cursor = try cursor(tree)
        while try cursor.next() { model.put(Array(cursor.key), Array(cursor.value)) }
        return model
    }

    func value(_ tree: TreeID, _ key: [UInt8]) throws -> [UInt8]? { try get(tree, key).map { Array($0) } }
}

/// Kinds of keys that trees treat differently.
enum KeyKind: CaseIterable {
    /// 16 random bytes, whose heads differ.
    case random
    /// Big-endian numbers in growing order.
    case ascending
    /// Few different bytes, including zeros: equal heads, and keys that are prefixes of others.
    case fewBytes
    /// Paths that share long beginnings.
    case sharedPrefix
    /// Up to the greatest length.
    case long
    /// Long runs of one byte of any length: the longest possible common prefixes.
    case runs

    func key(_ random: inout SeededGenerator, maximum: Int, counter: inout UInt64) -> [UInt8] {
        switch self {
        case .random: return random.bytes(16)
        case .ascending:
            counter += UInt64(1 + random.below(3))
            return withUnsafeBytes(of: counter.bigEndian) { Array($0) }
        case .fewBytes:
            return (0...random.below(10)).map { _ in [0, 0, 1, 255][random.below(4)] }
        case .sharedPrefix:
            let text = "tenant/\(random.below(4))/collection/\(random.below(10))/document/\(random.below(4000))"
            return Array(text.utf8)
        case .long:
            let size = random.oneIn(3) ? maximum - random.below(8) : 1 + random.below(maximum)
            return [UInt8(random.below(8))] + random.bytes(size - 1)
        case .runs:
            let size = 1 + random.below(maximum - 2)
            return [UInt8](repeating: UInt8(random.below(3)), count: size) + [UInt8(random.below(256))]
        }
    }
}
