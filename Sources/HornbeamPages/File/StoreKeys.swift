// SPDX-License-Identifier: Apache-2.0
// Finding out whether a file is an encrypted store, and whether the program has its key, before anything else is read.

/// The way from the program's key to a store's data key.
struct StoreKeys {
    /// Those of a new store.
    let slots: KeySlots
    let cipher: any PageCipher

    init(slots: KeySlots, cipher: any PageCipher) {
        self.slots = slots
        self.cipher = cipher
    }

    /// Returns nil for a store without encryption. Throws if that isn't what the program expects, or its key is wrong.
    init?(_ file: any StoreFile, _ encryption: (any StoreEncryption)?) throws(StorageError) {
        let size = try file.size()
        if size == 0 {
            guard let encryption else { return nil }
            (slots, cipher) = try encryption.create()
            return
        }
        var locked: [KeySlots] = []
        for reading in FileReader.headers(of: file, nil, size: size).slots {
            switch reading {
            case .locked(let slots): locked.append(slots)
            case .valid where encryption != nil: throw .notEncrypted(path: file.path)
            default: continue
            }
        }
        guard !locked.isEmpty else { return nil }
        guard let encryption else { throw .keyNeeded(path: file.path) }
        // A change of the key that a crash cut short is in one of the two header slots only.
        for slots in locked {
            guard let cipher = try encryption.unlock(slots) else { continue }
            (self.slots, self.cipher) = (slots, cipher)
            return
        }
        throw .wrongKey(path: file.path)
    }

    /// Reads the header slots while a checkpoint may be writing them.
    init?(besideWriter file: any StoreFile, _ encryption: (any StoreEncryption)?) throws(StorageError) {
        for _ in 0..<3 {
            if let keys = try StoreKeys(file, encryption) {
                self = keys
                return
            }
            guard encryption != nil else { return nil }
            Claim.pause(milliseconds: 2)
        }
        return nil
    }
}
