// SPDX-License-Identifier: Apache-2.0
// A reduction: a value that a tree stores for the entries below each child, beside their count, so that an aggregate of
// any range of keys takes O(log n) nodes. The functions are in the program; the file has only the reduction's name and
// size.

package import HornbeamPages
import Synchronization

/// Condenses entries to bytes of a fixed size. `combine` must be associative and `identity` neutral. Values are
/// combined in the order of keys, so `combine` need not be commutative. Both functions must always give equal bytes for
/// equal input, because their results are stored in the file. A changed function needs another name.
package struct Reduction: Sendable {
    /// Writes the reduced value of one entry, `size` bytes.
    package typealias Map = @Sendable (_ key: Bytes, _ value: Bytes, _ target: UnsafeMutableRawPointer) -> Void
    /// Combines the value of later entries into `target`, which has the value of earlier ones.
    package typealias Combine = @Sendable (_ target: UnsafeMutableRawPointer, _ next: UnsafeRawPointer) -> Void

    /// 1 to 64 bytes of UTF-8.
    package let name: String
    /// Size of a reduced value in bytes: 1 to `limit`; 2 to `optionalLimit` if values may be absent.
    package let size: Int
    /// The reduced value of no entries.
    package let identity: [UInt8]
    let map: Map
    let combine: Combine
    /// Whether the value of a child may be absent: see `ReductionFolder`.
    let isOptional: Bool
    /// Makes the folder of an optional reduction; nil if the program doesn't know the reduction.
    let makeFolder: (@Sendable () -> any ReductionFolder)?

    package init(name: String, identity: [UInt8], map: @escaping Map, combine: @escaping Combine) {
        self.name = name
        size = identity.count
        self.identity = identity
        self.map = map
        self.combine = combine
        isOptional = false
        makeFolder = nil
    }

    /// A reduction whose values may be absent.
    /// - Parameter size: of a reduced value, including one byte for its state: 2 to `optionalLimit`.
    package init(name: String, size: Int, folder: (@Sendable () -> any ReductionFolder)?) {
        self.name = name
        self.size = size
        identity = [UInt8](repeating: 0, count: size)
        map = { (_, _, _) in }
        combine = { (_, _) in }
        isOptional = true
        makeFolder = folder
    }

    /// The optional reduction of a tree of which this program knows only the name.
    init(unknown options: StoredOptions) {
        self.init(
            name: String(decoding: options.reduction, as: UTF8.self), size: options.reductionSize, folder: nil)
    }

    /// Maximum size of a reduced value that is never absent.
    package static let limit = 64
    /// Maximum size of a reduced value that may be absent.
    package static let optionalLimit = NodeLayout.maximumReduction

    var options: StoredOptions {
        StoredOptions(
            flags: isOptional ? StoredOptions.optionalValues : 0, reductionSize: size, reduction: Array(name.utf8))
    }

    func checkSize() throws(StorageError) {
        let sizes = isOptional ? 2...Self.optionalLimit : 1...Self.limit
        guard sizes.contains(size), options.isPlausible else {
            throw .invalid(
                "reduction “\(name)”: its name must have 1 to 64 bytes, its values \(sizes.lowerBound) to "
                    + "\(sizes.upperBound)")
        }
    }
}

/// The reductions that a program has given its store, by name. Any thread may use it.
final class Reductions: Sendable {
    private let all: Mutex<[[UInt8]: Reduction]>

    init(_ reductions: [Reduction]) throws(StorageError) {
        var all: [[UInt8]: Reduction] = [:]
        for reduction in reductions {
            try reduction.checkSize()
            guard all.updateValue(reduction, forKey: Array(reduction.name.utf8)) == nil else {
                throw .invalid("two reductions are called “\(reduction.name)”")
            }
        }
        self.all = Mutex(all)
    }

    /// Adds a reduction, or replaces the one with its name.
    func add(_ reduction: Reduction) throws(StorageError) {
        try reduction.checkSize()
        all.withLock { $0[Array(reduction.name.utf8)] = reduction }
    }

    /// Returns the reduction that a tree was created with. Returns nil if the tree has none, or if the program didn't
    /// give it and its values must not be absent.
    func find(_ options: StoredOptions) -> Reduction? {
        guard options.reductionSize > 0 else { return nil }
        let known = all.withLock { $0[options.reduction] }
        if let known, known.size == options.reductionSize, known.isOptional == options.hasOptionalValues {
            return known
        }
        return options.hasOptionalValues ? Reduction(unknown: options) : nil
    }
}

/// Options for creating a tree.
package struct TreeOptions: Sendable {
    /// One of the reductions that the store was opened with.
    package var reduction: Reduction?

    /// Whether the tree's leaves are compressed with LZ4. Only a new tree uses it.
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
