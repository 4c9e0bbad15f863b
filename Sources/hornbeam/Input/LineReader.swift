// SPDX-License-Identifier: Apache-2.0
// Lines of a file or of standard input, streamed: memory is bounded by the longest line, which is limited. Bytes are
// passed on unchecked; the parser validates them.

import Glibc
import Hornbeam
import HornbeamPages

/// Owns its descriptor unless that is standard input.
struct LineReader: ~Copyable {
    /// Maximum size of a line in bytes. A longer line shows that the input isn't JSON lines.
    static let maximumLineSize = 256 << 20
    private static let chunkSize = 1 << 18
    /// U+FEFF in UTF-8. Some editors begin a file with it.
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private let descriptor: Int32
    let path: String
    /// Size of the file, or nil if it isn't known (a pipe).
    let fileSize: UInt64?
    /// Number of the last line handed out, from 1.
    private(set) var lineNumber: UInt64 = 0
    /// Bytes handed out, line ends included.
    private(set) var bytesRead: UInt64 = 0
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false
    private let keepsEnds: Bool

    /// Opens `path`; `-` is standard input.
    /// - Parameter keepsEnds: whether lines have their ends. `\r` alone is an end then, too.
    static func open(_ path: String, keepsEnds: Bool = false) throws(StorageError) -> LineReader {
        if path == "-" { return LineReader(descriptor: STDIN_FILENO, path: "standard input", keepsEnds: keepsEnds) }
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { throw .io(operation: "open", path: path, errno: errno) }
        return LineReader(descriptor: descriptor, path: path, keepsEnds: keepsEnds)
    }

    private init(descriptor: Int32, path: String, keepsEnds: Bool) {
        self.keepsEnds = keepsEnds
        self.descriptor = descriptor
        self.path = path
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        fileSize = isFile && status.st_size > 0 ? UInt64(status.st_size) : nil
    }

    deinit {
        if descriptor != STDIN_FILENO { _ = close(descriptor) }
    }

    /// The next line, or nil after the last one. Its end (`\n` or `\r\n`) is left out unless ends are kept. The last
    /// line needs no end. A byte order mark before the first line is skipped.
    mutating func next() throws -> ArraySlice<UInt8>? {
        var searched = start
        while true {
            if let end = end(from: &searched) {
                return try keepsEnds ? take(upTo: end + 1, skipping: 0) : take(upTo: end, skipping: 1)
            }
            if isAtEnd { return try start < buffer.count ? take(upTo: buffer.count, skipping: 0) : nil }
            if buffer.count - start > Self.maximumLineSize {
                throw CommandError(
                    "\(path), line \(lineNumber + 1): longer than \(Spelling.bytes(UInt64(Self.maximumLineSize)));"
                        + " JSON lines hold one object a line")
            }
            if start > 0 {
                buffer.removeSubrange(..<start)
                searched -= start
                start = 0
            }
            try fill()
        }
    }

    /// Returns the position of the last byte of the next line end, or nil if the buffer has none. `searched` then
    /// becomes the position where the next search begins.
    private func end(from searched: inout Int) -> Int? {
        guard keepsEnds else {
            let end = buffer[searched...].firstIndex(of: 0x0A)
            searched = buffer.count
            return end
        }
        guard let end = buffer[searched...].firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) else {
            searched = buffer.count
            return nil
        }
        if buffer[end] == 0x0A { return end }
        if end + 1 < buffer.count { return buffer[end + 1] == 0x0A ? end + 1 : end }
        // The other half of the end may come with the next bytes.
        searched = end
        return isAtEnd ? end : nil
    }

    private mutating func take(upTo end: Int, skipping: Int) throws(CommandError) -> ArraySlice<UInt8> {
        var line = buffer[start..<end]
        bytesRead += UInt64(line.count + skipping)
        lineNumber += 1
        start = end + skipping
        if line.last == 0x0D, !keepsEnds { line.removeLast() }
        if lineNumber == 1 {
            if line.starts(with: Self.byteOrderMark) { return line.dropFirst(Self.byteOrderMark.count) }
            if line.starts(with: [0xFF, 0xFE]) || line.starts(with: [0xFE, 0xFF]) {
                throw CommandError("\(path) is UTF-16: convert it to UTF-8, as by iconv -f UTF-16 -t UTF-8")
            }
        }
        return line
    }

    private mutating func fill() throws(StorageError) {
        let held = buffer.count
        buffer.append(contentsOf: repeatElement(0, count: Self.chunkSize))
        // Looks for a signal before each read: one that came earlier wouldn't end the read.
        var (result, code) = (-1, EINTR)
        while result < 0, code == EINTR, !Interruption.isRequested {
            result = buffer.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress.map { $0 + held }, Self.chunkSize)
            }
            code = errno
        }
        buffer.removeSubrange((held + max(0, result))...)
        if result < 0, code != EINTR { throw .io(operation: "read", path: path, errno: code) }
        if result <= 0 { isAtEnd = true }
    }
}
