// SPDX-License-Identifier: Apache-2.0
// The key of the stores that a command opens: from a file, never from the command line, where every other user of the
// machine could read it.

import Glibc
import Hornbeam
import HornbeamCipher
import HornbeamPages
import Synchronization

enum StoreKeyFile {
    /// The key of the running command; nil if none was given.
    static var current: (any StoreEncryption)? { key.withLock { $0 } }
    private static let key = Mutex<(any StoreEncryption)?>(nil)

    /// Reads the key from the file that the command line names, or else HORNBEAM_KEY_FILE or HORNBEAM_PASSPHRASE_FILE.
    static func read(_ arguments: Arguments) throws {
        let found = try chosen(arguments)
        key.withLock { $0 = found }
    }

    private static func chosen(_ arguments: Arguments) throws -> (any StoreEncryption)? {
        switch (arguments.value("key-file"), arguments.value("passphrase-file")) {
        case (_?, _?): throw UsageError("--key-file and --passphrase-file: a store is opened by one of them")
        case (let file?, nil): return try readKey(file)
        case (nil, let file?): return try readPassphrase(file)
        case (nil, nil): break
        }
        if let file = variable("HORNBEAM_KEY_FILE") { return try readKey(file) }
        return try variable("HORNBEAM_PASSPHRASE_FILE").map { try readPassphrase($0) }
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func readKey(_ path: String) throws -> any StoreEncryption {
        var bytes = try read(path)
        defer { wipe(&bytes) }
        if bytes.count == 32 { return StoreKey(key: bytes) }
        while let last = bytes.last, [0x0A, 0x0D, 0x20].contains(last) { bytes.removeLast() }
        var digits = bytes.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map { UInt8($0) } }
        defer { wipe(&digits) }
        guard bytes.count == 64, digits.count == 64 else {
            throw CommandError(
                "\(path) is no key: it must hold 32 bytes or 64 hexadecimal digits "
                    + "('openssl rand -hex 32 > FILE' makes one); for a passphrase, use --passphrase-file")
        }
        var key = (0..<32).map { digits[2 * $0] << 4 | digits[2 * $0 + 1] }
        defer { wipe(&key) }
        return StoreKey(key: key)
    }

    private static func readPassphrase(_ path: String) throws -> any StoreEncryption {
        var bytes = try read(path)
        defer { wipe(&bytes) }
        let count = bytes.prefix { $0 != 0x0A && $0 != 0x0D }.count
        guard count > 0 else { throw CommandError("\(path) has no passphrase: its first line is empty") }
        return bytes.withUnsafeBytes {
            StoreKey(passphrase: Bytes(rebasing: $0[..<count]), logCost: StoreKey.usualLogCost)
        }
    }

    private static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { if let start = $0.baseAddress { explicit_bzero(start, $0.count) } }
    }

    /// Reads a key file. Throws if it has 4096 bytes or more: no key is that long.
    private static func read(_ path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandError("can't read the key file \(path): \(reason())") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        defer { wipe(&bytes) }
        var count = 0
        while count < bytes.count {
            let size = bytes.withUnsafeMutableBytes { (buffer) -> Int in
                Glibc.read(descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count)
            }
            if size < 0, errno == EINTR { continue }
            guard size >= 0 else { throw CommandError("can't read the key file \(path): \(reason())") }
            if size == 0 { return Array(bytes[..<count]) }
            count += size
        }
        throw CommandError("\(path) is no key file: it has 4096 bytes or more")
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}
