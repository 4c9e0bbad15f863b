// SPDX-License-Identifier: Apache-2.0
// Keys and passphrases, and the key slots that they open.

import HornbeamPages
import Testing

@testable import HornbeamCipher

@Suite("A store's key")
struct StoreKeyTests {
    private let key = StoreKey(key: [UInt8](0..<32))
    private let other = StoreKey(key: [UInt8](1..<33))
    /// The least cost, so that tests are fast.
    private let passphrase = StoreKey(passphrase: Array("corect horse".utf8), logCost: 10)

    private func dataKey(_ cipher: (any PageCipher)?) -> [UInt8]? {
        (cipher as? DataCipher)?.key.withBytes { Array($0) }
    }

    @Test("opens the slots that it made, and no other key does")
    func unlock() throws {
        for (mine, others) in [(key, [other, passphrase]), (passphrase, [key, other])] {
            let made = try mine.create()
            #expect(dataKey(try mine.unlock(made.slots)) == dataKey(made.cipher))
            for other in others { #expect(try other.unlock(made.slots) == nil) }
        }
        let first = try key.create()
        #expect(dataKey(first.cipher) != dataKey(try key.create().cipher), "each store has a data key of its own")
    }

    @Test("derives keys from a passphrase as scrypt says")
    func scrypt() throws {
        let secret = Array("pleaseletmein".utf8)
        let salt = Array("SodiumChloride".utf8) + [UInt8](repeating: 0, count: 18)
        let derived = try deriveKey(
            SecretBytes(count: secret.count) { $0.copyBytes(from: secret) }, salt: salt,
            KeyArea.Cost(logN: 10, r: 8, p: 1))
        let answer = "4be7e22631255bfd9023405ea05a1b0a4dd5a449fe1dbdbc6cfb8abc8cd87f7c"
        let hex = derived.withBytes { $0.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
        #expect(hex == answer)
    }

    @Test("takes one of four slots, and a fifth is refused by name")
    func slots() throws {
        let made = try key.create()
        var slots = made.slots
        for _ in 0..<3 { slots = try passphrase.wrap(made.cipher, beside: slots) }
        #expect(try key.unlock(slots) != nil)
        #expect(try passphrase.unlock(slots) != nil)
        #expect(throws: StorageError.self) { try other.wrap(made.cipher, beside: slots) }
        let alone = try other.wrap(made.cipher, beside: nil)
        #expect(dataKey(try other.unlock(alone)) == dataKey(made.cipher))
        #expect(try key.unlock(alone) == nil)
    }

    @Test("refuses a slot with any byte changed")
    func changedSlots() throws {
        let made = try key.create()
        // Version, cipher, and the used slot except for the passphrase's parameters, which are authenticated too.
        for index in Array(0..<16) + Array(16..<132) {
            var bytes = made.slots.bytes
            bytes[index] ^= 0x10
            let changed = try #require(KeySlots(bytes))
            #expect((try? key.unlock(changed)).flatMap { $0 } == nil, "byte \(index)")
        }
    }

    @Test("refuses a hostile slot whose passphrase costs too much")
    func hostileCost() throws {
        let made = try passphrase.create()
        for (offset, value) in [(20, UInt32(40)), (20, 0), (20, 21), (24, 1 << 30), (24, 9), (28, 1 << 20), (28, 3)] {
            var bytes = made.slots.bytes
            for byte in 0..<4 { bytes[offset + byte] = UInt8(truncatingIfNeeded: value >> UInt32(8 * byte)) }
            let changed = try #require(KeySlots(bytes))
            #expect(try passphrase.unlock(changed) == nil)
        }
    }

    @Test("of another size than 32 bytes, an empty passphrase and an impossible cost are refused in words")
    func arguments() {
        for wrong in [
            StoreKey(key: [1, 2, 3]), StoreKey(passphrase: [], logCost: 16), StoreKey(passphrase: [1], logCost: 9),
            StoreKey(passphrase: [1], logCost: 21),
        ] {
            #expect {
                _ = try wrong.create()
            } throws: { error in
                guard case .invalid(let text)? = error as? StorageError else { return false }
                return text.count > 20
            }
        }
    }
}
