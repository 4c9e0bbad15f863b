// SPDX-License-Identifier: Apache-2.0
// The trees of a state: when trees may be known by their numbers.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("The trees that are present")
struct TransactionTreesTests {
    @Test("stay the same after any puts, and differ once a tree is added or dropped")
    func changes() throws {
        let store = try TreeStore.inMemory()
        let first = try store.beginWrite()
        let one = try #require(try first.tree("one", create: true))
        _ = try first.tree("two", create: true)
        let made = try first.presentTrees()
        try first.put(one, [1], [1])
        #expect(try first.presentTrees() == made)
        try first.commit()
        #expect(try store.beginRead().presentTrees() == made)

        let second = try store.beginWrite()
        #expect(try second.presentTrees() == made)
        let savepoint = try second.savepoint()
        #expect(try second.dropTree("two"))
        let dropped = try second.presentTrees()
        #expect(dropped != made)
        _ = try second.tree("two", create: true)
        // As many trees as before, but different ones.
        #expect(try second.presentTrees() != made)
        #expect(try second.presentTrees() != dropped)
        try second.rollback(to: savepoint)
        #expect(try second.presentTrees() == made)
        let again = try #require(try second.tree("three", create: true))
        #expect(again.rawValue > one.rawValue)
        let other = try second.presentTrees()
        second.abort()

        // The number of a tree made in an aborted write isn't given to another tree.
        let third = try store.beginWrite()
        #expect(try third.presentTrees() == made)
        _ = try third.tree("three", create: true)
        #expect(try third.presentTrees() != other)
    }
}
