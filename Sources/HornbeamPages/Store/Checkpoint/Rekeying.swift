// SPDX-License-Identifier: Apache-2.0
// Changing the keys of an encrypted store. The data key stays, so only the key slots in the header change: a checkpoint
// writes them.

extension PageStore {
    /// Makes `encryption` a key of the store: the only one, or one more. On return both header slots have it. After an
    /// error the former keys still open the file, and the new one may.
    package func rekey(_ encryption: any StoreEncryption, keepsOthers: Bool) throws(StorageError) {
        try checkProcess()
        guard !options.readOnly else { throw .readOnly("\(file.path) is open read-only: open it for writing") }
        guard let keys = verification.keys else { throw .notEncrypted(path: file.path) }
        try takeTurn(briefly: true)
        defer { turn.give() }
        try checkUsable()
        try checkNumbers(transaction: side.usedNumber, checkpoint: side.nextCheckpoint)
        try clearWay()
        let slots = try keys.wrapped(by: encryption, beside: keepsOthers ? side.header.keys : nil)
        try checkpoint(side.tip, keys: slots)
        for slot in 0..<FileFormat.headerSlotCount where Self.has(side.header, slot: slot, file, keys.cipher) != true {
            throw .busy(
                "\(file.path) has its new keys, but one of its two headers may still have the former ones: try again")
        }
    }
}
