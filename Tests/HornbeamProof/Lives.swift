// SPDX-License-Identifier: Apache-2.0
// Shared parts of the proofs of random lives: one life after the other, the checks of a store after each, and which
// commit's state it is in.

import HornbeamTree

extension Workload {
    /// Runs one life after the other, the first of them with number `former` + 1, until there are enough. A failure
    /// says how to reproduce it: seed, life, and the text of `place`.
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

    /// The store's own check finds nothing, and reduced values agree with the entries.
    static func expectSound(_ store: TreeStore, _ what: String = "check") throws {
        var problems: [String] = []
        let isSound = try store.check { problems.append($0) }
        try expect(isSound && problems.isEmpty, "\(what): \(problems.joined(separator: "; "))")
        try expectReduced(store)
    }

    /// The number of the commit whose state the store is in, which must be in `allowed`.
    func state(of store: TreeStore, in allowed: ClosedRange<Int>, _ when: String = "") throws -> Int {
        let digest = try store.digest()
        if let index = allowed.first(where: { digests[$0] == digest }) { return index }
        let other = digests.firstIndex(of: digest).map { "it is that of commit \($0)" } ?? "it is that of none"
        throw ProofFailure("\(when)the content should be that of commit \(allowed), \(other)")
    }
}
