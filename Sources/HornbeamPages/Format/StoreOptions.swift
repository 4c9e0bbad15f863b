// SPDX-License-Identifier: Apache-2.0
// The options for opening a store, and the levels of durability of a commit.

import Glibc

/// The failures that a commit survives once it is acknowledged.
package enum Durability: UInt32, Sendable {
    /// Survives power loss: the commit's redo record is on the medium before `commit` returns.
    case full = 0
    /// Survives a crash of the process. Power loss may lose the last commits but never corrupts.
    case process = 1
    /// Lost with the process, until a later synced commit or checkpoint makes it durable. Never corrupts.
    case none = 2

    func stronger(_ other: Durability) -> Durability { rawValue <= other.rawValue ? self : other }
}

/// The way to read a store's pages.
package enum PageAccess: Sendable {
    /// Through a mapping of the file: values are slices of it, and the system's cache keeps the pages.
    case mapped
    /// By system calls into the page cache. Needs little address space, and reports a read error of the medium as any
    /// other error.
    case read
}

/// Options for opening a store. All sizes in bytes.
package struct StoreOptions: Sendable {
    /// The durability of transactions that don't choose one.
    package var durability: Durability = .full
    /// Size of a node page of a new store: a power of two, 4,096 to 65,536. An existing store keeps its own.
    package var pageSize: Int = 8192
    /// Open without the right to write. The file must exist.
    package var readOnly = false
    /// Create the file if there is none.
    package var createIfMissing = true
    /// Time to wait for another process that has the file open.
    package var lockWaitMilliseconds: Int = 0
    /// Checkpoint when the journal holds this many bytes; 0 means three quarters of the journal ring.
    package var checkpointBytes: Int = 0
    /// Size of a new file's journal ring, in sectors. (For tests that count records; the ring grows with the load by
    /// itself.)
    package var firstRingSectors: UInt64 = FileFormat.initialJournalSectors
    /// Checkpoint when the last one lacks this many bytes of pages, so that no checkpoint takes long.
    package var checkpointDirtyBytes: Int = 256 << 20
    /// Checkpoint after this time without a commit (in a file opened by its path); 0 turns that off.
    package var idleMilliseconds: Int = 1000

    /// The way in which pages are read.
    package var access = StandardOptions.access
    /// Memory for pages: those read by system calls, the decoded pages of compressed trees, and committed pages that
    /// the file hasn't got yet (at most three quarters). The open write transaction has up to half of it for its own
    /// pages, and at least a sixteenth, before they are written to their places.
    package var cacheBytes = StandardOptions.cacheBytes

    /// The key of an encrypted store; nil for any other. Its pages are read by system calls.
    package var encryption: (any StoreEncryption)?
    /// Takes the events of the store; nil if nobody wants them.
    package var events: StoreEvent.Handler?
    /// The `access` that the store uses: encrypted pages can't be mapped.
    var usedAccess: PageAccess { encryption == nil ? access : .read }

    package init() {}
}

/// Defaults of options. Builds with self-checks take them from the environment, so that all tests can run without a
/// mapping and with little memory.
private enum StandardOptions {
    static let access: PageAccess = environment("HORNBEAM_ACCESS") == "read" ? .read : .mapped
    static let cacheBytes = environment("HORNBEAM_CACHE_BYTES").flatMap { Int($0) } ?? 64 << 20

    private static func environment(_ name: String) -> String? {
        #if HORNBEAM_CHECKS
            return getenv(name).map { String(cString: $0) }
        #else
            return nil
        #endif
    }
}
