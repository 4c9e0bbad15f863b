// SPDX-License-Identifier: Apache-2.0
// The content of a store as one number, computed alike from the store and from a model of it: equal numbers mean equal
// trees, names, keys and values.

import CXXHash
import HornbeamPages
package import HornbeamTree

/// Hashes bytes, piece by piece; the division into pieces matters.
struct Digest {
    private(set) var value: UInt64 = 0

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        value = XXH3_64bits_withSeed(bytes.baseAddress, bytes.count, value &+ UInt64(bytes.count) &+ 1)
    }

    mutating func add(_ bytes: [UInt8]) { bytes.withUnsafeBytes { add($0) } }
}

/// Named trees of byte strings: the expected content of a store.
package struct ModelStore: Equatable, Sendable {
    package typealias Key = [UInt8]
    package var trees: [String: [Key: [UInt8]]] = [:]

    package init() {}

    package var digest: UInt64 {
        var digest = Digest()
        for name in trees.keys.sorted(by: { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }) {
            digest.add(Array(name.utf8))
            let tree = trees[name] ?? [:]
            for key in Self.sorted(tree.keys) {
                digest.add(key)
                digest.add(tree[key] ?? [])
            }
        }
        return digest.value
    }

    /// In the order of trees.
    static func sorted(_ keys: some Sequence<Key>) -> [Key] {
        keys.sorted { left, right in
            left.withUnsafeBytes { l in right.withUnsafeBytes { r in l.order(r) < 0 } }
        }
    }
}

extension Transaction {
    /// The digest of all that this transaction sees. Walks of more than `limit` entries are given up as endless.
    package func digest(limit: Int = 1_000_000) throws -> UInt64 {
        var digest = Digest()
        var left = limit
        for name in try treeNames() {
            guard let tree = try tree(name) else { throw ProofFailure("tree “\(name)” is listed, but not there") }
            digest.add(Array(name.utf8))
            var cursor = try cursor(tree)
            while try cursor.next() {
                digest.add(cursor.key)
                digest.add(cursor.value)
                left -= 1
                if left < 0 { throw ProofFailure("a walk that does not end") }
            }
        }
        return digest.value
    }
}

extension TreeStore {
    /// The digest of the newest committed state.
    package func digest() throws -> UInt64 {
        let read = try beginRead()
        defer { read.abort() }
        return try read.digest()
    }
}
