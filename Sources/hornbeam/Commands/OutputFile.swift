// SPDX-License-Identifier: Apache-2.0
// The file that --output names. The result goes to a hidden file beside it, which is synced and gets the name once it
// is whole; --force lets it replace a regular file. Pipes and devices are written into. Stores, folders and links to
// files are refused: a link could lead to a store later.

import Glibc
import HornbeamPages

/// A target for results other than standard output.
final class OutputFile {
    /// Receives the result.
    let sink: ByteSink
    private let path: String
    private let descriptor: Int32
    /// The hidden file beside `path`; nil for a pipe or a device, and once it was renamed.
    private var partialPath: String?
    private let replaces: Bool

    /// Opens the target that `path` names. Returns nil if that is standard output: `-`, or a link such as
    /// `/dev/stdout`.
    /// - Parameter replaces: whether an existing regular file may be replaced.
    static func open(_ path: String, replaces: Bool) throws -> OutputFile? {
        if path == "-" { return nil }
        var information = stat()
        guard lstat(path, &information) == 0 else {
            if errno != ENOENT { throw StorageError.io(operation: "open", path: path, errno: errno) }
            return try OutputFile(beside: path, mode: nil, replaces: replaces)
        }
        let isLink = information.st_mode & S_IFMT == S_IFLNK
        guard stat(path, &information) == 0 else {
            if errno != ENOENT { throw StorageError.io(operation: "open", path: path, errno: errno) }
            throw CommandError("\(path) is a link that leads nowhere: name the file itself")
        }
        switch information.st_mode & S_IFMT {
        case S_IFREG:
            let isOutput = isLink && isStandardOutput(information)
            if try isStore(path, mayBeUnreadable: isOutput) { throw storeRefusal(path) }
            if isOutput { return nil }
            if isLink { throw CommandError("\(path) is a link: name the file itself") }
            guard replaces else { throw existsRefusal(path) }
            return try OutputFile(beside: path, mode: information.st_mode & 0o7777, replaces: true)
        case S_IFIFO, S_IFCHR:
            return isStandardOutput(information) ? nil : try OutputFile(into: path)
        case S_IFDIR: throw CommandError("\(path) is a folder: name a file in it")
        default: throw CommandError("\(path) is no file, pipe or terminal, and can't be written into")
        }
    }

    private static func isStore(_ path: String, mayBeUnreadable: Bool) throws(StorageError) -> Bool {
        do throws(StorageError) {
            return try LinuxFile.isStore(at: path)
        } catch {
            guard mayBeUnreadable else { throw error }
            return false
        }
    }

    private static func storeRefusal(_ path: String) -> CommandError {
        CommandError("\(path) is a Hornbeam store, which is never written over: name another file")
    }

    private static func existsRefusal(_ path: String) -> CommandError {
        CommandError("\(path) exists already: --force replaces it")
    }

    /// Opens a pipe or device for writing.
    private convenience init(into path: String) throws(StorageError) {
        self.init(path, try Self.descriptor(of: path, O_WRONLY | O_NOCTTY, named: path), nil, replaces: false)
    }

    /// Makes a hidden file beside `path`, with the permissions of the file that it will replace.
    private convenience init(beside path: String, mode: mode_t?, replaces: Bool) throws(StorageError) {
        let name = ".hornbeam-\(UInt64.random(in: 0...UInt64.max))"
        let partialPath = "\(LinuxFile.directory(of: path))/\(name)"
        // It must not be readable before it has the permissions of the file that it replaces.
        let flags = O_WRONLY | O_CREAT | O_EXCL
        let descriptor = try Self.descriptor(of: partialPath, flags, mode == nil ? 0o666 : 0o600, named: path)
        self.init(path, descriptor, partialPath, replaces: replaces)
        if let mode { try check("fchmod", fchmod(descriptor, mode)) }
    }

    private init(_ path: String, _ descriptor: Int32, _ partialPath: String?, replaces: Bool) {
        self.path = path
        self.descriptor = descriptor
        self.partialPath = partialPath
        self.replaces = replaces
        sink = ByteSink(descriptor: descriptor, path: path)
    }

    deinit {
        _ = close(descriptor)
        if let partialPath { _ = unlink(partialPath) }
    }

    /// Whether the result is in a hidden file, which is deleted with this object.
    var isPartial: Bool { partialPath != nil }

    /// Writes the rest of the buffer, and gives a file its name, durably.
    func finish() throws {
        try sink.flush()
        guard let partialPath else { return }
        try check("fsync", fsync(descriptor))
        try giveName(partialPath)
        try LinuxFile.syncDirectory(of: path)
    }

    private func giveName(_ partialPath: String) throws {
        if !replaces {
            // Unlike a rename, a link never replaces a file that has got the name meanwhile.
            if link(partialPath, path) == 0 { return }
            if errno == EEXIST { throw Self.existsRefusal(path) }
            // Some file systems have no links.
            if ![EPERM, EOPNOTSUPP, ENOSYS].contains(errno) { try check("link", -1) }
        }
        try lookAgain()
        try check("rename", rename(partialPath, path))
        self.partialPath = nil
    }

    /// Throws if a file that must stay has taken the name while the result was written: the rename would replace it.
    private func lookAgain() throws {
        var information = stat()
        guard lstat(path, &information) == 0 else { return }
        if !replaces { throw Self.existsRefusal(path) }
        let isFile = information.st_mode & S_IFMT == S_IFREG
        if isFile, try LinuxFile.isStore(at: path) { throw Self.storeRefusal(path) }
    }

    private func check(_ operation: String, _ result: Int32) throws(StorageError) {
        if result != 0 { throw .io(operation: operation, path: path, errno: errno) }
    }

    private static func descriptor(
        of path: String, _ flags: Int32, _ mode: mode_t = 0, named name: String
    ) throws(StorageError) -> Int32 {
        while true {
            let descriptor = Glibc.open(path, flags | O_CLOEXEC, mode)
            if descriptor >= 0 { return descriptor }
            if errno != EINTR { throw .io(operation: "open", path: name, errno: errno) }
        }
    }

    /// Whether `file` is the file, pipe or device of standard output.
    static func isStandardOutput(_ file: stat) -> Bool {
        var output = stat()
        return fstat(STDOUT_FILENO, &output) == 0 && output.st_dev == file.st_dev && output.st_ino == file.st_ino
    }
}
