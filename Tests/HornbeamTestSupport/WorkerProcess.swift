// SPDX-License-Identifier: Apache-2.0
// Another process, which tests start and send commands: see Tests/StoreWorker and Tests/MirrorWorker.

import Foundation
import Glibc

/// A running worker, which is killed when the test releases it.
package final class WorkerProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    package struct Refused: Error, CustomStringConvertible {
        package let description: String
    }

    /// Starts a worker. `limits` are words of the shell that come first. With `hidesProc` the worker sees no /proc.
    package init(_ program: String = "store-worker", under limits: String? = nil, hidesProc: Bool = false) throws {
        // The program is beside the test bundle.
        let worker = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent(program)
        process.executableURL = limits == nil ? worker : URL(fileURLWithPath: "/bin/sh")
        process.arguments = limits.map { ["-c", "\($0) && exec '\(worker.path)'"] } ?? []
        if hidesProc {
            process.executableURL = URL(fileURLWithPath: Self.unshare)
            let words = [Self.hiding] + (limits.map { [$0] } ?? []) + ["exec '\(worker.path)'"]
            process.arguments = ["-m", "sh", "-c", words.joined(separator: " && ")]
        }
        process.standardInput = input
        process.standardOutput = output
        // A dead worker must not end the tests.
        signal(SIGPIPE, SIG_IGN)
        try process.run()
    }

    deinit { kill() }

    private static let unshare = "/usr/bin/unshare"
    private static let hiding = "mount -t tmpfs none /proc"

    /// Whether this process may hide /proc, which takes the right to mount.
    package static let canHideProc: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: unshare)
        process.arguments = ["-m", "sh", "-c", hiding]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// Sends a command without waiting for its answer.
    package func send(_ command: String) {
        try? input.fileHandleForWriting.write(contentsOf: Data("\(command)\n".utf8))
    }

    /// Returns the rest of the next answer. Throws if the worker refused, or has died.
    package func answer() throws -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output.fileHandleForReading.fileDescriptor, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
            line.append(byte)
        }
        let text = String(decoding: line, as: UTF8.self)
        guard text.hasPrefix("ok") else { throw Refused(description: text.isEmpty ? "it died" : text) }
        return text.dropFirst(2).trimmingCharacters(in: .whitespaces)
    }

    @discardableResult
    package func ask(_ command: String) throws -> String {
        send(command)
        return try answer()
    }

    /// Ends the worker by SIGKILL. Nothing of it runs any more when this returns.
    package func kill() {
        guard process.isRunning else { return }
        Glibc.kill(process.processIdentifier, SIGKILL)
        // Not `waitUntilExit`: that also waits for processes forked by the worker.
        for _ in 0..<10_000 where isAlive { usleep(1000) }
    }

    /// False for a zombie too, which has no open files.
    private var isAlive: Bool {
        let state = try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)
        return state.map { !$0.contains(") Z ") && !$0.contains(") X ") } ?? false
    }
}
