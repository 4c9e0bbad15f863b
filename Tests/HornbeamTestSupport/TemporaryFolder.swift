// SPDX-License-Identifier: Apache-2.0
// A folder for the files of one test. It is removed with its content when the test releases it, so code that passes
// on its path must hold it until the path's last use: `defer { folder.keep() }`.

import Foundation

package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "hornbeam-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Keeps the folder alive up to this call.
    package func keep() {}

    /// Returns the path of a file in it.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Returns the names of the files in it, sorted.
    package func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

    /// Writes a file and returns its path.
    @discardableResult
    package func write(_ name: String, _ text: String) throws -> String { try write(name, Array(text.utf8)) }

    @discardableResult
    package func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
        return path(name)
    }

    package func read(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: path(name))), as: UTF8.self)
    }
}
