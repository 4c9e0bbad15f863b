// SPDX-License-Identifier: Apache-2.0
// Finding out whether a file is an encrypted store, and whether the program has its key, before anything else is read.

/// The way from the program's key to the cipher of one file.
struct StoreKeys {
    let slots: KeySlots
    let identifier: StoreIdentifier
    /// The cipher of the data key. It encrypts nothing itself: the ciphers of files are made from it.
    private let dataCipher: any PageCipher
    let cipher: any PageCipher

    private init(
        _ slots: KeySlots, _ dataCipher: any PageCipher, _ identifier: StoreIdentifier
    ) throws(StorageError) {
        self.slots = slots
        self.identifier = identifier
        self.dataCipher = dataCipher
        cipher = try dataCipher.bound(to: identifier)
    }

    /// Keys of a new file.
    init?(creating encryption: (any StoreEncryption)?) throws(StorageError) {
        guard let encryption else { return nil }
        let made = try encryption.create()
        try self.init(made.slots, made.cipher, .random())
    }

    /// Returns nil for a store without encryption. Throws if the program expects the opposite, or has the wrong key.
    init?(_ file: any StoreFile, _ encryption: (any StoreEncryption)?) throws(StorageError) {
        let headers = FileReader.headers(of: file, nil, size: try file.size())
        try self.init(in: headers.readings, path: file.path, encryption)
    }

    /// The keys in header slots that were read without a cipher.
    init?(
        in readings: [HeaderSlot.Reading], path: String, _ encryption: (any StoreEncryption)?
    ) throws(StorageError) {
        var locked: [(slots: KeySlots, identifier: StoreIdentifier)] = []
        for reading in readings {
            switch reading {
            case .locked(let slots, let identifier):
                if locked.last?.slots != slots { locked.append((slots, identifier)) }
            case .valid where encryption != nil: throw .notEncrypted(path: path)
            default: continue
            }
        }
        guard !locked.isEmpty else { return nil }
        guard let encryption else { throw .keyNeeded(path: path) }
        // If a crash cuts a change of the key short, the new slots are in only one of the two header slots.
        for (slots, identifier) in locked {
            guard let dataCipher = try encryption.unlock(slots) else { continue }
            try self.init(slots, dataCipher, identifier)
            return
        }
        throw .wrongKey(path: path)
    }

    /// Reads the header slots, which a checkpoint may be writing at the same time.
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

    /// Finds the keys of a damaged file in its header slots, whole or torn. Returns nil for a store without encryption,
    /// and if no key slots are left that `encryption` opens.
    static func salvaging(
        _ file: any StoreFile, _ encryption: (any StoreEncryption)?
    ) throws(StorageError) -> StoreKeys? {
        if let keys = try StoreKeys(file, encryption) { return keys }
        guard let encryption else { return nil }
        let sectorCount = try file.size() >> FileFormat.sectorShift
        let reader = FileReader(file, mapping: nil)
        for slot in 0..<Swift.min(FileFormat.headerSlotCount, sectorCount) {
            // The slot of an unreadable sector is lost as well.
            guard
                let sector = try? reader.bytes(at: slot << FileFormat.sectorShift, count: FileFormat.sectorSize),
                let left = HeaderSlot.keysOfDamaged(sector), let dataCipher = try unlock(left.slots, encryption)
            else { continue }
            return try StoreKeys(left.slots, dataCipher, left.identifier)
        }
        return nil
    }

    /// The cipher of a damaged header slot's key slots, which may look like those of a later version.
    private static func unlock(
        _ slots: KeySlots, _ encryption: any StoreEncryption
    ) throws(StorageError) -> (any PageCipher)? {
        do throws(StorageError) { return try encryption.unlock(slots) } catch .unsupported { return nil }
    }

    /// The keys of a new file that has the same data key and these key slots.
    func ofCopy(_ slots: KeySlots) throws(StorageError) -> StoreKeys {
        try StoreKeys(slots, dataCipher, .random())
    }

    /// Key slots that `encryption` opens. Keeps those of `others` unless it is nil.
    func wrapped(
        by encryption: any StoreEncryption, beside others: KeySlots?
    ) throws(StorageError) -> KeySlots {
        try encryption.wrap(dataCipher, beside: others)
    }
}
