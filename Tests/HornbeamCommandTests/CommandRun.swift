// SPDX-License-Identifier: Apache-2.0
// Runs the built command as a user would, and keeps its output.

import Foundation
import Glibc
import HornbeamTestSupport
import Testing

struct CommandRun {
    var output: String
    var errors: String
    var code: Int32

    /// The binary is beside the test bundle.
    static let binary = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("hornbeam")

    /// Runs `hornbeam` with these words.
    init(_ words: [String], input: String = "", errorsTo terminal: FileHandle? = nil) throws {
        try self.init(Self.binary, words, input: input, errorsTo: terminal)
    }

    /// Runs a line of shell in `folder`; `hornbeam` in it is the built one.
    init(shell line: String, in folder: String) throws {
        let path = "\(Self.binary.deletingLastPathComponent().path):/usr/bin:/bin"
        try self.init(
            URL(fileURLWithPath: "/bin/sh"), ["-c", "cd '\(folder)' && PATH='\(path)' && \(line)"], input: "",
            errorsTo: nil)
    }

    /// Output goes through files, so that no pipe can fill up.
    private init(_ executable: URL, _ words: [String], input: String, errorsTo terminal: FileHandle?) throws {
        let folder = try TemporaryFolder()
        let process = Process()
        process.executableURL = executable
        process.arguments = words
        process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: try folder.write("in", input)))
        process.standardOutput = try Self.file(folder, "out")
        process.standardError = try terminal ?? Self.file(folder, "err")
        try process.run()
        process.waitUntilExit()
        output = try folder.read("out")
        errors = terminal == nil ? try folder.read("err") : ""
        code = process.terminationStatus
    }

    init(_ words: String..., input: String = "") throws {
        try self.init(words, input: input)
    }

    static func file(_ folder: TemporaryFolder, _ name: String) throws -> FileHandle {
        try FileHandle(forWritingTo: URL(fileURLWithPath: try folder.write(name, "")))
    }
}

/// A pseudo-terminal; bytes written to `slave` can be read back.
final class PseudoTerminal {
    private(set) var master: Int32
    let slave: FileHandle

    init() throws {
        // Glibc's module hides posix_openpt and its kin; these are Linux's own requests: unlock, number of the slave.
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var locked: Int32 = 0
        var number: UInt32 = 0
        try #require(
            master >= 0 && ioctl(master, 0x4004_5431, &locked) == 0 && ioctl(master, 0x8004_5430, &number) == 0)
        let name = "/dev/pts/\(number)"
        slave = FileHandle(fileDescriptor: open(name, O_RDWR | O_NOCTTY), closeOnDealloc: true)
    }

    deinit { hangUp() }

    /// Closes the terminal's end of the line.
    func hangUp() {
        if master >= 0 { close(master) }
        master = -1
    }

    /// All output so far, a whole number of lines: the kernel passes it on a moment after it was written.
    func read() -> String {
        var all: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        _ = fcntl(master, F_SETFL, O_NONBLOCK)
        for _ in 0..<200 {
            let count = Glibc.read(master, &bytes, bytes.count)
            all += bytes.prefix(max(0, count))
            if count <= 0, all.last == UInt8(ascii: "\n") { break }
            if count <= 0 { usleep(10_000) }
        }
        return String(decoding: all, as: UTF8.self)
    }
}

/// A command that is still running.
final class RunningCommand {
    private let folder: TemporaryFolder
    private let process = Process()

    init(_ words: [String], input: Pipe) throws {
        folder = try TemporaryFolder()
        process.executableURL = CommandRun.binary
        process.arguments = words
        process.standardInput = input
        process.standardOutput = try CommandRun.file(folder, "out")
        process.standardError = try CommandRun.file(folder, "err")
        try process.run()
    }

    deinit { if process.isRunning { process.terminate() } }

    /// Until the process sleeps in a read of its standard input, twenty seconds at most.
    func waitUntilItReads() throws {
        for _ in 0..<2_000 {
            // The number of the system call and its first argument: 0 is read on x86-64, 63 on arm64; descriptor 0.
            let call = try? String(contentsOfFile: "/proc/\(process.processIdentifier)/syscall", encoding: .utf8)
            if let call, call.hasPrefix("0 0x0 ") || call.hasPrefix("63 0x0 ") { return }
            usleep(10_000)
        }
        Issue.record("the command never waited for input")
    }

    func interrupt() { Glibc.kill(process.processIdentifier, SIGINT) }
    func hangUp() { Glibc.kill(process.processIdentifier, SIGHUP) }
    func kill() { Glibc.kill(process.processIdentifier, SIGKILL) }

    func wait() throws -> (output: String, errors: String, code: Int32) {
        process.waitUntilExit()
        return (try folder.read("out"), try folder.read("err"), process.terminationStatus)
    }
}
