// SPDX-License-Identifier: Apache-2.0
// A read of the newest state, by which a live query is updated.

package import HornbeamTree

/// A read of the newest state, open while one live query is compared with it.
package struct LiveView {
    package let session: TypedTransaction
    let core: StoreTransaction
    package let figures: LiveFigures

    /// The number of the state that it reads.
    var version: UInt64 { core.transaction.version }
    /// The trees that it has opened so far.
    package var trees: Set<TreeID> { core.transaction.openTrees }
}
