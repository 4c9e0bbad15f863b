// SPDX-License-Identifier: Apache-2.0
// All errors of the engine (pages and trees). One enum for both layers, because a tree only adds its name to a page's
// error. Messages give the fault, its position, and the remedy.

/// A failure of the storage engine.
@usableFromInline
package enum StorageError: Error, Equatable {
    /// A page, header or journal record is not what was written. See `Corruption`.
    case corrupt(Corruption)
    /// A system call failed. Gives the operation, the file and the errno.
    case io(operation: String, path: String, errno: Int32)
    /// The file is not a Hornbeam store (or not a file at all).
    case notAStore(path: String, reason: String)
    /// The file has a newer format than this library knows.
    case newerFormat(path: String, version: UInt32, supported: UInt32)
    /// The file needs features that this library lacks; `names` lists their bits.
    case unknownFeatures(path: String, names: [String])
    /// The store is open elsewhere, or transactions are still open.
    case busy(String)
    /// No space is left on the device.
    case full(path: String)
    /// The target exists already.
    case exists(path: String)
    /// A write in a read-only transaction or store.
    case readOnly(String)
    /// An argument is out of bounds.
    case invalid(String)
    /// A key, value or name is beyond its limit. Gives its kind, its size and the limit.
    case tooLarge(what: String, size: Int, limit: Int)
    /// An earlier write failed, and its outcome is unknown until the store is reopened.
    indirect case failed(cause: StorageError)
    /// This build or system doesn't have the operation.
    case unsupported(String)
    /// A read was asked to end early.
    case cancelled
    /// The store is encrypted, and no key was given.
    case keyNeeded(path: String)
    /// The given key opens no key slot of the store.
    case wrongKey(path: String)
    /// A key was given for a store that is not encrypted.
    case notEncrypted(path: String)
}

/// A corruption: the damaged part, and its position. Only the engine makes these, and each `reason` is in only one
/// place of the source.
@usableFromInline
package struct Corruption: Error, Equatable {
    /// The damaged page (its first sector); nil if the damage isn't in a page.
    package var page: UInt64?
    /// The tree that the page belongs to, once known.
    package var tree: String?
    /// The keys that should be there, in words, if a search for keys found the damage.
    package var keys: String?
    /// Description of the damage.
    package var reason: String

    package init(page: UInt64? = nil, tree: String? = nil, keys: String? = nil, reason: String) {
        self.page = page
        self.tree = tree
        self.keys = keys
        self.reason = reason
    }
}

extension StorageError {
    /// Adds the tree's name to a corruption that has none. Returns any other error unchanged. For the layer that knows
    /// the name.
    package func inTree(_ name: @autoclosure () -> String) -> StorageError {
        guard case .corrupt(var what) = self, what.tree == nil else { return self }
        what.tree = name()
        return .corrupt(what)
    }

    /// Adds the keys that should be there to a corruption that has none. Returns any other error unchanged.
    package func withKeys(_ keys: @autoclosure () -> String) -> StorageError {
        guard case .corrupt(var what) = self, what.keys == nil else { return self }
        what.keys = keys()
        return .corrupt(what)
    }
}

extension StorageError: CustomStringConvertible {
    @usableFromInline package var description: String {
        switch self {
        case .corrupt(let what):
            return "corrupt data: \(what.description); restore a backup, or export what is still readable"
        case .io(let operation, let path, let code):
            return "\(operation) failed on \(path): \(SystemErrorText.of(code)) (errno \(code))"
        case .notAStore(let path, let reason):
            return "\(path) is not a Hornbeam store: \(reason)"
        case .newerFormat(let path, let version, let supported):
            return "\(path) has format \(version), this library reads formats up to \(supported): use a newer Hornbeam"
        case .unknownFeatures(let path, let names):
            return "\(path) uses features this library lacks (\(names.joined(separator: ", "))): use a newer Hornbeam"
        case .busy(let what), .readOnly(let what), .invalid(let what), .unsupported(let what): return what
        case .cancelled: return "the read ended without a result, because its task was cancelled"
        case .full(let path):
            return """
                no space left for \(path); nothing was lost: make room on the disk, end open reads, which keep deleted \
                entries, or delete entries, a few in each transaction (the store keeps some room for that)
                """
        case .exists(let path): return "\(path) exists already"
        case .keyNeeded(let path): return "\(path) is encrypted: open it with its key or passphrase"
        case .wrongKey(let path): return "the key or passphrase doesn't open \(path)"
        case .notEncrypted(let path):
            return "\(path) is not encrypted: open it without a key, or make an encrypted copy (`hornbeam encrypt`)"
        case .tooLarge(let what, let size, let limit):
            return "\(what) of \(size) bytes is too large: the limit is \(limit) bytes"
        case .failed(let cause):
            return "the store refuses writes since an earlier failure (\(cause)): close and reopen it"
        }
    }
}

extension Corruption: CustomStringConvertible {
    @usableFromInline package var description: String {
        let place = page.map { "page \($0)" } ?? "the file"
        let owner = tree.map { " of tree “\($0)”" } ?? ""
        let range = keys.map { " (\($0))" } ?? ""
        return "\(place)\(owner)\(range): \(reason)"
    }
}
