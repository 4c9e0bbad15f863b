// SPDX-License-Identifier: Apache-2.0
// Slows down commits that outrun a checkpoint. While one is running, their pages take space in addition to the
// checkpoint's pages and to the former checkpoint's, and their records take the rest of the journal. They must not
// exceed the amount that the medium can take in that time. Each commit waits a little, after it is visible, so that no
// single one waits long.

import Synchronization

/// Any thread may use it.
final class CommitPace: @unchecked Sendable {
    // Sendable: everything variable but the atomics is guarded by `monitor`. Only the holder of the writer's turn calls
    // `begin` and `note`, so `note` reads without it.
    private let monitor = Monitor()
    /// Whether a checkpoint is being written.
    var isUnderWay: Bool { underWay.load(ordering: .relaxed) }
    private let underWay = Atomic(false)
    /// Bytes of pages that the checkpoint makes durable, and the maximum that commits should make until it has.
    private var ahead = 0
    private var bound = Int.max
    private var start = ContinuousClock.now
    /// The time that the medium took for a byte in the last checkpoint with many bytes.
    private var secondsPerByte = 0.0
    /// Seconds that commits still have to wait: fractions of a millisecond add up to one.
    private var owed = 0.0
    /// Bytes of pages that the checkpoint doesn't have, or more if the journal fills up sooner.
    private let newer = Atomic(0)
    /// The journal's sectors in use when the checkpoint began, and the free ones.
    private var journalStart: UInt64 = 0
    private var journalRoom: UInt64 = 0

    /// A checkpoint with fewer bytes doesn't show how long a byte takes.
    private static var telling: Int { 1 << 20 }
    /// The longest time in seconds that a checkpoint may slow down commits below the bound.
    private static var longest: Double { 1 }

    /// Notes that a checkpoint begins, in the writer's turn. Until it is written commits should make at most `bound`
    /// bytes, and fit in the rest of the journal.
    func begin(bytes: Int, bound: Int, journal: (used: UInt64, capacity: UInt64) = (0, 0)) {
        monitor.locked {
            journalStart = journal.used
            journalRoom = journal.capacity - journal.used
            start = .now
            ahead = bytes
            self.bound = bound
            owed = 0
            newer.store(0, ordering: .relaxed)
            underWay.store(true, ordering: .relaxed)
        }
    }

    /// Notes the bytes of pages that the checkpoint doesn't have, and the journal's sectors in use. In the writer's
    /// turn.
    func note(newer bytes: Int, journalUse: UInt64 = 0) {
        var bytes = bytes
        if journalRoom > 0, journalUse > journalStart {
            let part = Double(journalUse - journalStart) / Double(journalRoom)
            bytes = Swift.max(bytes, Int(Swift.min(part, 1) * Double(bound)))
        }
        newer.store(bytes, ordering: .relaxed)
    }

    /// Notes that the checkpoint is written or has failed. The thread that ends it may have to wait for the turn, but
    /// commits need not wait for that.
    func end() {
        monitor.locked {
            if ahead >= Self.telling { secondsPerByte = (ContinuousClock.now - start) / .seconds(1) / Double(ahead) }
            underWay.store(false, ordering: .relaxed)
            monitor.broadcast()
        }
    }

    /// Waits after a commit that has made `bytes` of pages. From half of the bound on, commits share the remaining time
    /// of the checkpoint in proportion to their part of the remaining bytes, so that it has mostly ended before they
    /// reach the bound. Beyond the bound they wait for its end.
    func wait(made bytes: Int) {
        monitor.locked {
            guard isUnderWay, newer.load(ordering: .relaxed) > bound / 2 else { return }
            let whole = Swift.min(secondsPerByte * Double(ahead), Self.longest)
            let left = whole - (ContinuousClock.now - start) / .seconds(1)
            let room = Swift.max(bytes, bound - newer.load(ordering: .relaxed) + bytes)
            owed += Swift.max(0, left) * Double(bytes) / Double(room)
            let milliseconds = Int(owed * 1000)
            owed -= Double(milliseconds) / 1000
            let deadline = ContinuousClock.now + .milliseconds(milliseconds)
            while isUnderWay {
                if monitor.wait(until: deadline) { continue }
                if newer.load(ordering: .relaxed) > bound {
                    // Nothing signals that pages became durable or free, so look again soon.
                    _ = monitor.wait(milliseconds: 10)
                } else {
                    return
                }
            }
        }
    }
}
