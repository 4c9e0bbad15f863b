// SPDX-License-Identifier: Apache-2.0
// A key or a passphrase of a program, with which it gets a store's data key.

package import HornbeamPages

/// One key of a program.
package final class StoreKey: StoreEncryption {
    private let secret: SecretBytes
    private let isPassphrase: Bool
    private let cost: KeyArea.Cost

    /// A key. It must have 32 bytes, or each use throws `.invalid`.
    private init(key: SecretBytes) {
        secret = key
        isPassphrase = false
        cost = KeyArea.Cost(logN: 0, r: 0, p: 0)
    }

    /// A passphrase. `logCost`: log2 of scrypt's N in new key slots, 10 to 20.
    private init(passphrase: SecretBytes, logCost: Int) {
        secret = passphrase
        isPassphrase = true
        cost = KeyArea.Cost(logN: UInt32(clamping: logCost), r: 8, p: 1)
    }

    package convenience init(key: [UInt8]) { self.init(key: key.withUnsafeBytes { SecretBytes(copying: $0) }) }

    package convenience init(passphrase: [UInt8], logCost: Int) {
        self.init(passphrase: passphrase.withUnsafeBytes { SecretBytes(copying: $0) }, logCost: logCost)
    }

    package convenience init(key: Bytes) { self.init(key: SecretBytes(copying: key)) }

    package convenience init(passphrase: Bytes, logCost: Int) {
        self.init(passphrase: SecretBytes(copying: passphrase), logCost: logCost)
    }

    /// The usual `logCost`, which takes about 100 ms.
    package static let usualLogCost = 16

    private func check() throws(StorageError) {
        try loadCrypto()
        if isPassphrase {
            guard secret.count > 0 else { throw .invalid("an empty passphrase protects nothing: give one") }
            guard 10...20 ~= cost.logN else {
                throw .invalid("logCost is \(cost.logN): give 10 to 20; 16 takes about 100 ms")
            }
        } else if secret.count != DataCipher.keySize {
            throw .invalid("a key has \(DataCipher.keySize) bytes, this one has \(secret.count)")
        }
    }

    package func create() throws(StorageError) -> (slots: KeySlots, cipher: any PageCipher) {
        try check()
        let kind = DataCipher.Kind.best
        let dataKey = try SecretBytes(count: DataCipher.keySize) { (key) throws(StorageError) in
            try fillRandom(key)
        }
        let cipher = DataCipher(kind, key: dataKey)
        return (try wrap(cipher, beside: nil), cipher)
    }

    package func wrap(_ cipher: any PageCipher, beside slots: KeySlots?) throws(StorageError) -> KeySlots {
        try check()
        guard let cipher = cipher as? DataCipher else { throw .invalid("another library made the store's key") }
        var area = KeyArea(cipher.kind)
        if let slots { area = try KeyArea(slots) }
        guard let slot = area.freeSlot else {
            throw .invalid("all \(KeyArea.slotCount) key slots are taken: rekey the store, which keeps only one key")
        }
        var salt = [UInt8](repeating: 0, count: 32)
        if isPassphrase {
            try salt.withMutableBytes { (salt) throws(StorageError) in try fillRandom(salt) }
        }
        let key = isPassphrase ? try deriveKey(secret, salt: salt, cost) : secret
        try area.wrap(
            cipher.key, slot: slot, kind: isPassphrase ? .passphrase : .key, cost: isPassphrase ? cost : nil,
            salt: salt, under: key)
        guard let result = area.slots else { throw .invalid("the key area has the wrong size") }
        return result
    }

    package func unlock(_ slots: KeySlots) throws(StorageError) -> (any PageCipher)? {
        try check()
        let area = try KeyArea(slots)
        for slot in 0..<KeyArea.slotCount where area.slotKind(slot) == (isPassphrase ? .passphrase : .key) {
            // A slot with a higher cost than allowed was not made by this library.
            guard !isPassphrase || area.cost(slot).isAllowed else { continue }
            let key = isPassphrase ? try deriveKey(secret, salt: area.salt(slot), area.cost(slot)) : secret
            if let dataKey = area.unwrap(slot: slot, under: key) { return DataCipher(area.kind, key: dataKey) }
        }
        return nil
    }
}
