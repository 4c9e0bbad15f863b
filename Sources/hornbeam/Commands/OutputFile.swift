// SPDX-License-Identifier: Apache-2.0
// The file that --output names. A new file, and a regular file that --force replaces, get the name once they are whole:
// the result goes to a file beside it, which is synced and then renamed. Pipes and devices are written into. Refused
// are stores, folders, and links to files, behind which a store might stand one day.

import Glibc
import HornbeamPages

/// Where a result goes instead of standard output.
final class OutputFile {
    private let sink: ByteSink
    private let path: String
    private let descriptor: Int32
    /// The file beside `path` that will get its name; nil for a pipe or a device, and once it has.
    private var partialPath: String?
    private let replaces: Bool

    /// The target that `path` names; nil if that is standard output: `-`, or a link such as `/dev/stdout`.
    /// - Parameter replaces: whether a regular file that is there may be replaced.
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
            if try isStore(path, mayBeUnreadable: isOutput) {
                throw CommandError("\(path) is a Hornbeam store, which is never written over: name another file")
            }
            if isOutput { return nil }
            if isLink { throw CommandError("\(path) is a link: name the file itself") }
            guard replaces else { throw CommandError("\(path) exists already: --force replaces it") }
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

    /// Opens what is there, to be written into.
    private convenience init(into path: String) throws(StorageError) {
        self.init(path, try Self.descriptor(of: path, O_WRONLY | O_NOCTTY, named: path), nil, replaces: false)
    }

    /// Makes a file beside `path`, with the permissions of the one that it will replace.
    private convenience init(beside path: String, mode: mode_t?, replaces: Bool) throws(StorageError) {
        let name = ".hornbeam-\(UInt64.random(in: 0...UInt64.max))"
        let partialPath = "\(Self.folder(of: path))/\(name)"
        // Nobody else may open it before it has the permissions of what it replaces.
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

    func write(_ text: String) throws(StorageError) { try sink.write(text) }

    /// Writes what is left. A file has its name then, durably.
    func finish() throws {
        try sink.flush()
        guard let partialPath else { return }
        try check("fsync", fsync(descriptor))
        try giveName(partialPath)
        let folder = Self.folder(of: path)
        let folderDescriptor = try Self.descriptor(of: folder, O_RDONLY, named: folder)
        defer { _ = close(folderDescriptor) }
        try check("fsync", fsync(folderDescriptor))
    }

    private func giveName(_ partialPath: String) throws {
        if !replaces {
            // Unlike a rename, a link leaves alone what has got the name meanwhile.
            if link(partialPath, path) == 0 { return }
            if errno == EEXIST { throw CommandError("\(path) exists already: --force replaces it") }
            // Some file systems have no links.
            if errno != EPERM, errno != EOPNOTSUPP { try check("link", -1) }
        }
        try check("rename", rename(partialPath, path))
        self.partialPath = nil
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

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Whether it is the file, pipe or device behind standard output.
    static func isStandardOutput(_ file: stat) -> Bool {
        var output = stat()
        return fstat(STDOUT_FILENO, &output) == 0 && output.st_dev == file.st_dev && output.st_ino == file.st_ino
    }
}
