// SPDX-License-Identifier: Apache-2.0
// The statements that a person has typed, in a file of their own, which nobody else may read. Each is a line, with
// `\n` for a line end within it and `\\` for a backslash. Shells that run at the same time add to one file.

import Glibc
import Hornbeam

struct History {
    /// Maximum number of entries that are read back.
    private static let limit = 1_000

    private let path: String

    /// The file of the person who runs the command: `hornbeam/history` in $XDG_STATE_HOME, else ~/.hornbeam_history.
    /// Returns nil if the environment names no folder.
    init?() {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        if let state = variable("XDG_STATE_HOME") {
            mkdir(state, 0o700)
            mkdir(state + "/hornbeam", 0o700)
            path = state + "/hornbeam/history"
        } else if let home = variable("HOME") {
            path = home + "/.hornbeam_history"
        } else {
            return nil
        }
    }

    init(path: String) { self.path = path }

    /// The newest entries, oldest first. A file with more than four times as many is cut to these entries.
    func entries() throws -> [String] {
        guard access(path, F_OK) == 0 else { return [] }
        var reader = try LineReader.open(path)
        var all: [String] = []
        while let line = try reader.next() { all.append(Self.decoded(String(decoding: line, as: UTF8.self))) }
        let newest = Array(all.suffix(Self.limit))
        if all.count > 4 * Self.limit {
            let partial = path + ".new"
            try write(newest, to: partial, O_TRUNC)
            guard rename(partial, path) == 0 else { throw failure("rename", path) }
        }
        return newest
    }

    /// Adds an entry at the end.
    func add(_ entry: String) throws { try write([entry], to: path, O_APPEND) }

    private func write(_ entries: [String], to path: String, _ flag: Int32) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flag, 0o600)
        guard descriptor >= 0 else { throw failure("open", path) }
        defer { close(descriptor) }
        // One call, so that the lines of two shells don't mix. A file that was there before may have another mode.
        guard fchmod(descriptor, 0o600) == 0 else { throw failure("fchmod", path) }
        var text = entries.map { Self.encoded($0) + "\n" }.joined()
        let count = text.utf8.count
        let written = text.withUTF8 { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard written == count else { throw failure("write", path) }
    }

    private func failure(_ operation: String, _ path: String) -> CommandError {
        CommandError("the history isn't kept: \(operation) \(path): \(String(cString: strerror(errno)))")
    }

    static func encoded(_ entry: String) -> String {
        entry.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }

    static func decoded(_ line: String) -> String {
        var result = ""
        var isEscaped = false
        for character in line {
            if isEscaped {
                result.append(character == "n" ? "\n" : character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else {
                result.append(character)
            }
        }
        return result
    }
}
