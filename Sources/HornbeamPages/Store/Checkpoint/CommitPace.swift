// SPDX-License-Identifier: Apache-2.0
// Slows commits down that outrun a checkpoint. While one is under way, what they make takes space beside what it writes
// and beside what the one before reaches: there must not be more of it than the medium can take in that time. Each
// commit waits a little, after it is visible, rather than one of them for long.

import Glibc
import Synchronization

/// Any thread.
final class CommitPace: Sendable {
    /// What the checkpoint under way has to make durable, in bytes of pages; negative if there is none.
    private let ahead = Atomic<Int>(-1)
    /// How long the former one took.
    private let formerNanoseconds = Atomic<Int>(0)
    private let start = Atomic<Int>(0)
    private let bound = Atomic<Int>(.max)

    private static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// A checkpoint begins, in the writer's turn. Until it ends commits shall make no more than `bound` bytes.
    func begin(bytes: Int, bound: Int) {
        start.store(Self.now, ordering: .relaxed)
        self.bound.store(bound, ordering: .relaxed)
        ahead.store(bytes, ordering: .relaxed)
    }

    /// It is written, or came to nothing: whoever ends it may have to wait for the turn, but commits don't.
    func end() {
        let time = Swift.min(Self.now - start.load(ordering: .relaxed), Self.longest)
        formerNanoseconds.store(time, ordering: .relaxed)
        ahead.store(-1, ordering: .relaxed)
    }

    /// What a checkpoint counts for at most.
    private static var longest: Int { 1_000_000_000 }

    /// Dirty bytes that the checkpoint under way will not have, of all that there are. Nil if there is none.
    private func behind(of dirty: Int) -> Int? {
        let ahead = ahead.load(ordering: .relaxed)
        return ahead < 0 ? nil : dirty - ahead
    }

    /// Waits after a commit that has made `bytes` of pages. From half of the bound on commits share what is left of the
    /// time that the former checkpoint took, by what they make of what they may still make, so that this one has mostly
    /// ended before they reach the bound; beyond it they wait for its end.
    func wait(made bytes: Int, dirty: () -> Int) {
        guard let behind = behind(of: dirty()) else { return }
        let bound = bound.load(ordering: .relaxed)
        guard behind > bound / 2 else { return }
        let left = start.load(ordering: .relaxed) + formerNanoseconds.load(ordering: .relaxed) - Self.now
        let share = Double(bytes) / Double(Swift.max(bytes, bound - behind + bytes))
        var rest = Int(share * Double(left))
        while let behind = self.behind(of: dirty()), rest > 0 || behind > bound {
            let piece = rest > 0 ? Swift.min(rest, Self.piece) : Self.piece
            Self.sleep(nanoseconds: piece)
            rest -= piece
        }
    }

    /// After so long it is looked whether there is still something to wait for.
    private static var piece: Int { 1_000_000 }

    private static func sleep(nanoseconds: Int) {
        // A signal may end it early: then the next commit waits.
        var time = timespec(tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
        nanosleep(&time, nil)
    }
}
