// SPDX-License-Identifier: Apache-2.0
// What the system counts for this process.

import Foundation

package enum Machine {
    /// The number behind a word at the head of a line.
    private static func number(_ word: String, in path: String) -> Int {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return 0 }
        for line in text.split(separator: "\n") where line.hasPrefix(word) {
            return line.dropFirst(word.count).split(whereSeparator: { " \t:k".contains($0) }).first.flatMap { Int($0) }
                ?? 0
        }
        return 0
    }

    /// Bytes that this process has handed to calls that write, and the number of those calls.
    package static var written: (bytes: Int, calls: Int) {
        (number("wchar", in: "/proc/self/io"), number("syscw", in: "/proc/self/io"))
    }

    /// Memory that no file backs, and memory that files back.
    package static var resident: (anonymous: Int, mapped: Int) {
        (number("RssAnon", in: "/proc/self/status") << 10, number("RssFile", in: "/proc/self/status") << 10)
    }

    /// Bytes of a file, or of all files in a folder.
    package static func size(of path: String) -> Int {
        var information = stat()
        guard stat(path, &information) == 0 else { return 0 }
        guard information.st_mode & S_IFMT == S_IFDIR else { return Int(information.st_blocks) * 512 }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.reduce(0) { $0 + size(of: path + "/" + $1) }
    }

    /// Writes everything back and drops it from memory; false where only root may.
    package static func dropCaches() -> Bool {
        sync()
        let descriptor = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return write(descriptor, "1\n", 2) == 2
    }
}
