// SPDX-License-Identifier: Apache-2.0
// The key of an encrypted database, as the options take it. The ciphers are in `HornbeamEncryption`, so that a program
// without encryption needs no libcrypto.

package import HornbeamPages
import HornbeamTree

/// The key of an encrypted database. Import `HornbeamEncryption` to make one: `.key(bytes)`, `.passphrase("…")`.
public struct Encryption: Sendable {
    package let engine: any StoreEncryption

    package init(_ engine: any StoreEncryption) { self.engine = engine }
}

extension Database {
    /// Makes `encryption` the only key of an encrypted database. Former keys and passphrases open neither the file nor
    /// later backups of it any more; they still open older copies. The data isn't encrypted anew: whoever held a former
    /// key may have kept the data key. Make a new encrypted file (`copy(to:encryption:)`) where that matters.
    ///
    /// Writes the file's header, whatever the size of the data, and takes as long as a write transaction, with a
    /// passphrase about 100 ms more. Throws `.notEncrypted` for a database without encryption, and `.readOnly` for one
    /// that is open read-only. After an error the former keys still open the file.
    public func rekey(_ encryption: Encryption) throws {
        do { try store.rekey(encryption.engine, keepsOthers: false) } catch { throw HornbeamError(error) }
    }

    /// Adds a key or passphrase to those of an encrypted database: up to four open it. Throws `.invalid` if there are
    /// four, and as `rekey` does.
    public func addKey(_ encryption: Encryption) throws {
        do { try store.rekey(encryption.engine, keepsOthers: true) } catch { throw HornbeamError(error) }
    }

    /// Copies the newest committed state into a new file with another encryption, or with none: the way to encrypt a
    /// database, to decrypt one, and to give it a new data key. Entries are copied one by one, checked and compared
    /// before the file appears under its name.
    ///
    /// Registered indexes with a reducer of the program's own are built anew when they are registered with the copy.
    /// Throws `.invalid` if there is a file at `path`.
    public func copy(to path: String, encryption: Encryption?) throws {
        do { _ = try store.convert(to: path, encryption: encryption?.engine) } catch { throw HornbeamError(error) }
    }
}
