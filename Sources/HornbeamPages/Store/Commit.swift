// SPDX-License-Identifier: Apache-2.0
// Commit writes the pages to their places and the redo record to the journal. Then, without the turn, it brings the
// record to the medium and shows the new state to readers. Durable first, visible second (invariant 3). The pages need
// not be durable, because recovery makes them again from the record; until the state is visible nobody can reach them.

import Synchronization

/// A commit that has given the writer's turn back and is not known to be durable yet. Any thread may wait for it. One
/// should, because otherwise the outcome is not reported, and the commit may stay pending until the next one.
package struct CommitInFlight: Sendable {
    enum Rest {
        /// It is as durable as it asked, or there was nothing to do.
        case nothing
        case own(PendingCommit)
        /// It changed nothing. Earlier commits must become this durable, and if the commit that it was built on is
        /// pending, that one must not fail.
        case earlier(Durability, after: PendingCommit?)
    }

    let store: PageStore?
    let rest: Rest

    /// A commit that changed nothing and asked for nothing.
    package static var done: CommitInFlight { CommitInFlight(store: nil, rest: .nothing) }

    /// Returns once the commit is as durable as it asked, and visible. Throws if it failed: then it has changed
    /// nothing.
    package func wait() throws(StorageError) {
        // In a forked child the records are the parent's.
        try store?.checkProcess()
        switch rest {
        case .nothing: return
        case .own(let commit): try store?.completeOwn(commit)
        case .earlier(let durability, let base): try store?.makeDurable(durability, after: base)
        }
    }
}

extension PageStore {
    /// The part of a commit that needs the turn. After it the caller ends the writer, gives the turn back and calls
    /// `complete`. Returns nil if the commit is visible already. After an error, which leaves everything as it was, the
    /// caller aborts.
    func enter(_ writer: PageWriter, redo: Bytes?, durability: Durability) throws(StorageError) -> PendingCommit? {
        #if HORNBEAM_CHECKS
            try checkFrames()
        #endif
        side.usedNumber = writer.birth
        let next = PublishedState(transaction: writer.birth, root: writer.root)
        guard file.isDurable else {
            try writePages()
            publish(next, freed: writer.freed)
            return nil
        }
        guard let redo, try makeRoom(for: redo.count) else {
            try commitByCheckpoint(next, freed: writer.freed, missingRedo: writer.missingRedo)
            return nil
        }
        let frames = side.frames.inFileOrder()
        try keepOrWritePages(frames, durability)
        let commit = PendingCommit(
            state: next, base: side.tip, freed: writer.freed, born: writer.bornRuns(frames), durability: durability)
        try pipeline.enter(commit, redo: redo)
        side.tip = next
        return commit
    }

    /// Whether a record of this size has room in the journal, once a checkpoint that is under way has ended.
    private func makeRoom(for size: Int) throws(StorageError) -> Bool {
        if try pipeline.fits(redo: size) { return true }
        guard side.run != nil else { return false }
        // Its error doesn't concern this commit, which tries with a checkpoint of its own.
        _ = concludeRun()
        return try pipeline.fits(redo: size)
    }

    /// The part without the turn. Returns once the commit is as durable as it asked, and visible.
    func complete(_ commit: PendingCommit) throws(StorageError) {
        defer { tidy() }
        try pipeline.wait(for: commit) { show($0, isDurable: $1) }
    }

    /// `complete` for the thread that made the commit, which then waits a little if commits outrun a checkpoint.
    func completeOwn(_ commit: PendingCommit) throws(StorageError) {
        try complete(commit)
        guard side.pace.isUnderWay else { return }
        let sectors = commit.born.reduce(0) { $0 + Int($1.count) }
        side.pace.wait(made: sectors << FileFormat.sectorShift)
    }

    /// Commits a transaction without changes: makes earlier commits durable. Throws if the one that it was built on
    /// fails.
    func makeDurable(_ durability: Durability, after base: PendingCommit?) throws(StorageError) {
        guard file.isDurable else { return }
        // Like a commit it may leave something to announce.
        defer { worker.noteCommit(in: self) }
        if let base { try complete(base) }
        try pipeline.makeDurable(durability) { show($0, isDurable: $1) }
    }

    /// Settles published commits, and checkpoints if that is due. If another thread has the turn, that thread settles,
    /// but it may have no commit of its own; so the store's thread is notified anyway.
    private func tidy() {
        worker.noteCommit(in: self)
        if verification.unwritten?.isNearlyFull == true { worker.wakeForRoom() }
        guard turn.tryTake(briefly: true) else {
            if pipeline.journalUse.isNearlyFull { worker.wakeUnlessBusy() }
            return
        }
        defer { turn.give() }
        guard !isClosed else { return }
        settle()
        guard let change = dueCheckpoint() else { return }
        if worker.isRunning { worker.wake() } else { checkpointNow(journal: change) }
    }

    /// The ring for a commit that is made by a checkpoint. It is a larger one after several transactions without redo
    /// because the ring was too small for it. The redo is one more write to the medium. It pays only if the pages would
    /// be many more bytes, as with changes all over a tree, but not with long or sorted values.
    private func ringChange(missing size: Int) -> RingChange {
        let largest = Int(side.largestRing) << FileFormat.sectorShift
        guard size > 0, size <= JournalRecord.maximumPayload(ringBytes: largest) - verification.reserve,
            side.frames.liveBytes > 2 * size
        else { return .keep }
        side.oversizedCommits += 1
        guard side.oversizedCommits >= WriterSide.oversizedBound else { return .keep }
        side.oversizedCommits = 0
        var sectors = side.header.journal.count
        while sectors < side.largestRing, Int(sectors) << FileFormat.sectorShift < 4 * size { sectors *= 2 }
        return sectors == side.header.journal.count ? .keep : .new(sectors)
    }

    /// Commits a transaction without redo: writes its pages, makes a checkpoint that reaches them, then shows it.
    private func commitByCheckpoint(
        _ next: PublishedState, freed: [RetiredPages.Page], missingRedo: Int
    ) throws(StorageError) {
        try clearWay()
        let ring = ringChange(missing: missingRedo)
        try writePages()
        let current = side.tip.transaction
        let dirtyPages = side.dirtyPages
        side.retired.pin(current)
        side.retire(freed, death: next.transaction)
        do throws(StorageError) {
            try checkpoint(next, journal: ring)
        } catch {
            if case .failed = error { throw error }
            // The abort that follows puts back the pages themselves.
            side.retired.forget(heldBy: current)
            side.dirtyPages = dirtyPages
            side.unpin(current)
            throw error
        }
        side.older.append(side.tip)
        side.tip = next
        side.settled = next
        show(next)
        // The checkpoint's end has told it already, unless that waits for its second header slot.
        tellNewest()
        side.collectPins()
        noteStatistics()
    }

    /// The commit of recovery, whose record is in the journal already.
    func publishReplayed(_ writer: PageWriter) throws(StorageError) {
        side.usedNumber = writer.birth
        try writePages()
        publish(PublishedState(transaction: writer.birth, root: writer.root), freed: writer.freed)
    }

    /// Makes a state that needs no journal the newest.
    private func publish(_ next: PublishedState, freed: [RetiredPages.Page]) {
        let base = side.tip
        side.tip = next
        show(next)
        retire(freed, from: base, death: next.transaction)
        side.collectPins()
        noteStatistics()
    }

    /// After a flush: shows the state that became visible, if there is one. If it is durable, announces the newest
    /// state to other processes.
    func show(_ state: PublishedState?, isDurable: Bool) {
        if let state { show(state) }
        if isDurable { tellNewest() }
    }

    /// Updates the space map for commits that are no longer pending. In the turn, and not while a transaction is open
    /// that builds on withdrawn commits. `isOpen`: a transaction is open that builds on the commits settled now. It may
    /// have addresses of pages that were only in memory before its state was visible.
    func settle(whileOpen isOpen: Bool = false) {
        guard pipeline.hasSettled else { return side.collectPins() }
        var withdrawn: [PendingCommit] = []
        pipeline.takeSettled(published: &side.settling, withdrawn: &withdrawn)
        for commit in side.settling {
            retire(commit.freed, from: commit.base, death: commit.state.transaction)
            side.keepMemory(of: &commit.freed)
        }
        for commit in withdrawn.reversed() {
            for run in commit.born { side.release(run) }
            for page in commit.freed { side.space.unreserve(page.run) }
            side.tip = commit.base
        }
        side.collectPins()
        if let last = side.settling.last {
            side.settled = last.state
            if !isOpen { reclaimUnwritten(upTo: last.state) }
        }
        side.settling.removeAll(keepingCapacity: true)
        noteStatistics()
    }

    /// Frees buffers of written pages once every reader that may have found them there has ended. All states before
    /// `settled` that have readers are in `side.older`.
    private func reclaimUnwritten(upTo settled: PublishedState) {
        guard let unwritten = verification.unwritten, unwritten.isWaiting else { return }
        let oldest = side.older.lazy.filter(\.isRead).map(\.transaction).min() ?? settled.transaction
        unwritten.reclaim(before: Swift.min(oldest, settled.transaction))
        side.borrowKept()
    }

    /// In the turn of the store's thread, while no transaction is open. If there are no readers, none has found any of
    /// these pages, and new readers find them in the file.
    func reclaimUnread(isIdle: Bool) {
        guard let unwritten = verification.unwritten, isIdle || unwritten.isWaiting else { return }
        // A state that was replaced by an unsettled one isn't among the older ones.
        let state = newest.withLock { $0.state }
        guard state === side.settled, !state.isRead, !side.older.contains(where: \.isRead) else { return }
        unwritten.reclaim(before: .max, isIdle: isIdle)
        side.borrowKept()
    }

    /// Retires pages of the formerly newest state. If it has readers, counts it as pinned until they have ended.
    private func retire(_ freed: [RetiredPages.Page], from base: PublishedState, death: UInt64) {
        if !base.isForgotten {
            side.retired.pin(base.transaction)
            side.older.append(base)
        }
        side.retire(freed, death: death)
    }

    /// Leaves the pages in memory: see `UnwrittenPages`. Writes pages that have no room there, or all pages if the
    /// state is to be announced soon.
    private func keepOrWritePages(_ frames: [Frame], _ durability: Durability) throws(StorageError) {
        guard let unwritten = verification.unwritten, durability != .full || side.announcer?.isAttended != true
        else { return try writePages(frames) }
        var rest: [Frame] = []
        unwritten.keeping(of: side.usedNumber) {
            for frame in frames where !side.frames.keep(frame, unwritten: unwritten) { rest.append(frame) }
        }
        try writePages(rest)
    }

    /// Number of bytes that the medium writes as fast in one piece as together with others.
    private static var largeRun: Int { 256 << 10 }

    /// Writes all committed pages that are not in the file yet. Any thread.
    func writeUnwritten() throws(StorageError) {
        guard let unwritten = verification.unwritten, unwritten.hasStates else { return }
        try write(.all, of: unwritten)
    }

    /// Writes the pages that were changed longest ago, so that later ones have room in memory. After an error they stay
    /// in memory.
    func makeRoom() {
        guard let unwritten = verification.unwritten, unwritten.isNearlyFull else { return }
        try? write(.olderHalf, of: unwritten)
    }

    private func write(_ part: UnwrittenPages.Part, of unwritten: UnwrittenPages) throws(StorageError) {
        let visible = { self.newest.withLock { $0.state.transaction } }
        let cipher = verification.cipher
        try unwritten.write(part, newest: visible, cipher: cipher, cache: cipher == nil ? nil : cache) {
            (number, pages) throws(StorageError) in
            // Reads the atomic, because a thread that announces a state has the pipeline's lock.
            guard !pipeline.hasFailed else {
                throw .invalid("writing to \(file.path) failed earlier: close the store and open it again")
            }
            try file.write(Bytes(pages), at: number << FileFormat.sectorShift)
            for offset in stride(from: 0, to: pages.count, by: pageSize) {
                verification.mark(number + UInt64(offset) >> FileFormat.sectorShift)
            }
        }
    }

    /// Writes all frames to their places. `startsWriteBack`: whether writing back large runs starts now, because much
    /// more will come.
    func writePages(startsWriteBack: Bool = false) throws(StorageError) {
        if side.frames.arePlaced { return finishPlacedPages() }
        try writePages(side.frames.inFileOrder(), startsWriteBack: startsWriteBack)
    }

    /// Finishes the pages of a store in memory, which are at their places already. Nodes get no checksum, because it
    /// would never be checked: see `Verification.isMemory`.
    private func finishPlacedPages() {
        side.frames.forEachLive { frame in
            let header = PageHeader(reading: UnsafeRawPointer(frame.bytes))
            if header.kind == PageKind.longValue.code || header.flags != 0 {
                PageHeader.seal(frame.buffer, number: frame.run.start)
            }
            noteVerified(frame)
        }
    }

    /// Marks bytes that were made and sealed here, so that readers need not verify them again.
    private func noteVerified(_ frame: Frame) {
        if PageHeader(reading: UnsafeRawPointer(frame.bytes)).flags == 0 {
            verification.mark(frame.run.start)
        } else {
            verification.markLeaf(frame.run.start)
        }
    }

    /// Makes one write for each run that is contiguous in the file and in memory.
    private func writePages(_ frames: [Frame], startsWriteBack: Bool = false) throws(StorageError) {
        if let cipher = verification.cipher { return try writeSealed(frames, cipher, startsWriteBack) }
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
            try write(Bytes(start: first.bytes, count: bytes), at: first.run.byteOffset, startsWriteBack)
        }
        for frame in frames { noteVerified(frame) }
    }

    private func write(_ pages: Bytes, at offset: UInt64, _ startsWriteBack: Bool) throws(StorageError) {
        try file.write(pages, at: offset)
        if startsWriteBack, pages.count >= Self.largeRun {
            file.startWriteBack(at: offset, count: UInt64(pages.count))
        }
    }

    /// Encrypts copies of frames and writes them: the transaction may still need the originals. Makes one write for
    /// each run that is contiguous in the file.
    private func writeSealed(
        _ frames: [Frame], _ cipher: any PageCipher, _ startsWriteBack: Bool
    ) throws(StorageError) {
        let largest = frames.reduce(Self.largeRun) { Swift.max($0, $1.run.byteCount) }
        let total = frames.reduce(0) { $0 + $1.run.byteCount }
        let staging = UnsafeMutableRawBufferPointer.allocate(byteCount: Swift.min(largest, total), alignment: 64)
        defer { staging.deallocate() }
        var index = 0
        while index < frames.count {
            let offset = frames[index].run.byteOffset
            var filled = 0
            while index < frames.count, frames[index].run.byteOffset == offset + UInt64(filled),
                filled + frames[index].run.byteCount <= staging.count
            {
                let frame = frames[index]
                let copy = UnsafeMutableRawBufferPointer(
                    rebasing: staging[filled..<filled + frame.run.byteCount])
                copy.copyMemory(from: Bytes(frame.buffer))
                try PageHeader.seal(copy, number: frame.run.start, with: cipher)
                filled += copy.count
                index += 1
            }
            try write(Bytes(rebasing: staging[..<filled]), at: offset, startsWriteBack)
        }
        for frame in frames { noteVerified(frame) }
    }

    #if HORNBEAM_CHECKS
        /// The counterpart of the check on first touch: a page that would be refused there must not be published.
        func checkFrames() throws(StorageError) {
            for frame in side.frames.inFileOrder() {
                let header = PageHeader(reading: UnsafeRawPointer(frame.bytes))
                guard let kind = PageKind(rawValue: header.kind), kind == .leaf || kind == .branch, header.flags == 0
                else { continue }
                if let problem = verification.structureProblem(Bytes(frame.buffer), kind) {
                    // A defect of the engine, or the result of changing forged pages.
                    throw .corrupt(
                        Corruption(page: frame.run.start, reason: "the commit would write it damaged: \(problem)"))
                }
            }
        }
    #endif
}
