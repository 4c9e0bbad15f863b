// SPDX-License-Identifier: Apache-2.0
// The only error type of entities and statements: a code to switch over and a message for people. Storage errors are
// converted to it.

public import FoundationEssentials
package import HornbeamPages

/// An error of the library. The codes are an open set: later versions may add some.
public struct HornbeamError: Error, Sendable {
    /// The kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        package init(_ description: String) {
            self.description = description
        }

        /// Data on disk is damaged; the message names the position.
        public static let corrupt = Code("corrupt")
        /// A system call failed.
        public static let io = Code("io")
        /// No space is left; nothing was lost.
        public static let full = Code("full")
        /// The file is open elsewhere, or an index is being built with another version.
        public static let busy = Code("busy")
        /// The file is no Hornbeam store, or one of a newer format.
        public static let notAStore = Code("notAStore")
        /// A write where only reading is allowed.
        public static let readOnly = Code("readOnly")
        /// An argument is out of bounds.
        public static let invalid = Code("invalid")
        /// A key, a value or a name exceeds its limit.
        public static let tooLarge = Code("tooLarge")
        /// The store refuses writes after an earlier failure; reopen it.
        public static let failed = Code("failed")
        /// An entity type that the database was not opened with.
        public static let unregisteredEntity = Code("unregisteredEntity")
        /// The stored schema and the declared models don't fit together.
        public static let schemaMismatch = Code("schemaMismatch")
        /// A stored value can't be read as the property's type.
        public static let undecodable = Code("undecodable")
        /// Another entity holds the same unique key.
        public static let uniqueViolation = Code("uniqueViolation")
        /// An entity can't be deleted while a relation of it leads to stored entities.
        public static let deleteDenied = Code("deleteDenied")
        /// A write would leave an entity without a required relation, which the database was opened to refuse.
        public static let missingRelation = Code("missingRelation")
        /// An entity was changed, stored or deleted since the state that the caller expects.
        public static let conflict = Code("conflict")
        /// An entity that must be stored already isn't.
        public static let notStored = Code("notStored")
        /// An entity that must not be stored yet is stored already.
        public static let alreadyStored = Code("alreadyStored")
        /// A change would give an entity another id.
        public static let identityChanged = Code("identityChanged")
        /// A registered index is missing from this state of the store, or can't answer: register it.
        public static let indexNotReady = Code("indexNotReady")
        /// A query that requires an index would look at every entity of its type: the message has the plan.
        public static let needsIndex = Code("needsIndex")
        /// The name of a registered index belongs to an index of another kind or another entity type.
        public static let indexMismatch = Code("indexMismatch")
        /// The rows of a registered index differ from those that its code gives, although its version is the same.
        public static let indexDrift = Code("indexDrift")
        /// The function of a registered index gave other rows when it was called again.
        public static let impureMap = Code("impureMap")
        /// A long-lived read has exceeded its maximum age: begin a new one.
        public static let snapshotExpired = Code("snapshotExpired")
        /// The task that waits for a read was cancelled while it ran.
        public static let cancelled = Code("cancelled")
        /// The file is encrypted, and no key was given.
        public static let keyNeeded = Code("keyNeeded")
        /// The key or passphrase isn't the file's.
        public static let wrongKey = Code("wrongKey")
        /// A key was given for a file that isn't encrypted.
        public static let notEncrypted = Code("notEncrypted")
        /// This system lacks the operation.
        public static let unsupported = Code("unsupported")
    }

    /// The kind of failure, to switch over.
    public let code: Code
    /// The fault, its position and the remedy, in words. A message of more than 4,000 bytes is shortened in its middle.
    public let message: String
    /// Behind a reference, so that an error is small: throwing functions are called a million times and seldom fail.
    private let details: Details?

    /// Makes an error. A long message is shortened: see `message`.
    public init(_ code: Code, _ message: String) {
        self.init(code, message, violation: nil)
    }

    init(_ code: Code, _ message: String, violation: UniqueViolation?, cause: (any Error)? = nil) {
        self.code = code
        self.message = message.shownAsMessage()
        details = violation == nil && cause == nil ? nil : Details(violation, cause)
    }

    private final class Details: Sendable {
        let violation: UniqueViolation?
        let cause: (any Error)?

        init(_ violation: UniqueViolation?, _ cause: (any Error)?) { (self.violation, self.cause) = (violation, cause) }
    }

    /// The violated key and its entities, for an error with the code `uniqueViolation` that names both entities.
    public var violation: UniqueViolation? { details?.violation }

    /// The error that a migration's closure threw; nil if this error isn't of a migration.
    public var cause: (any Error)? { details?.cause }
}

/// Two entities of a type that want the same key of a unique index.
public struct UniqueViolation: Sendable, Equatable {
    /// The type's name in the store.
    public let entityName: String
    /// The name of the unique index.
    public let indexName: String
    /// The id of the entity that has the key, or wants it in the same save.
    public let existing: Value
    /// The id of the entity that was refused.
    public let new: Value
    /// The values that both have in the index's components, in their order.
    public let values: [Value]
}

extension HornbeamError: CustomStringConvertible, LocalizedError {
    public var description: String { message }
    /// The message, for Foundation's `error.localizedDescription`.
    public var errorDescription: String? { message }
}

extension HornbeamError {
    /// The error with which an opening fails if a migration's closure throws. Its message says where. It takes code and
    /// violation from a thrown `HornbeamError`. For any other error its code is `.schemaMismatch`.
    package static func ofMigration(_ place: String, _ cause: any Error) -> HornbeamError {
        let known = typed(cause) as? HornbeamError
        return HornbeamError(
            known?.code ?? .schemaMismatch, "the migration of \(place) failed: \(known?.message ?? "\(cause)")",
            violation: known?.violation, cause: cause)
    }

    /// Converts a storage error. Returns any other error unchanged.
    package static func typed(_ error: any Error) -> any Error {
        (error as? StorageError).map { HornbeamError($0) } ?? error
    }

    /// Converts a storage error.
    package init(_ error: StorageError) {
        let code: Code =
            switch error {
            case .corrupt: .corrupt
            case .io: .io
            case .notAStore, .newerFormat, .unknownFeatures: .notAStore
            case .busy: .busy
            case .full: .full
            case .exists: .invalid
            case .readOnly: .readOnly
            case .invalid: .invalid
            case .tooLarge: .tooLarge
            case .failed: .failed
            case .unsupported: .unsupported
            case .cancelled: .cancelled
            case .keyNeeded: .keyNeeded
            case .wrongKey: .wrongKey
            case .notEncrypted: .notEncrypted
            }
        self.init(code, error.description)
    }
}
