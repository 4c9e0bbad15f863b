// SPDX-License-Identifier: Apache-2.0
// A folder that goes with the test.

import Glibc

/// Gives `body` the path of an empty folder and removes it afterwards.
func withTemporaryFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
    var template = Array("/tmp/hornbeam-tree-XXXXXX".utf8CString)
    let made: String? = template.withUnsafeMutableBufferPointer { buffer in
        guard let start = buffer.baseAddress, mkdtemp(start) != nil else { return nil }
        return String(cString: start)
    }
    guard let path = made else { throw TemporaryFolderError(code: errno) }
    defer { remove(path) }
    return try body(path)
}

struct TemporaryFolderError: Error { var code: Int32 }

private func remove(_ folder: String) {
    if let entries = opendir(folder) {
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { unlink(folder + "/" + name) }
        }
        closedir(entries)
    }
    rmdir(folder)
}
