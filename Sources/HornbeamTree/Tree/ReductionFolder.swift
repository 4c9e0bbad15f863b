// SPDX-License-Identifier: Apache-2.0
// The interface by which a program folds a tree's entries.

package import HornbeamPages

/// Condenses entries and reduced values, in the order of their keys, to a value of the program's own. Must give the
/// same bytes for the same input, as `Reduction` says; associative, but not necessarily commutative. Belongs to one
/// thread.
///
/// It must accept any bytes for an entry and for a reduced value: they may come from a damaged file. It notes
/// unreadable bytes, and then `write` returns false.
package protocol ReductionFolder: AnyObject {
    /// Whether it looks at keys; they are empty otherwise.
    var needsKeys: Bool { get }
    /// Forgets what was added.
    func start()
    func add(key: Bytes, value: Bytes)
    /// Adds what another folder has written, with the zeros behind it.
    func add(reduced: Bytes)
    /// Writes the sum to memory that is all zero; false if it doesn't fit or is unknown.
    func write(to target: UnsafeMutableRawBufferPointer) -> Bool
}

extension ReductionFolder {
    package var needsKeys: Bool { true }
}
