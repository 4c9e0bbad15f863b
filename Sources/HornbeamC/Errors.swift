// SPDX-License-Identifier: Apache-2.0
// Converts the engine's errors to the result codes of hornbeam.h, and to the text of hb_error(). Every failure of the C
// interface passes through `Failure`; nothing may leave this module as a Swift error or a trap.

import CHornbeam
import Glibc
import HornbeamPages

/// The codes of hornbeam.h in the type that C functions return.
enum Result {
    static let ok = Int32(HB_OK)
    static let notFound = Int32(HB_NOT_FOUND)
}

enum Failure {
    /// Notes the error's text for hb_error() and returns its code.
    @inline(never)
    static func report(_ error: StorageError) -> Int32 {
        LastError.set(error.description)
        return code(error)
    }

    /// HB_INVALID: the call itself is wrong.
    @inline(never)
    static func invalid(_ what: String) -> Int32 { report(.invalid(what)) }

    /// HB_NOT_FOUND for something that has a name. (A missing key sets no text: it is an ordinary answer and must be
    /// fast.)
    @inline(never)
    static func notFound(_ what: String) -> Int32 {
        LastError.set("not found: \(what)")
        return Result.notFound
    }

    static func code(_ error: StorageError) -> Int32 {
        switch error {
        case .corrupt: Int32(HB_CORRUPT)
        case .io: Int32(HB_IO)
        case .notAStore, .invalid: Int32(HB_INVALID)
        case .newerFormat, .unknownFeatures, .unsupported: Int32(HB_UNSUPPORTED)
        case .keyNeeded, .wrongKey, .notEncrypted: Int32(HB_KEY)
        // No C program has tasks that could be cancelled.
        case .cancelled: Int32(HB_INVALID)
        case .busy: Int32(HB_BUSY)
        case .full: Int32(HB_FULL)
        case .exists: Int32(HB_EXISTS)
        case .readOnly: Int32(HB_READ_ONLY)
        case .tooLarge: Int32(HB_TOO_LARGE)
        case .failed: Int32(HB_FAILED)
        }
    }
}

/// The text of each thread's last error, in memory that the thread's end frees.
private enum LastError {
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key) { free($0) } == 0 ? key : nil
    }()

    static func set(_ text: String) {
        guard let key, let copy = strdup(text) else { return }
        let old = pthread_getspecific(key)
        free(pthread_setspecific(key, copy) == 0 ? old : UnsafeMutableRawPointer(copy))
    }

    static var text: UnsafePointer<CChar> {
        guard let key, let text = pthread_getspecific(key) else { return Words.none }
        return UnsafePointer(text.assumingMemoryBound(to: CChar.self))
    }
}

/// Texts for C that live as long as the process.
private enum Words {
    nonisolated(unsafe) static let none = lasting("")
    nonisolated(unsafe) static let version = lasting(HB_VERSION)

    private static func lasting(_ text: String) -> UnsafePointer<CChar> {
        let bytes = UnsafeMutableBufferPointer<CChar>.allocate(capacity: text.utf8.count + 1)
        _ = bytes.initialize(from: text.utf8CString)
        return UnsafePointer(bytes.baseAddress.unsafelyUnwrapped)
    }
}

@c @implementation
public func hb_error() -> UnsafePointer<CChar>? { LastError.text }

@c @implementation
public func hb_version() -> UnsafePointer<CChar>? { Words.version }
