// SPDX-License-Identifier: Apache-2.0
// The interface for programs that fold a tree's entries.

package import HornbeamPages

/// Condenses entries and reduced values, in the order of their keys, to a value of the program's own. Must give equal
/// bytes for equal input, as with `Reduction`. Must be associative, but not necessarily commutative. Belongs to one
/// thread.
///
/// It must accept any bytes for an entry and for a reduced value: they may come from a damaged file. It notes
/// unreadable bytes, and then `write` returns false.
package protocol ReductionFolder: AnyObject {
    /// Whether it reads keys. If not, it gets empty ones.
    var needsKeys: Bool { get }
    /// Forgets all that was added.
    func start()
    func add(key: Bytes, value: Bytes)
    /// Adds a value that another folder has written, followed by zeros.
    func add(reduced: Bytes)
    /// Writes the folded value to memory that is all zero. Returns false if the value doesn't fit or is unknown.
    func write(to target: UnsafeMutableRawBufferPointer) -> Bool
}

extension ReductionFolder {
    package var needsKeys: Bool { true }
}
