// SPDX-License-Identifier: Apache-2.0
// Commit: the redo record, then the pages, then the new state in memory. Durable first, visible second (invariant 3).
// Up to the first write of the record everything can be undone; after it, a failure leaves the outcome unknown.

import Synchronization

extension PageStore {
    /// Publishes the writer's pages and root. Throws `.failed` if the outcome is unknown; after any other error the
    /// caller aborts.
    func commit(_ writer: PageWriter, redo: Bytes?, durability: Durability) throws(StorageError) {
        #if HORNBEAM_CHECKS
            try checkFrames()
        #endif
        guard file.isDurable else {
            try writePages()
            return publish(writer)
        }
        guard let redo, side.journal?.fits(payload: redo.count) == true else {
            return try commitByCheckpoint(writer)
        }
        do throws(StorageError) {
            side.journal?.append(redo, transaction: writer.birth)
            try side.journal?.flush(durability, to: file)
            try writePages()
        } catch {
            throw side.fail(error)
        }
        publish(writer)
        if durability == .full { side.announcer?.tell(writer.birth, writer.root, side) }
        checkpointIfDue()
    }

    /// A transaction without redo: its pages, then a checkpoint that reaches them, then it is visible.
    private func commitByCheckpoint(_ writer: PageWriter) throws(StorageError) {
        let next = PublishedState(transaction: writer.birth, root: writer.root)
        let current = writer.view.transaction
        side.retired.pin(current)
        side.retire(writer.freed, death: writer.birth)
        do throws(StorageError) {
            try checkpoint(next, growJournal: false) { () throws(StorageError) in try writePages() }
        } catch {
            if case .failed = error { throw error }
            // Out of space before anything was written: the abort that follows puts the pages themselves back.
            side.retired.forget(heldBy: current)
            side.unpin(current)
            throw error
        }
        show(next)
    }

    /// Recovery's commit: the record is in the journal already.
    func publishReplayed(_ writer: PageWriter) throws(StorageError) {
        try writePages()
        publish(writer)
    }

    /// Makes the writer's state the newest, and retires what it does without.
    private func publish(_ writer: PageWriter) {
        // The state that was newest counts as pinned until nobody can begin to read it any more.
        side.retired.pin(writer.view.transaction)
        side.retire(writer.freed, death: writer.birth)
        show(PublishedState(transaction: writer.birth, root: writer.root))
    }

    private func show(_ state: PublishedState) {
        let former = newest.withLock { newest in
            let former = newest.state
            newest.state = state
            return former
        }
        side.older.append(former)
        side.collectPins()
        noteStatistics()
    }

    /// Writes all frames to their places, one write for each run that is contiguous in the file and in memory.
    private func writePages() throws(StorageError) {
        let frames = side.frames.inFileOrder()
        var index = 0
        while index < frames.count {
            let first = frames[index]
            var bytes = 0
            while index < frames.count, frames[index].run.byteOffset == first.run.byteOffset + UInt64(bytes),
                frames[index].bytes == first.bytes + bytes
            {
                PageHeader.seal(frames[index].buffer, number: frames[index].run.start)
                bytes += frames[index].run.byteCount
                index += 1
            }
            try file.write(Bytes(start: first.bytes, count: bytes), at: first.run.byteOffset)
        }
        // These bytes were made and sealed here: readers need not verify them again.
        for frame in frames { verification.mark(frame.run.start) }
    }

    #if HORNBEAM_CHECKS
        /// The other half of the check on first touch: a page that would be refused must not be published.
        private func checkFrames() throws(StorageError) {
            for frame in side.frames.inFileOrder() {
                let kind = PageHeader(reading: UnsafeRawPointer(frame.bytes)).kind
                guard let kind = PageKind(rawValue: kind), kind == .leaf || kind == .branch else { continue }
                if let problem = verification.structureProblem(Bytes(frame.buffer), kind) {
                    // A defect of the engine, or the outcome of changing pages that somebody forged.
                    throw .corrupt(Corruption(page: frame.run.start, reason: "it would be made wrong: \(problem)"))
                }
            }
        }
    #endif
}
