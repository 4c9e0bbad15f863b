// SPDX-License-Identifier: Apache-2.0
// A part of a file's life, cut short at each of its calls to the disk in turn: by a crash, or by a call that fails.

package import Testing

extension SimulatedDisk {
    /// Runs `live` on copies of a file, with a crash at call 1, 2, 3 … until one gets through.
    /// - Parameters:
    ///   - live: returns whether it was done, so that its work must be found again.
    ///   - look: gets each file that may be left, by power losses and by a kill, and what `live` returned.
    /// - Returns: how many calls it takes.
    @discardableResult
    package static func crashAtEveryCall(
        of image: [UInt8]?, _ live: (SimulatedDisk) throws -> Bool,
        _ look: (_ image: [UInt8]?, _ isDone: Bool, _ place: Comment) throws -> Void
    ) throws -> Int {
        for call in 1... {
            let disk = try SimulatedDisk(image: image)
            disk.plan = Plan(call: call, fault: .crash)
            let isDone = try live(disk)
            for image in disk.images(ofCrashAt: call) { try look(image, isDone, "call \(call)") }
            if !disk.hasCrashed { return call }
        }
        return 0
    }

    /// Like `crashAtEveryCall`, with calls that fail with `code` in place of crashes; the process goes on.
    package static func failAtEveryCall(
        of image: [UInt8]?, _ code: Int32, _ live: (SimulatedDisk) throws -> Bool,
        _ look: (_ image: [UInt8]?, _ isDone: Bool, _ place: Comment) throws -> Void
    ) throws {
        for call in 1... {
            let disk = try SimulatedDisk(image: image)
            disk.plan = Plan(call: call, fault: .error(code))
            let isDone = try live(disk)
            try look(disk.killedImage(), isDone, "call \(call), errno \(code)")
            if disk.calls < call { return }
        }
    }

    /// What may be left of a disk that crashed at this call, by a kill and by power losses: of the first calls, which
    /// may make the difference between all and nothing, as many as it takes to see both.
    private func images(ofCrashAt call: Int) -> [[UInt8]?] {
        let losses = (0..<(call <= 4 ? 16 : 1)).map { turn in
            powerLossImage(seed: UInt64(call + turn * 1000) &+ SeededGenerator.seed)
        }
        return losses + [killedImage()]
    }
}
