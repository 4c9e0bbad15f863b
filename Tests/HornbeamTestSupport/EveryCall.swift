// SPDX-License-Identifier: Apache-2.0
// A part of a file's life, cut short at each of its calls to the disk in turn: by a crash, or by a call that fails.

package import Testing

extension SimulatedDisk {
    /// Runs `live` on copies of a file, with a crash at call 1, 2, 3 …, until a run ends before its crash.
    /// - Parameters:
    /// - live: returns the acknowledged changes, which must then be found again.
    ///   - look: gets each possible file after a power loss or a kill, and the result of `live`.
    /// - Returns: the number of calls in a complete run.
    @discardableResult
    package static func crashAtEveryCall<Outcome>(
        of image: [UInt8]?, _ live: (SimulatedDisk) throws -> Outcome,
        _ look: (_ image: [UInt8]?, _ outcome: Outcome, _ place: Comment) throws -> Void
    ) throws -> Int {
        var call = 1
        while true {
            let disk = try SimulatedDisk(image: image)
            disk.plan = Plan(call: call, fault: .crash)
            let outcome = try live(disk)
            for (number, image) in disk.losses(atCall: call).enumerated() {
                try look(image, outcome, "call \(call), power loss \(number)")
            }
            try look(disk.killedImage(), outcome, "killed at call \(call)")
            if !disk.hasCrashed { return call }
            call += 1
        }
    }

    /// Like `crashAtEveryCall`, with calls that fail with `code` in place of crashes; the process continues.
    package static func failAtEveryCall<Outcome>(
        of image: [UInt8]?, _ code: Int32, _ live: (SimulatedDisk) throws -> Outcome,
        _ look: (_ image: [UInt8]?, _ outcome: Outcome, _ place: Comment) throws -> Void
    ) throws {
        for call in 1... {
            let disk = try SimulatedDisk(image: image)
            disk.plan = Plan(call: call, fault: .error(code))
            let outcome = try live(disk)
            try look(disk.killedImage(), outcome, "call \(call), errno \(code)")
            if disk.calls < call { return }
        }
    }

    /// Returns files that power losses at this call may leave: more of them at the first calls, which often decide
    /// between an empty and a whole file.
    private func losses(atCall call: Int) -> [[UInt8]?] {
        (0..<(call <= 4 ? 16 : 1)).map { turn in
            powerLossImage(seed: UInt64(call + turn * 1000) &+ SeededGenerator.seed)
        }
    }
}
