// SPDX-License-Identifier: Apache-2.0
// Recovery at open: the commits in the journal after the checkpoint are redone, each in a transaction of its own, and a
// checkpoint ends recovery. Until that checkpoint's header is durable the file is as it was, so recovery can be
// interrupted anywhere and begins anew. Damage is found before anything is written.

import Synchronization

extension PageStore {
    /// Brings the store to the newest recoverable state. Called once, before any other code knows the store. `slots`:
    /// the header slots as they were read.
    func recover(_ slots: [HeaderSlot.Reading], _ replay: Replay) throws(StorageError) {
        let reader = JournalReader(header: side.header, file: fileReader, cipher: verification.cipher)
        let (chain, tail, isMarked) = try reader.read()
        if case .damaged(let newest) = tail { throw Self.damage(after: newest) }
        if options.readOnly {
            guard chain.isEmpty else {
                throw .readOnly("\(file.path) was not closed: open it for writing once, to recover it")
            }
            return
        }
        if verification.cipher != nil {
            for entry in chain { try reader.withRedo(of: entry) { (_) throws(StorageError) in } }
        }
        // The newer slot may not be durable; readers wait until the life begins.
        try renewStaleSlots(slots)
        try side.announcer?.begin(side, isWhole: chain.isEmpty)
        if chain.isEmpty && tail == .clean {
            pipeline.setJournal(JournalWriter(after: side.header, verification.cipher))
            if isMarked { pipeline.takeMarkBack(of: side.header) }
            return
        }
        try checkNumbers(transaction: side.header.transaction, checkpoint: side.nextCheckpoint)
        for entry in chain {
            try reader.withRedo(of: entry) { (payload) throws(StorageError) in
                try apply(payload, number: entry.record.transaction, replay)
            }
        }
        do throws(StorageError) {
            // The former journal can't be continued, so this begins a new generation.
            try checkpoint(side.tip)
        } catch .failed(let cause) {
            throw cause
        }
        options.events?(.recovered(commits: chain.count, transaction: side.tip.transaction))
    }

    /// Whether the journal holds commits beyond the checkpoint, so that a reader can't use the header alone.
    static func hasRecords(
        _ header: HeaderSlot, _ file: any StoreFile, _ cipher: (any PageCipher)?
    ) throws(StorageError) -> Bool {
        let reader = JournalReader(header: header, file: FileReader(file, mapping: nil), cipher: cipher)
        let (chain, tail, _) = try reader.read()
        if case .damaged(let newest) = tail { throw damage(after: newest) }
        return !chain.isEmpty
    }

    private static func damage(after newest: UInt64) -> StorageError {
        .corrupt(
            Corruption(reason: "the journal's record after transaction \(newest), which was durable, is damaged"))
    }

    /// Makes both header slots equal again. After a crash between the two writes of a checkpoint, or after damage, a
    /// slot names an older checkpoint or none. Pages that only that checkpoint reaches are free from here on. If the
    /// good slot is lost later, the other must not lead to them.
    private func renewStaleSlots(_ slots: [HeaderSlot.Reading]) throws(StorageError) {
        // An unreadable slot is treated like one with other content.
        for (slot, reading) in slots.enumerated() where reading != .valid(side.header) {
            try side.header.encoded(verification.cipher).withBytes { (bytes) throws(StorageError) in
                try file.writeThrough(bytes, at: UInt64(slot) << FileFormat.sectorShift)
            }
        }
    }

    /// Whether a slot has this header. Returns nil if the slot can't be read.
    static func has(
        _ header: HeaderSlot, slot: UInt64, _ file: any StoreFile, _ cipher: (any PageCipher)?
    ) -> Bool? {
        (try? FileReader(file, mapping: nil).header(slot: slot, cipher)).map { $0 == .valid(header) }
    }

    private func apply(_ payload: Bytes, number: UInt64, _ replay: Replay) throws(StorageError) {
        guard turn.take() else { throw Self.ownTurn }
        let writer = PageWriter(store: self, side: side, state: side.tip, number: number, reserve: .recovery)
        do throws(StorageError) {
            try replay(payload, writer)
        } catch {
            writer.abort()
            throw error
        }
        try writer.commitReplayed()
    }
}
