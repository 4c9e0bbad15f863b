// SPDX-License-Identifier: Apache-2.0
// What a store is opened with, and how far a commit goes before it is acknowledged.

import Glibc

/// When a commit counts as done.
package enum Durability: UInt32, Sendable {
    /// Survives power loss: the commit's redo record is on the medium before `commit` returns.
    case full = 0
    /// Survives a crash of the process; power loss may lose the last commits but never corrupts.
    case process = 1
    /// Lost with the process, until a later synced commit or checkpoint makes it durable. Never corrupts.
    case none = 2
}

/// How to open a store. All sizes in bytes.
package struct StoreOptions: Sendable {
    /// The default for transactions that don't choose.
    package var durability: Durability = .full
    /// Size of a node page of a new store: a power of two, 4,096 to 65,536. An existing store keeps its own.
    package var pageSize: Int = 8192
    /// Open without the right to write; the file must exist.
    package var readOnly = false
    /// Create the file if there is none.
    package var createIfMissing = true
    /// How long to wait for another process that has the file open.
    package var lockWaitMilliseconds: Int = 0
    /// Checkpoint when the journal holds this much; 0 means half of the journal ring.
    package var checkpointBytes: Int = 0
    /// Memory for pages. A write transaction's own may take half of it before they are written to their places.
    package var cacheBytes = StoreOptions.standardCacheBytes

    package init() {}

    /// 64 MiB; in debug builds the environment may say otherwise, so that all tests can be run with pages that are
    /// spilled after each change.
    private static let standardCacheBytes: Int = {
        #if HORNBEAM_CHECKS
            if let text = getenv("HORNBEAM_CACHE_BYTES"), let bytes = Int(String(cString: text)) { return bytes }
        #endif
        return 64 << 20
    }()
}
