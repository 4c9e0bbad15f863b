// SPDX-License-Identifier: Apache-2.0
// Shared parts of the proofs of random lives: one life after the other, the checks of a store after each, and which
// commit's state it is in.

import HornbeamTree

extension Workload {
    /// Lives one life after the other, the first of them number `former` + 1, as long as more is wanted. A failure says
    /// how it is seen again: seed, life, and what `place` says.
    static func lives(
        of seed: UInt64, after former: Int, while isWanted: () -> Bool, place: () -> String, live: (Int) throws -> Void
    ) throws {
        var life = former
        while isWanted() {
            life += 1
            do {
                try live(life)
            } catch {
                throw ProofFailure("seed \(seed), life \(life), \(place()): \(error)")
            }
        }
    }

    /// The place in the life.
    var place: String { "step \(steps) (\(lastStep))" }

    /// The store's own check finds nothing, and reduced values are what the entries come to.
    static func expectSound(_ store: TreeStore, _ what: String = "check") throws {
        var problems: [String] = []
        let isSound = try store.check { problems.append($0) }
        try expect(isSound && problems.isEmpty, "\(what): \(problems.joined(separator: "; "))")
        try expectReduced(store)
    }

    /// Which commit's state the store is in: it must be one of these.
    func state(of store: TreeStore, in allowed: ClosedRange<Int>, _ when: String = "") throws -> Int {
        let digest = try store.digest()
        if let index = allowed.first(where: { digests[$0] == digest }) { return index }
        let other = digests.firstIndex(of: digest).map { "it is that of commit \($0)" } ?? "it is that of none"
        throw ProofFailure("\(when)the content should be that of commit \(allowed), \(other)")
    }
}
