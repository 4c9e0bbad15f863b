// SPDX-License-Identifier: Apache-2.0
// Objects that the layers above derive from a tree's content and keep in memory as long as the store is open. Many
// transactions share them. Such an object must itself record the state of the tree to which it belongs.

import HornbeamPages
import Synchronization

/// One object for each tree, by the tree's number, which no other tree ever has.
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
    /// Returns this store's object for the tree. `make` makes it if there is none yet. All transactions of the store,
    /// in any state, get one object for a tree.
    package func derived<Object: AnyObject & Sendable>(of tree: TreeID, make: () -> Object) -> Object {
        names.derived.object(of: tree.rawValue, make: make)
    }

    /// Forgets the store's object for the tree. Holders of it may continue to use it.
    package func forgetDerived(of tree: TreeID) { names.derived.remove(tree.rawValue) }
}
