// SPDX-License-Identifier: Apache-2.0
// One checkpoint from its plan to its end. Its content is fixed when it begins, so that commits may go on meanwhile.

/// Begun and ended in the writer's turn; written by the driving thread, without the turn.
final class CheckpointRun: @unchecked Sendable {
    // Sendable: `result` is guarded by `monitor`, everything else is constant.
    let state: PublishedState
    let former: HeaderSlot
    let header: HeaderSlot
    let plan: CheckpointPlan
    /// The space pages' bytes, as of the state.
    let images: [SpacePageImage]
    /// The position at which the records of later commits begin.
    let mark: JournalMark?
    /// Number of sectors of the records before the mark.
    let ringUse: UInt64
    /// Bytes of the state's pages that the former checkpoint lacks.
    let dirtyBytes: Int
    /// The pipeline's count of faults when it began, and whether the count has changed since the former checkpoint
    /// began.
    let faults: Int
    let rewrites: Bool
    private let cipher: (any PageCipher)?
    private let began = ContinuousClock.now

    private let monitor = Monitor()
    private var result: Outcome?

    /// The outcome of writing.
    enum Outcome {
        /// Both slots have it.
        case durable
        /// Slot 0 has it, slot 1 may have the former header. Until slot 1 has it too, nothing may be freed, and there
        /// may be no commit that the former header does not lead to.
        case half(StorageError)
        /// The file is as it was before.
        case undone(StorageError)
        /// It is unknown what the file says.
        case failed(StorageError)
    }

    init(
        state: PublishedState, former: HeaderSlot, header: HeaderSlot, plan: CheckpointPlan,
        images: [SpacePageImage], mark: JournalMark?, ringUse: UInt64,
        dirtyBytes: Int, faults: Int, rewrites: Bool, cipher: (any PageCipher)?
    ) {
        self.state = state
        self.former = former
        self.header = header
        self.plan = plan
        self.images = images
        self.mark = mark
        self.ringUse = ringUse
        self.dirtyBytes = dirtyBytes
        self.faults = faults
        self.rewrites = rewrites
        self.cipher = cipher
    }

    /// Waits until it is written.
    var outcome: Outcome {
        monitor.locked {
            while true {
                if let result { return result }
                monitor.wait()
            }
        }
    }

    /// The event of a run that is durable.
    var event: StoreEvent {
        .checkpointed(
            transaction: state.transaction, pageBytes: dirtyBytes,
            journalBytes: ringUse << FileFormat.sectorShift, duration: began.duration(to: .now))
    }

    var isWritten: Bool { monitor.locked { result != nil } }

    /// Whether the former header leads to the state and to the commits after it, through its journal. It doesn't if the
    /// journal begins anew, or if the state comes from a commit without a record in it.
    var isReachedByFormer: Bool {
        header.generation == former.generation
            && (mark?.transaction == state.transaction || former.transaction == state.transaction)
    }

    private func end(_ outcome: Outcome) {
        monitor.locked {
            result = outcome
            monitor.broadcast()
        }
    }
}

// MARK: Writing

extension CheckpointRun {
    /// Writes everything to the file. Called once, by its driver.
    func write(to store: PageStore) {
        let outcome = written(to: store, store.file, store.pipeline)
        store.side.pace.end()
        end(outcome)
    }

    /// Tries once more after `.half`. Called in the turn.
    func writeSecondSlot(to file: any StoreFile, _ pipeline: CommitPipeline) {
        end(writeSlot(1, header, to: file, pipeline).map { .half($0) } ?? .durable)
    }

    private func written(to store: PageStore, _ file: any StoreFile, _ pipeline: CommitPipeline) -> Outcome {
        do throws(StorageError) {
            try store.writeUnwritten()
            // The sync may take long, so states that others wait for are told before it.
            if store.isAwaited { store.catchUp() }
            if rewrites { try rewritePages(file) }
            if dirtyBytes >= Self.largeWriteBack { startWriteBack(file) }
            try plan.writeRing(file)
            for image in images { try image.write(to: file, cipher) }
            try store.tellBeginning()
        } catch {
            if case .corrupt = error { return .failed(error) }
            return pipeline.hasFailed ? .failed(error) : .undone(error)
        }
        do throws(StorageError) {
            try pipeline.sync()
        } catch {
            return .failed(error)
        }
        if let fault = pipeline.fault(since: faults) { return .undone(fault) }
        return writeSlots(to: file, pipeline)
    }

    /// Slot 0, then slot 1, so that one of them is whole at any moment. If slot 0 fails, the former header goes back
    /// there.
    private func writeSlots(to file: any StoreFile, _ pipeline: CommitPipeline) -> Outcome {
        if let error = writeSlot(0, header, to: file, pipeline) {
            // If the kernel's cache doesn't have the bytes, they can't reach the medium.
            guard isThere(header, file), let second = writeSlot(0, former, to: file, pipeline) else {
                return .undone(error)
            }
            return .failed(second)
        }
        guard writeSlot(1, header, to: file, pipeline) != nil,
            let error = writeSlot(1, header, to: file, pipeline)
        else { return .durable }
        return .half(error)
    }

    /// Writes twice if a commit's write-through fails meanwhile, because that may have received this write's error.
    private func writeSlot(
        _ slot: UInt64, _ header: HeaderSlot, to file: any StoreFile, _ pipeline: CommitPipeline
    ) -> StorageError? {
        var fault: StorageError?
        for _ in 0..<2 {
            let faults = pipeline.faultCount
            do throws(StorageError) {
                try header.encoded(cipher).withBytes { (bytes) throws(StorageError) in
                    try file.writeThrough(bytes, at: slot << FileFormat.sectorShift)
                }
            } catch {
                pipeline.noteFault(error)
                return error
            }
            fault = pipeline.fault(since: faults)
            if fault == nil { break }
        }
        return fault
    }

    /// Whether slot 0 may have the header.
    private func isThere(_ header: HeaderSlot, _ file: any StoreFile) -> Bool {
        PageStore.has(header, slot: 0, file, cipher) ?? true
    }
}

// MARK: Pages written since the former checkpoint

extension CheckpointRun {
    /// From this number of bytes on, writing back starts before the sync. With fewer bytes the sync writes all at once,
    /// and each call costs as much time as the medium takes for 100 KiB.
    private static var largeWriteBack: Int { 8 << 20 }

    /// Starts to write the state's new pages back to the medium, so that the sync has less to do.
    private func startWriteBack(_ file: any StoreFile) {
        forEachNewWord(file) { first, words in
            let extent = FileFormat.extentSectors
            for start in stride(from: 0, to: words.count, by: SpaceMap.wordsPerExtent)
            where words[start..<min(start + SpaceMap.wordsPerExtent, words.count)].contains(where: { $0 != 0 }) {
                let sector = first + UInt64(start) * 64
                file.startWriteBack(at: sector << FileFormat.sectorShift, count: extent << FileFormat.sectorShift)
            }
        }
    }

    /// Writes all these pages again, from the kernel's cache. A write-through has failed since the former checkpoint:
    /// the kernel may have reported pages there that it could not write back, and now takes them for clean. Throws
    /// `.corrupt` if one is lost.
    private func rewritePages(_ file: any StoreFile) throws(StorageError) {
        var runs: [SectorRun] = []
        forEachNewWord(file) { first, words in
            for (index, word) in words.enumerated() {
                SectorRun.forEach(in: word, from: first + UInt64(index) << 6) { runs.join($0) }
            }
        }
        let own = Dictionary(plan.taken.map { ($0.start, $0.count) }) { first, _ in first }
        for run in runs {
            var sector = run.start
            while sector < run.end {
                if let count = own[sector] {
                    sector += UInt64(count)
                } else {
                    sector += UInt64(try rewritePage(sector, in: run, file))
                }
            }
        }
    }

    /// Returns the page's number of sectors.
    private func rewritePage(
        _ number: UInt64, in run: SectorRun, _ file: any StoreFile
    ) throws(StorageError) -> UInt32 {
        let lost = StorageError.corrupt(Corruption(page: number, reason: "the system lost it after it was written"))
        var sector = [UInt8](repeating: 0, count: FileFormat.sectorSize)
        try Self.read(&sector, number, file)
        let count = sector.withBytes { $0.baseAddress.map { PageHeader(reading: $0).sectors } } ?? 0
        guard count > 0, UInt64(count) <= run.end - number else { throw lost }
        var page = [UInt8](repeating: 0, count: Int(count) * FileFormat.sectorSize)
        try Self.read(&page, number, file)
        try page.withBytes { (bytes) throws(StorageError) in
            guard let start = bytes.baseAddress,
                PageHeader(reading: start).checksum == PageHeader.checksum(of: bytes, number: number),
                start.u8(PageLayout.kind) != PageKind.longValue.code || LongPage.problem(bytes, number: number) == nil
            else { throw lost }
            try file.write(bytes, at: number << FileFormat.sectorShift)
        }
        return count
    }

    /// Decrypts a page that was read. Returns false if authentication fails.
    private func open(_ page: inout [UInt8], _ number: UInt64) -> Bool {
        guard let cipher else { return true }
        return page.withMutableBytes { PageSeal.open($0, number: number, with: cipher) } == nil
    }

    private static func read(
        _ bytes: inout [UInt8], _ number: UInt64, _ file: any StoreFile
    ) throws(StorageError) {
        try bytes.withMutableBytes { (buffer) throws(StorageError) in
            try file.read(into: buffer, at: number << FileFormat.sectorShift)
        }
    }

    /// Passes the sectors of each changed map page to `body` that this checkpoint reaches and the former one did not.
    /// The former map page stays as it is until this checkpoint has ended.
    private func forEachNewWord(_ file: any StoreFile, _ body: (UInt64, [UInt64]) -> Void) {
        for image in images {
            guard let map = image.map else { continue }
            var words = image.words
            if let place = plan.formerMap(map) {
                var page = [UInt8](repeating: 0, count: image.bytes.count)
                if (try? Self.read(&page, place, file)) != nil, open(&page, place) {
                    let old = SpacePageImage.words(page)
                    for index in words.indices { words[index] &= ~old[index] }
                }
            }
            body(image.firstSector, words)
        }
    }
}
