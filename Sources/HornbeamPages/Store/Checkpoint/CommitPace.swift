// SPDX-License-Identifier: Apache-2.0
// Slows down commits that outrun a checkpoint. While one is running, their pages take space besides the checkpoint's
// and besides those that the former checkpoint reaches: they must not exceed the amount that the medium can take in
// that time. Each commit waits a little, after it is visible, rather than one of them for long.

import Synchronization

/// Any thread.
final class CommitPace: @unchecked Sendable {
    // Sendable: everything variable but the atomic is guarded by `monitor`.
    private let monitor = Monitor()
    /// Whether a checkpoint is being written.
    var isUnderWay: Bool { underWay.load(ordering: .relaxed) }
    private let underWay = Atomic(false)
    /// Bytes of pages that it makes durable, and that commits should make at most until it has.
    private var ahead = 0
    private var bound = Int.max
    private var start = ContinuousClock.now
    /// The time that the medium took for a byte in the last checkpoint that had many.
    private var secondsPerByte = 0.0
    /// Seconds that commits have still to wait: fractions of a millisecond add up until they make one.
    private var owed = 0.0

    /// Number of bytes below which the time says nothing about the bytes.
    private static var telling: Int { 1 << 20 }
    /// A checkpoint doesn't hold commits up for longer but by the bound.
    private static var longest: Double { 1 }

    /// A checkpoint begins, in the writer's turn. Until it is written commits shall make no more than `bound` bytes.
    func begin(bytes: Int, bound: Int) {
        monitor.locked {
            start = .now
            ahead = bytes
            self.bound = bound
            owed = 0
            underWay.store(true, ordering: .relaxed)
        }
    }

    /// The checkpoint is written or has failed: the thread that ends it may have to wait for the turn, but commits
    /// don't.
    func end() {
        monitor.locked {
            if ahead >= Self.telling { secondsPerByte = (ContinuousClock.now - start) / .seconds(1) / Double(ahead) }
            underWay.store(false, ordering: .relaxed)
            monitor.broadcast()
        }
    }

    /// Waits after a commit that has made `bytes` of pages; `dirty` returns all bytes that are not durable yet. From
    /// half of the bound on, commits share the remaining time of the checkpoint in proportion to their part of the
    /// remaining bytes, so that it has mostly ended before they reach the bound. Beyond the bound they wait for its
    /// end.
    func wait(made bytes: Int, dirty: () -> Int) {
        monitor.locked {
            guard isUnderWay, dirty() - ahead > bound / 2 else { return }
            let whole = Swift.min(secondsPerByte * Double(ahead), Self.longest)
            let left = whole - (ContinuousClock.now - start) / .seconds(1)
            let room = Swift.max(bytes, bound - (dirty() - ahead) + bytes)
            owed += Swift.max(0, left) * Double(bytes) / Double(room)
            let milliseconds = Int(owed * 1000)
            owed -= Double(milliseconds) / 1000
            let deadline = ContinuousClock.now + .milliseconds(milliseconds)
            while isUnderWay {
                if monitor.wait(until: deadline) { continue }
                if dirty() - ahead > bound {
                    // There is no signal when pages become durable or free: look again soon.
                    _ = monitor.wait(milliseconds: 10)
                } else {
                    return
                }
            }
        }
    }
}
