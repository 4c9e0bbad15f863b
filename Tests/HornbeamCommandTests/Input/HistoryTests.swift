// SPDX-License-Identifier: Apache-2.0
// The history of a shell: what is kept, and who may read it.

import Foundation
import HornbeamTestSupport
import Testing

@testable import HornbeamCommand

@Suite("The history of a shell")
struct HistoryTests {
    @Test("entries come back as they were, also with line ends and backslashes")
    func entries() throws {
        let folder = try TemporaryFolder()
        let history = History(path: folder.path + "/history")
        #expect(try history.entries().isEmpty)
        let entries = ["SELECT 1;", "SELECT a\nFROM T;", #"SELECT '\n\\';"#, "größe 日本"]
        for entry in entries { try history.add(entry) }
        #expect(try history.entries() == entries)
        #expect(try folder.read("history").split(separator: "\n").count == entries.count, "each is a line")
    }

    @Test("nobody else may read it, also if the file was there before")
    func mode() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("history", "SELECT 0;\n")
        chmod(path, 0o644)
        try History(path: path).add("SELECT 1;")
        var information = stat()
        #expect(stat(path, &information) == 0 && information.st_mode & 0o777 == 0o600)
        #expect(try History(path: path).entries() == ["SELECT 0;", "SELECT 1;"])
    }

    @Test("a file that has grown is cut to its newest entries")
    func limit() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("history", (1...5_000).map { "SELECT \($0);\n" }.joined())
        #expect(try History(path: path).entries().count == 1_000)
        #expect(try folder.read("history").hasPrefix("SELECT 4001;\n"))
        #expect(try folder.names() == ["history"])
    }
}
