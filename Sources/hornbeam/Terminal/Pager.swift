// SPDX-License-Identifier: Apache-2.0
// Output that is longer than the screen goes through the program that $PAGER names, or less. Shorter output is printed
// directly, so output is held back until its length is known.

import Glibc

/// Belongs to one thread.
final class Pager {
    private let command: String
    private let rows: Int
    private let columns: Int
    private var lines = 0
    private var file: UnsafeMutablePointer<FILE>?

    /// The pager for the terminal at standard output. Returns nil if the terminal's size is unknown or there is no
    /// pager.
    init?() {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 1, size.ws_col > 0,
            let command = Self.command
        else { return nil }
        self.command = command
        rows = Int(size.ws_row)
        columns = Int(size.ws_col)
    }

    /// Output is held back as long as this is false.
    var isStarted: Bool { file != nil }
    /// The pager's input, once it is started.
    var descriptor: Int32? { file.map { fileno($0) } }

    /// Counts the lines that a piece of output takes. Starts the pager when they are more than the screen has.
    func count(_ bytes: some Sequence<UInt8>) {
        guard !isStarted else { return }
        for byte in bytes { count(byte) }
        // One line is left for the next prompt.
        if lines >= rows { start() }
    }

    /// Whether the pager couldn't be started. Output goes on without it.
    private(set) var hasFailed = false
    private var column = 0

    func start() {
        // Leaving the pager early is an error of the output, not the end of the program. SIG_IGN won't do: the pager
        // would inherit it.
        signal(SIGPIPE) { _ in }
        file = popen(command, "w")
        hasFailed = file == nil
    }

    /// Waits until the person has left the pager. Ctrl-C is a key of the pager meanwhile.
    func end() {
        guard let file else { return }
        var (former, action) = (sigaction(), sigaction())
        action.__sigaction_handler.sa_handler = { _ in }
        sigaction(SIGINT, &action, &former)
        pclose(file)
        sigaction(SIGINT, &former, nil)
        self.file = nil
    }

    private func count(_ byte: UInt8) {
        // Continuations of UTF-8 take no column.
        if byte & 0xC0 != 0x80 { column += 1 }
        if byte == 0x0A || column > columns {
            lines += 1
            column = 0
        }
    }

    private static var command: String? {
        if let named = getenv("PAGER").map({ String(cString: $0) }), named.contains(where: { !$0.isWhitespace }) {
            return named == "less" ? "less -FRX" : named
        }
        let folders = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        let hasLess = folders.split(separator: ":").contains { access("\($0)/less", X_OK) == 0 }
        return hasLess ? "less -FRX" : nil
    }
}
