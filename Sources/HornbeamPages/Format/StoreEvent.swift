// SPDX-License-Identifier: Apache-2.0
// Events of an open store, for the log of the program that opened it. The layers above put them into words.

/// An event in the life of a store.
package enum StoreEvent: Sendable {
    /// Opening found commits in the journal beyond the last checkpoint, and redid them.
    case recovered(commits: Int, transaction: UInt64)
    /// A checkpoint is durable. `pageBytes` counts the pages that it made durable, `journalBytes` the records it
    /// replaces.
    case checkpointed(transaction: UInt64, pageBytes: Int, journalBytes: UInt64, duration: Duration)
    /// A checkpoint could not begin, or was undone. The journal still has the commits, and a later checkpoint tries
    /// again.
    case checkpointFailed(StorageError)
    /// The end of the file was given back to the file system. Sizes in bytes.
    case shrunk(from: UInt64, to: UInt64)
    /// The store's thread has ended an attempt to give space back.
    case shrinkingFailed(StorageError)
    /// The store refuses writes from here on.
    case failed(StorageError)

    /// Takes an event. Called with locks of the store held, so it may only make a note of the event.
    package typealias Handler = @Sendable (StoreEvent) -> Void
}
