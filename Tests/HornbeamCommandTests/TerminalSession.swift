// SPDX-License-Identifier: Apache-2.0
// The command at a pseudo-terminal of its own: a test types, and reads the screen.

import Foundation
import Glibc
import HornbeamTestSupport
import Testing

/// A command that takes the pseudo-terminal for its controlling one, so that Ctrl-C is a signal.
final class TerminalSession {
    private let terminal: PseudoTerminal
    private let process = Process()
    /// All that was printed and not yet read.
    private var screen: [UInt8] = []

    /// - Parameter home: the person's folder, where the history and .editrc are.
    init(_ words: [String], home: String, rows: UInt16 = 24, environment: [String: String] = [:]) throws {
        terminal = try PseudoTerminal()
        var size = winsize(ws_row: rows, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0)
        try #require(ioctl(terminal.slave.fileDescriptor, UInt(TIOCSWINSZ), &size) == 0)
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setsid")
        process.arguments = ["--ctty", "--wait", CommandRun.binary.path] + words
        process.environment = ["HOME": home, "TERM": "xterm", "PATH": "/usr/bin:/bin", "PAGER": "cat", "NO_COLOR": "1"]
            .merging(environment) { $1 }
        process.standardInput = terminal.slave
        process.standardOutput = terminal.slave
        process.standardError = terminal.slave
        try process.run()
    }

    deinit { if process.isRunning { process.terminate() } }

    /// Sends keys as a person does.
    func type(_ keys: String) {
        var keys = keys
        keys.withUTF8 { bytes in _ = write(terminal.master, bytes.baseAddress, bytes.count) }
    }

    /// Waits until the screen shows a text, twenty seconds at most, and returns what was printed up to it.
    @discardableResult
    func read(until text: String) throws -> String {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        _ = fcntl(terminal.master, F_SETFL, O_NONBLOCK)
        for _ in 0..<2_000 {
            let shown = String(decoding: screen, as: UTF8.self).replacing("\r\n", with: "\n")
            if let found = shown.firstRange(of: text) {
                screen = Array(shown[found.upperBound...].utf8)
                return String(shown[..<found.upperBound])
            }
            let count = Glibc.read(terminal.master, &bytes, bytes.count)
            if count > 0 { screen += bytes.prefix(count) } else { usleep(10_000) }
        }
        let shown = String(decoding: screen, as: UTF8.self)
        throw Missing(text: text, screen: shown)
    }

    /// Types a line and returns what the shell prints before its next prompt.
    func answer(_ line: String) throws -> String {
        type(line + "\n")
        let shown = try read(until: "\nhornbeam> ")
        return shown.split(separator: "\n").dropFirst().dropLast().joined(separator: "\n")
    }

    /// Waits until the typed line is taken, at most twenty seconds: while it is edited, the terminal hands on each key.
    func waitUntilItWorks() throws {
        for _ in 0..<2_000 {
            var settings = termios()
            if tcgetattr(terminal.slave.fileDescriptor, &settings) == 0, settings.c_lflag & tcflag_t(ICANON) != 0 {
                return
            }
            usleep(10_000)
        }
        throw Missing(text: "a terminal whose line was taken", screen: String(decoding: screen, as: UTF8.self))
    }

    /// Takes the terminal away.
    func hangUp() { terminal.hangUp() }

    /// The exit code, once it has ended.
    func wait() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }

    struct Missing: Error {
        var text: String
        var screen: String
    }
}
