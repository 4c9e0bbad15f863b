// SPDX-License-Identifier: Apache-2.0
// The key slots of a header: each has the data key, encrypted under a key of the program. The data key authenticates
// the whole area with each header slot.
//
//   offset size
//        0    4  version of this layout, 1
//        4    4  cipher: 1 AES-256-GCM, 2 ChaCha20-Poly1305
//        8    8  zero
//       16  960  four slots of 240 bytes
//
//   slot
//        0    4  kind: 0 free, 1 key of 32 bytes, 2 passphrase
//        4    4  scrypt: log2 of N            }
//        8    4  scrypt: r                    } of a passphrase
//       12    4  scrypt: p                    }
//       16   32  scrypt: salt                 }
//       48   20  nonce
//       68   32  the data key, encrypted
//      100   16  tag, which also authenticates bytes 0 ..< 16 of the area and 0 ..< 48 of the slot
//      116       zero

import CCrypto
import HornbeamPages

/// The bytes of a key area, and the operations on them.
struct KeyArea {
    private(set) var bytes = [UInt8](repeating: 0, count: KeySlots.size)
    let kind: DataCipher.Kind

    static let slotCount = 4
    private static let version: UInt32 = 1
    private static let firstSlot = 16
    private static let slotSize = 240

    enum SlotKind: UInt32 {
        case free = 0
        case key = 1
        case passphrase = 2
    }

    /// The cost of deriving a key from a passphrase (scrypt; Percival, 2009).
    struct Cost: Equatable, Sendable {
        var logN: UInt32
        var r: UInt32
        var p: UInt32

        /// Bytes of memory that the derivation takes.
        var memory: UInt64 { 128 * UInt64(r) << UInt64(logN) }
        /// Whether this library accepts the cost. A hostile header must not cost more.
        var isAllowed: Bool { 1...20 ~= logN && 1...8 ~= r && 1...2 ~= p }
    }

    /// An area without keys.
    init(_ kind: DataCipher.Kind) {
        self.kind = kind
        set(Self.version, at: 0)
        set(kind.rawValue, at: 4)
    }

    /// Reads an area. Throws `.unsupported` if it has a later version, or a cipher that this library doesn't know.
    init(_ slots: KeySlots) throws(StorageError) {
        bytes = slots.bytes
        let version = Self.u32(slots.bytes, 0)
        guard version == Self.version, let kind = DataCipher.Kind(rawValue: Self.u32(slots.bytes, 4)) else {
            throw .unsupported(
                "this library lacks version \(version) of the store's keys, or their cipher: use a newer Hornbeam")
        }
        self.kind = kind
    }

    var slots: KeySlots? { KeySlots(bytes) }

    // MARK: Slots

    private static func offset(_ slot: Int) -> Int { firstSlot + slot * slotSize }

    func slotKind(_ slot: Int) -> SlotKind? { SlotKind(rawValue: Self.u32(bytes, Self.offset(slot))) }

    func cost(_ slot: Int) -> Cost {
        let start = Self.offset(slot)
        return Cost(
            logN: Self.u32(bytes, start + 4), r: Self.u32(bytes, start + 8), p: Self.u32(bytes, start + 12))
    }

    func salt(_ slot: Int) -> [UInt8] { Array(bytes[Self.offset(slot) + 16..<Self.offset(slot) + 48]) }

    /// The first free slot; nil if all are taken.
    var freeSlot: Int? { (0..<Self.slotCount).first { slotKind($0) == .free } }

    /// Puts the data key into a slot, encrypted under `key`.
    mutating func wrap(
        _ dataKey: SecretBytes, slot: Int, kind slotKind: SlotKind, cost: Cost?, salt: [UInt8], under key: SecretBytes
    ) throws(StorageError) {
        let start = Self.offset(slot)
        set(slotKind.rawValue, at: start)
        set(cost?.logN ?? 0, at: start + 4)
        set(cost?.r ?? 0, at: start + 8)
        set(cost?.p ?? 0, at: start + 12)
        for (index, byte) in salt.prefix(32).enumerated() { bytes[start + 16 + index] = byte }
        let context = context(slot)
        let wrapping = DataCipher(kind, key: key)
        try bytes.withMutableBytes { (area) throws(StorageError) in
            guard let base = area.baseAddress else { return }
            let wrapped = UnsafeMutableRawBufferPointer(rebasing: area[start + 68..<start + 100])
            dataKey.withBytes { wrapped.copyMemory(from: $0) }
            try context.withBytes { (context) throws(StorageError) in
                try wrapping.seal(wrapped, context: context, nonce: base + (start + 48), tag: base + (start + 100))
            }
        }
    }

    /// Returns the data key if the slot has it encrypted under `key`, otherwise nil.
    func unwrap(slot: Int, under key: SecretBytes) -> SecretBytes? {
        let start = Self.offset(slot)
        let context = context(slot)
        let wrapping = DataCipher(kind, key: key)
        var isOpen = false
        let dataKey = SecretBytes(count: DataCipher.keySize) { (target) in
            bytes.withBytes { (area) in
                guard let base = area.baseAddress else { return }
                target.copyMemory(from: Bytes(rebasing: area[start + 68..<start + 100]))
                isOpen = context.withBytes { (context) in
                    wrapping.open(0, target, context: context, nonce: base + (start + 48), tag: base + (start + 100))
                }
            }
        }
        return isOpen ? dataKey : nil
    }

    private func context(_ slot: Int) -> [UInt8] {
        Array(bytes[..<16]) + Array(bytes[Self.offset(slot)..<Self.offset(slot) + 48])
    }

    // MARK: Numbers

    private mutating func set(_ value: UInt32, at offset: Int) {
        withUnsafeBytes(of: value.littleEndian) { (source) in
            for (index, byte) in source.enumerated() { bytes[offset + index] = byte }
        }
    }

    private static func u32(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << UInt32(8 * $1) }
    }
}

/// Derives a key from a passphrase. Throws `.corrupt` for a cost that isn't allowed.
func deriveKey(_ passphrase: SecretBytes, salt: [UInt8], _ cost: KeyArea.Cost) throws(StorageError) -> SecretBytes {
    guard cost.isAllowed else {
        throw .corrupt(Corruption(reason: "a key slot asks for more memory or time than a passphrase may need"))
    }
    try loadCrypto()
    var isDerived = false
    let key = SecretBytes(count: DataCipher.keySize) { (key) in
        passphrase.withBytes { (passphrase) in
            isDerived =
                hbe_scrypt(
                    passphrase.baseAddress, passphrase.count, salt, salt.count, 1 << UInt64(cost.logN), UInt64(cost.r),
                    UInt64(cost.p), cost.memory + (1 << 20), key.baseAddress) == 1
        }
    }
    guard isDerived else { throw .unsupported("libcrypto refused to derive a key from the passphrase") }
    return key
}
