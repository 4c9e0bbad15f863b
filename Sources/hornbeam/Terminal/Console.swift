// SPDX-License-Identifier: Apache-2.0
// Standard output and standard error of the command. Results go to output, buffered; remarks, progress and errors to
// standard error. A failed write (a full disk behind `>`) is an error, never silence.

import Glibc
import HornbeamPages

/// Belongs to one thread.
final class Console {
    let isOutputTerminal: Bool
    let isErrorTerminal: Bool
    /// Whether remarks and progress are left out.
    var isQuiet = false
    /// Receives results instead of standard output.
    var target: ByteSink?
    private let output: ByteSink

    init() {
        isOutputTerminal = isatty(STDOUT_FILENO) == 1
        isErrorTerminal = isatty(STDERR_FILENO) == 1
        output = ByteSink(descriptor: STDOUT_FILENO, path: "standard output")
    }

    /// Whether results appear on a terminal.
    var showsOnTerminal: Bool { isOutputTerminal && target == nil }
    var style: Style { showsOnTerminal && getenv("NO_COLOR") == nil ? .terminal : .plain }
    /// Number of columns of the terminal that results appear on, or nil in a pipe.
    var outputWidth: Int? { showsOnTerminal ? Self.width(STDOUT_FILENO) : nil }
    /// Number of columns of the terminal that is standard error.
    var errorWidth: Int { Self.width(STDERR_FILENO) }

    /// A line of the result.
    func print(_ line: String) throws {
        try write(line)
        try write("\n")
    }

    /// Text of the result as it is.
    func write(_ text: String) throws { try (target ?? output).write(text.utf8) }

    /// Bytes of the result as they are.
    func write(_ bytes: [UInt8]) throws { try (target ?? output).write(bytes) }

    /// A table of the result.
    func table(_ columns: [TableColumn], isFramed: Bool = false) -> Table {
        Table(columns, lineWidth: outputWidth, style: style, isFramed: isFramed) { [self] in try self.print($0) }
    }

    /// Hands everything to the system.
    func flush() throws {
        try output.flush()
    }

    /// Runs `body`. On a terminal, output that is longer than the screen goes through a pager. Returns nil if the
    /// person leaves the pager before the end, which ends `body`.
    @discardableResult
    func paged<Result>(_ body: () throws -> Result) throws -> Result? {
        guard showsOnTerminal, isatty(STDIN_FILENO) == 1, output.pager == nil, let pager = Pager() else {
            return try body()
        }
        try output.flush()
        output.pager = pager
        defer {
            output.pager = nil
            pager.end()
        }
        do {
            let result = try body()
            try output.finishPage()
            return result
        } catch {
            if pager.isStarted, case .io(_, _, EPIPE)? = error as? StorageError { return nil }
            // The output before the error is still useful.
            try? output.finishPage()
            throw error
        }
    }

    /// A remark on standard error, unless --quiet.
    func remark(_ line: String) {
        if !isQuiet { Self.complain(line) }
    }

    /// Prints information on standard error that was asked for but isn't part of the result.
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

    /// Ignores a failed write: nothing is left to report it on.
    private static func send(_ text: String) {
        var text = text
        text.withUTF8 { bytes in _ = Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
    }

    static func width(_ descriptor: Int32) -> Int {
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
    /// Decides whether output is longer than the screen, and receives it then. Output is held back until that is known.
    var pager: Pager?

    init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
        buffer.reserveCapacity(Self.capacity)
    }

    func write(_ bytes: some Collection<UInt8>) throws(StorageError) {
        buffer.append(contentsOf: bytes)
        pager?.count(bytes)
        if buffer.count >= Self.capacity {
            if let pager, !pager.isStarted { pager.start() }
            try flush()
        }
    }

    /// Hands everything to the system, unless a pager's decision is open.
    func flush() throws(StorageError) {
        if let pager, !pager.isStarted, !pager.hasFailed { return }
        try send(to: pager?.descriptor ?? descriptor)
    }

    /// Hands everything to the pager, or to the terminal if no pager was needed.
    func finishPage() throws(StorageError) {
        try send(to: pager?.descriptor ?? descriptor)
    }

    private func send(to descriptor: Int32) throws(StorageError) {
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
