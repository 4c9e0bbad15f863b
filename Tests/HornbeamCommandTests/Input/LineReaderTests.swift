// SPDX-License-Identifier: Apache-2.0
// Lines of files: ends of all kinds, sizes around the reader's chunks.

import Foundation
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamCommand

@Suite("Reading lines")
struct LineReaderTests {
    private func lines(_ text: String, keepsEnds: Bool = false) throws -> [String] {
        let folder = try TemporaryFolder()
        let path = try folder.write("lines", text)
        var reader = try LineReader.open(path, keepsEnds: keepsEnds)
        var result: [String] = []
        while let line = try reader.next() { result.append(String(decoding: line, as: UTF8.self)) }
        #expect(reader.bytesRead == UInt64(text.utf8.count))
        #expect(reader.lineNumber == UInt64(result.count))
        #expect(reader.fileSize == (text.isEmpty ? nil : UInt64(text.utf8.count)))
        return result
    }

    @Test("the last line needs no end, and both kinds of ends are understood")
    func ends() throws {
        #expect(try lines("") == [])
        #expect(try lines("\n") == [""])
        #expect(try lines("a") == ["a"])
        #expect(try lines("a\n") == ["a"])
        #expect(try lines("a\r\nb\n\nc") == ["a", "b", "", "c"])
    }

    @Test("lines that keep their ends may end with a carriage return alone")
    func keptEnds() throws {
        #expect(try lines("a\rb\r\nc\n\r\rd", keepsEnds: true) == ["a\r", "b\r\n", "c\n", "\r", "\r", "d"])
        #expect(try lines("a\r", keepsEnds: true) == ["a\r"])
        // The two bytes of an end, on both sides of a chunk's.
        let long = String(repeating: "x", count: 262_143)
        #expect(try lines("\(long)\r\nb", keepsEnds: true) == ["\(long)\r\n", "b"])
    }

    @Test("lines of all sizes around a chunk come whole", arguments: [1, 7, 262_143, 262_144, 262_145, 600_000])
    func sizes(size: Int) throws {
        let long = String(repeating: "x", count: size)
        #expect(try lines("a\n\(long)\nb\n\(long)") == ["a", long, "b", long])
    }

    @Test("a file that isn't there is an error that names it")
    func missing() {
        #expect(throws: StorageError.io(operation: "open", path: "/nowhere/x", errno: ENOENT)) {
            _ = try LineReader.open("/nowhere/x")
        }
    }
}
