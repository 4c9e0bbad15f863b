// SPDX-License-Identifier: Apache-2.0
// A folder for one test, gone with it. Whoever passes its path on must hold it until the last use of the path:
// `defer { folder.keep() }`.

import Foundation

final class TemporaryFolder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "/hornbeam-command-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Holds the folder up to here.
    func keep() {}

    /// Writes a file and returns its path.
    func write(_ name: String, _ text: String) throws -> String {
        let file = "\(path)/\(name)"
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        return file
    }

    func read(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")), as: UTF8.self)
    }
}
