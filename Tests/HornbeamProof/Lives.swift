// SPDX-License-Identifier: Apache-2.0
// Shared parts of the proofs of random lives: running one life after the other, checking a store, and finding the
// commit whose state it is in.

import HornbeamTree

extension Workload {
    /// Runs lives while `isWanted`, beginning with number `former` + 1. A failure says how to reproduce it: seed,
    /// life, and the text of `place`.
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

    /// The current step, for messages.
    var place: String { "step \(steps) (\(lastStep))" }

    /// Checks that the store's own check finds nothing, and that reduced values agree with the entries.
    static func expectSound(_ store: TreeStore, _ what: String = "check") throws {
        var problems: [String] = []
        let isSound = try store.check { problems.append($0) }
        try expect(isSound && problems.isEmpty, "\(what): \(problems.joined(separator: "; "))")
        try expectReduced(store)
    }

    /// Returns the number of the commit whose state the store is in, which must be in `allowed`.
    func state(of store: TreeStore, in allowed: ClosedRange<Int>, _ when: String = "") throws -> Int {
        let digest = try store.digest()
        if let index = allowed.first(where: { digests[$0] == digest }) { return index }
        let other = digests.firstIndex(of: digest).map { "it is that of commit \($0)" } ?? "it is that of none"
        throw ProofFailure("\(when)the content should be that of commit \(allowed), \(other)")
    }
}
