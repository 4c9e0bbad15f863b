// SPDX-License-Identifier: Apache-2.0
// What the layers above keep in memory of a tree for as long as the store is open: made from the tree's content, for
// many transactions to share. What is kept must itself tell which state of the tree it is of.

import HornbeamPages
import Synchronization

/// One object a tree, by the tree's number, which no other tree ever has.
final class DerivedObjects: Sendable {
    private let objects = Mutex<[UInt32: any AnyObject & Sendable]>([:])

    func object<Object: AnyObject & Sendable>(of tree: UInt32, make: () -> Object) -> Object {
        objects.withLock { (objects) in
            if let known = objects[tree] as? Object { return known }
            let made = make()
            objects[tree] = made
            return made
        }
    }

    func remove(_ tree: UInt32) { objects.withLock { $0[tree] = nil } }
}

extension Transaction {
    /// What this store keeps of the tree: `make` makes it if there is nothing yet. All transactions of the store get
    /// the same object, whatever state they see.
    package func derived<Object: AnyObject & Sendable>(of tree: TreeID, make: () -> Object) -> Object {
        names.derived.object(of: tree.rawValue, make: make)
    }

    /// Forgets what the store keeps of the tree. Who still has it may go on using it.
    package func forgetDerived(of tree: TreeID) { names.derived.remove(tree.rawValue) }
}
