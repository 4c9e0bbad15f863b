// SPDX-License-Identifier: Apache-2.0
// Encryption as a program asks for it: with a key of its own, or with a passphrase.

public import Hornbeam
import HornbeamCipher

extension Encryption {
    /// A key of 32 random bytes, which the program keeps elsewhere. With any other number of bytes, opening the
    /// database throws `.invalid`.
    ///
    /// The key encrypts the store's data key, which is random and never in the file in clear, so one key can serve
    /// several files.
    public static func key(_ bytes: some Sequence<UInt8>) -> Encryption { Encryption(StoreKey(key: Array(bytes))) }

    /// A passphrase of at least one byte, from which scrypt derives a key. That takes about 100 ms and 64 MB of memory
    /// each time the database is opened.
    ///
    /// - Parameters:
    ///   - text: the passphrase.
    ///   - logCost: log2 of scrypt's N in a new key slot, 10 to 20: one more doubles time and memory. A stored slot
    ///     keeps its own.
    public static func passphrase(_ text: String, logCost: Int = 16) -> Encryption {
        Encryption(StoreKey(passphrase: Array(text.utf8), logCost: logCost))
    }
}
