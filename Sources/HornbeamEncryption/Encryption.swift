// SPDX-License-Identifier: Apache-2.0
// Encryption as a program asks for it: by a key of its own, or by a passphrase.

public import Hornbeam
import HornbeamCipher

extension Encryption {
    /// A key of 32 random bytes, which the program keeps elsewhere. Any other number of bytes is `.invalid` when the
    /// database is opened.
    ///
    /// The key encrypts the store's data key, which is random and never leaves the file in clear, so one key can serve
    /// several files.
    public static func key(_ bytes: some Sequence<UInt8>) -> Encryption { Encryption(StoreKey(key: Array(bytes))) }

    /// A passphrase of at least one byte, from which a key is derived by scrypt. Opening takes about 100 ms and 64 MB
    /// of memory for it.
    ///
    /// - Parameters:
    ///   - text: the passphrase.
    ///   - logCost: log2 of scrypt's N when a key slot is made: one more doubles time and
    ///     memory. 10 to 20; a stored slot keeps its own.
    public static func passphrase(_ text: String, logCost: Int = 16) -> Encryption {
        Encryption(StoreKey(passphrase: Array(text.utf8), logCost: logCost))
    }
}
