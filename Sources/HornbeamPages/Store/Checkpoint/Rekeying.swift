// SPDX-License-Identifier: Apache-2.0
// Changing the keys of an encrypted store. The data key stays, so only the key slots in the header change: a checkpoint
// writes them.

extension PageStore {
    /// Makes `encryption` a key of the store: the only one, or one more. On return both header slots say so. After an
    /// error the former keys open the file still, and the new one may.
    package func rekey(_ encryption: any StoreEncryption, keepsOthers: Bool) throws(StorageError) {
        try checkProcess()
        guard !options.readOnly else { throw .readOnly("\(file.path) was opened without the right to write") }
        guard let cipher = verification.cipher else { throw .notEncrypted(path: file.path) }
        try takeTurn(briefly: true)
        defer { turn.give() }
        try checkUsable()
        try checkNumbers(transaction: side.usedNumber, checkpoint: side.nextCheckpoint)
        try clearWay()
        let former = side.header.keys
        side.header.keys = try encryption.wrap(cipher, beside: keepsOthers ? former : nil)
        do throws(StorageError) {
            try checkpoint(side.tip)
        } catch {
            side.header.keys = former
            throw error
        }
        for slot in 0..<FileFormat.headerSlotCount where Self.has(side.header, slot: slot, file, cipher) != true {
            throw .busy("\(file.path) has its new keys, but header slot \(slot) still has the former ones: try again")
        }
    }
}
