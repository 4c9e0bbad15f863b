// SPDX-License-Identifier: Apache-2.0
// The system's counts for this process.

import Foundation

package enum Machine {
    /// Returns the number after a word at the beginning of a line.
    private static func number(_ word: String, in path: String) -> Int {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return 0 }
        for line in text.split(separator: "\n") where line.hasPrefix(word) {
            return line.dropFirst(word.count).split(whereSeparator: { " \t:k".contains($0) }).first.flatMap { Int($0) }
                ?? 0
        }
        return 0
    }

    /// Bytes that this process has given to calls that write, and the number of those calls.
    package static var written: (bytes: Int, calls: Int) {
        (number("wchar", in: "/proc/self/io"), number("syscw", in: "/proc/self/io"))
    }

    /// Resident memory that isn't backed by files, and memory that is.
    package static var resident: (anonymous: Int, mapped: Int) {
        (number("RssAnon", in: "/proc/self/status") << 10, number("RssFile", in: "/proc/self/status") << 10)
    }

    /// Returns the bytes of a file, or of all files in a folder.
    package static func size(of path: String) -> Int {
        var information = stat()
        guard stat(path, &information) == 0 else { return 0 }
        guard information.st_mode & S_IFMT == S_IFDIR else { return Int(information.st_blocks) * 512 }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.reduce(0) { $0 + size(of: path + "/" + $1) }
    }

    /// Writes all cached pages back and drops them from memory. Returns false if only root may do that.
    package static func dropCaches() -> Bool {
        sync()
        let descriptor = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return write(descriptor, "1\n", 2) == 2
    }
}
