// SPDX-License-Identifier: Apache-2.0
// A reduction: what a tree keeps of the entries below each child, beside their count, so that an aggregate of any range
// of keys takes O(log n) nodes. The functions live in the program; the file has only the reduction's name and size.

package import HornbeamPages

/// Condenses entries to bytes of a fixed size. `combine` must be associative and `identity` neutral; order is that of
/// the keys, so it need not be commutative. Both functions must give the same bytes for the same input, for ever: what
/// they made lies in the file. A changed function needs another name.
package struct Reduction: Sendable {
    /// Writes what one entry comes to, `size` bytes.
    package typealias Map = @Sendable (_ key: Bytes, _ value: Bytes, _ target: UnsafeMutableRawPointer) -> Void
    /// Makes `target`, which stands for earlier entries, stand for those of `next` as well.
    package typealias Combine = @Sendable (_ target: UnsafeMutableRawPointer, _ next: UnsafeRawPointer) -> Void

    /// 1 to 64 bytes of UTF-8.
    package let name: String
    /// Of a reduced value: 1 to 64 bytes.
    package let size: Int
    /// What no entries come to.
    package let identity: [UInt8]
    let map: Map
    let combine: Combine

    package init(name: String, identity: [UInt8], map: @escaping Map, combine: @escaping Combine) {
        self.name = name
        size = identity.count
        self.identity = identity
        self.map = map
        self.combine = combine
    }

    var options: StoredOptions { StoredOptions(reductionSize: size, reduction: Array(name.utf8)) }
}

/// The reductions that a program has given its store, by name.
struct Reductions: Sendable {
    private var all: [[UInt8]: Reduction] = [:]

    init(_ reductions: [Reduction]) throws(StorageError) {
        for reduction in reductions {
            guard (1...NodeLayout.maximumReduction).contains(reduction.size), reduction.options.isPlausible else {
                throw .invalid(
                    "reduction “\(reduction.name)”: its name and its values must have 1 to "
                        + "\(NodeLayout.maximumReduction) bytes")
            }
            guard all.updateValue(reduction, forKey: Array(reduction.name.utf8)) == nil else {
                throw .invalid("two reductions are called “\(reduction.name)”")
            }
        }
    }

    /// The one a tree was created with; nil if the tree has none or the program didn't give it.
    func find(_ options: StoredOptions) -> Reduction? {
        guard options.reductionSize > 0, let known = all[options.reduction], known.size == options.reductionSize else {
            return nil
        }
        return known
    }
}

/// What can be chosen when a tree is created.
package struct TreeOptions: Sendable {
    /// One of those that the store was opened with.
    package var reduction: Reduction?

    /// Whether the tree's leaves are compressed with LZ4. Only a new tree goes by it.
    package var isCompressed: Bool

    package init(reduction: Reduction? = nil, isCompressed: Bool = false) {
        self.reduction = reduction
        self.isCompressed = isCompressed
    }

    var stored: StoredOptions {
        var stored = reduction?.options ?? StoredOptions()
        if isCompressed { stored.flags |= StoredOptions.compressed }
        return stored
    }
}
