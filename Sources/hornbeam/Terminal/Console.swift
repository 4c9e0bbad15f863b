// SPDX-License-Identifier: Apache-2.0
// Standard output and standard error of the command. Results go to output, buffered; remarks, progress and errors to
// standard error. A failed write (a full disk behind `>`) is an error, never silence.

import Glibc
import HornbeamPages

/// Belongs to one thread.
final class Console {
    let isOutputTerminal: Bool
    let isErrorTerminal: Bool
    /// No remarks and no progress.
    var isQuiet = false
    let style: Style
    private let output: ByteSink

    init() {
        isOutputTerminal = isatty(STDOUT_FILENO) == 1
        isErrorTerminal = isatty(STDERR_FILENO) == 1
        style = isOutputTerminal && getenv("NO_COLOR") == nil ? .terminal : .plain
        output = ByteSink(descriptor: STDOUT_FILENO, path: "standard output")
    }

    /// Number of columns of the terminal that is standard output, or nil in a pipe.
    var outputWidth: Int? { isOutputTerminal ? Self.width(STDOUT_FILENO) : nil }
    /// Number of columns of the terminal that is standard error.
    var errorWidth: Int { Self.width(STDERR_FILENO) }

    /// A line of the result.
    func print(_ line: String) throws {
        try output.write(line)
        try output.write("\n")
    }

    /// Text of the result as it is.
    func write(_ text: String) throws {
        try output.write(text)
    }

    /// A table of the result.
    func table(_ columns: [TableColumn]) -> Table {
        Table(columns, lineWidth: outputWidth, style: style) { [self] in try self.print($0) }
    }

    /// Hands everything to the system.
    func flush() throws {
        try output.flush()
    }

    /// A remark on standard error, unless --quiet.
    func remark(_ line: String) {
        if !isQuiet { Self.complain(line) }
    }

    /// Something that was asked for and doesn't belong to the result, on standard error.
    func answer(_ lines: String) {
        Self.complain(lines)
    }

    /// An error's line on standard error.
    func report(_ line: String) {
        Self.complain("hornbeam: \(line)")
    }

    /// Replaces the status line on the terminal.
    func drawStatus(_ line: String) {
        Self.send("\r\u{1B}[K\(line)")
    }

    private static func complain(_ line: String) {
        send(
            line.split(separator: "\n", omittingEmptySubsequences: false).map {
                "\(DisplayWidth.printable(String($0)))\n"
            }.joined())
    }

    /// Standard error has nowhere to complain about itself.
    private static func send(_ text: String) {
        var text = text
        text.withUTF8 { bytes in _ = Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
    }

    private static func width(_ descriptor: Int32) -> Int {
        var size = winsize()
        if ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
        return getenv("COLUMNS").flatMap { Int(String(cString: $0)) }.map { max(20, $0) } ?? 80
    }
}

/// Buffered writing to a descriptor, which it does not own.
final class ByteSink {
    private static let capacity = 1 << 16

    private let descriptor: Int32
    private let path: String
    private var buffer: [UInt8] = []

    init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
        buffer.reserveCapacity(Self.capacity)
    }

    func write(_ text: String) throws(StorageError) {
        buffer.append(contentsOf: text.utf8)
        if buffer.count >= Self.capacity { try flush() }
    }

    func flush() throws(StorageError) {
        var sent = 0
        while sent < buffer.count {
            let result = buffer.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress.map { $0 + sent }, $0.count - sent)
            }
            if result < 0 {
                if errno == EINTR { continue }
                let code = errno
                buffer.removeAll(keepingCapacity: true)
                throw .io(operation: "write", path: path, errno: code)
            }
            sent += result
        }
        buffer.removeAll(keepingCapacity: true)
    }
}
