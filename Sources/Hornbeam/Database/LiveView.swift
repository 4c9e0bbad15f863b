// SPDX-License-Identifier: Apache-2.0
// What a look at the newest state reads with.

package import HornbeamTree

/// A read of the newest state, for the length of a look.
package struct LiveView {
    package let session: TypedTransaction
    let core: StoreTransaction
    package let figures: LiveFigures

    /// The number of the state that is seen.
    var version: UInt64 { core.transaction.version }
    /// The trees that the read has looked at so far.
    package var trees: Set<TreeID> { core.transaction.openTrees }
}
