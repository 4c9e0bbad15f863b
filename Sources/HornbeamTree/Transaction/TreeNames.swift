// SPDX-License-Identifier: Apache-2.0
// The names and numbers of a store's trees.

import HornbeamPages
import Synchronization

/// The names of trees by number, for the life of a store. It only grows: no number is given twice, even if the
/// transaction that took it was aborted, so that a stale handle never means another tree.
final class TreeNames: Sendable {
    private struct State {
        var names: [UInt32: [UInt8]] = [:]
        /// Other names of trees that were renamed: older states have them, and the rename may be aborted.
        var others: [UInt32: [[UInt8]]] = [:]
        var next: UInt32 = 1
    }
    private let state = Mutex(State())
    /// The reductions that the program has given the store.
    let reductions: Reductions
    let derived = DerivedObjects()

    init(reductions: Reductions) { self.reductions = reductions }

    func name(of number: UInt32) -> [UInt8]? { state.withLock { $0.names[number] } }

    /// Notes a tree. Returns false if the number belongs to another tree.
    func note(_ number: UInt32, _ name: [UInt8]) -> Bool {
        state.withLock { (state) in
            if let known = state.names[number] {
                return known == name || state.others[number]?.contains(name) ?? false
            }
            state.names[number] = name
            return true
        }
    }

    /// Notes that a known tree has another name from now on.
    func rename(_ number: UInt32, to name: [UInt8]) {
        state.withLock { (state) in
            guard let known = state.names.updateValue(name, forKey: number) else { return }
            state.others[number, default: []].append(known)
        }
    }

    /// Other names that the tree has in older states, or has if its rename was aborted.
    func otherNames(of number: UInt32) -> [[UInt8]] { state.withLock { $0.others[number] ?? [] } }

    /// Returns a number, at least `least`, that no tree has had; nil if there are none left.
    func reserve(from least: UInt32) -> UInt32? {
        state.withLock { (state) in
            let number = max(state.next, least, 1)
            guard number < .max else { return nil }
            state.next = number + 1
            return number
        }
    }
}
