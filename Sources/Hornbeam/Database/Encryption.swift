// SPDX-License-Identifier: Apache-2.0
// The key of an encrypted database, for the options. The ciphers are in `HornbeamEncryption`, so that a program without
// encryption needs no libcrypto.

package import HornbeamPages
import HornbeamTree

/// The key of an encrypted database. Import `HornbeamEncryption` to make one: `.key(bytes)`, `.passphrase("…")`.
public struct Encryption: Sendable {
    package let engine: any StoreEncryption

    package init(_ engine: any StoreEncryption) { self.engine = engine }
}

extension Database {
    /// Makes `encryption` the only key of an encrypted database. Former keys and passphrases no longer open the file
    /// and later backups of it, but they still open older copies. The data isn't encrypted anew, and an owner of a
    /// former key may have kept the data key. If that matters, make a new encrypted file by `copy(to:encryption:)`.
    ///
    /// Writes only the file's header, so the time doesn't depend on the size of the data: it is that of a write
    /// transaction, and about 100 ms more with a passphrase. Throws `.notEncrypted` for a database without encryption,
    /// and `.readOnly` for one that is open read-only. After an error the former keys still open the file.
    public func rekey(_ encryption: Encryption) throws {
        do { try store.rekey(encryption.engine, keepsOthers: false) } catch { throw HornbeamError(error) }
    }

    /// Adds a key or passphrase to an encrypted database, which can have four. Throws `.invalid` if it has four
    /// already, `.notEncrypted` and `.readOnly` like `rekey`.
    public func addKey(_ encryption: Encryption) throws {
        do { try store.rekey(encryption.engine, keepsOthers: true) } catch { throw HornbeamError(error) }
    }

    /// Copies the newest committed state to a new file with another encryption, or with none. Use it to encrypt or
    /// decrypt a database, or to give it a new data key. Entries are copied one by one, checked and compared before the
    /// file appears under its name.
    ///
    /// Registered indexes with a custom reducer are built anew when they are registered with the copy. Throws
    /// `.invalid` if there is a file at `path`.
    public func copy(to path: String, encryption: Encryption?) throws {
        do { _ = try store.convert(to: path, encryption: encryption?.engine) } catch { throw HornbeamError(error) }
    }
}
