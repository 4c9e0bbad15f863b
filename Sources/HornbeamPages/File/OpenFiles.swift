// SPDX-License-Identifier: Apache-2.0
// The files that this process has open as stores. Locks tell processes apart, but not reliably the stores of one
// process; and a second store on a file in one process would be a mistake of the program in any case.

import CHornbeamShims
import Glibc
import Synchronization

/// The identity of a file, independent of its names.
struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    init(_ information: stat) {
        device = UInt64(information.st_dev)
        inode = UInt64(information.st_ino)
    }
}

/// One store's entry in the register, until the store gives it back.
final class OpenFile: Sendable {
    private let identity: FileIdentity
    private let generation: UInt32
    private let isGivenBack = Atomic<Bool>(false)

    /// Each file, with the fork generation in which it was opened: this process doesn't own files that its parent has
    /// open. Guarded by the process's lock, which is free in a forked child.
    private static nonisolated(unsafe) var files: [FileIdentity: UInt32] = [:]

    private static func withFiles<Result>(_ body: (inout [FileIdentity: UInt32]) -> Result) -> Result {
        withProcessLock { body(&files) }
    }

    /// Enters the file into the register. Returns nil if a store of this process has it open.
    init?(_ identity: FileIdentity) {
        let generation = hbs_fork_generation()
        let isFree = Self.withFiles { files in
            guard files[identity] != generation else { return false }
            files[identity] = generation
            return true
        }
        guard isFree else { return nil }
        self.identity = identity
        self.generation = generation
    }

    deinit { giveBack() }

    /// Gives the entry back. Has no effect the second time.
    func giveBack() {
        guard generation == hbs_fork_generation(), !isGivenBack.exchange(true, ordering: .relaxed) else { return }
        Self.withFiles { files in
            if files[identity] == generation { files[identity] = nil }
        }
    }
}
