// SPDX-License-Identifier: Apache-2.0
// Code that the types forbid does not compile, and the message says why. The programs are in Refused/: a comment `//
// refused: text` is above each line that must be refused with this text in the message. Without the conditions, these
// files contain the right code instead, and compile.

import Foundation
import Testing

@Suite("The compiler")
struct RefusalTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Refused")

    private static func files() throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "swift" }.sorted { $0.path < $1.path }
    }

    @Test("accepts right code")
    func controls() throws {
        let check = try TypeCheck(Self.files())
        #expect(check.refusals.isEmpty && check.isAccepted, "\(check.output)")
    }

    /// Type errors keep the compiler from searching for lifetime errors, so the latter have a run of their own.
    @Test("refuses wrong code, with these words", arguments: ["REFUSED", "REFUSED_IN_FLOW"])
    func refusals(_ condition: String) throws {
        let check = try TypeCheck(Self.files(), conditions: [condition])
        var left = check.refusals
        let expected = try Self.files().flatMap { try Expectation.all(in: $0, condition: condition) }
        #expect(!expected.isEmpty)
        for expectation in expected {
            if let met = left.firstIndex(where: expectation.isMet) {
                left.remove(at: met)
            } else {
                let there = check.refusals.filter { ($0.file, $0.line) == (expectation.file, expectation.line) }
                Issue.record("\(expectation) isn't the refusal, but \(there)")
            }
        }
        // An error in one line may have consequences in the same declaration.
        let known = Set(expected.map { "\($0.file):\($0.line)" })
        let others = left.filter { !known.contains("\($0.file):\($0.line)") }
        #expect(others == [], "these nobody expects")
    }
}

/// A `// refused:` comment.
private struct Expectation: CustomStringConvertible {
    let file: String
    /// The refused line: the next line that is no such comment.
    let line: Int
    let text: String

    var description: String { "\(file):\(line) \(text)" }

    func isMet(by refusal: Refusal) -> Bool {
        refusal.file == file && refusal.line == line && refusal.message.contains(text)
    }

    /// Returns the expectations under `#if condition`.
    static func all(in file: URL, condition: String) throws -> [Expectation] {
        var found: [Expectation] = []
        var waiting: [String] = []
        var isCounted = false
        let lines = try String(contentsOf: file, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() {
            let code = line.trimmingCharacters(in: .whitespaces)
            if code.hasPrefix("#") {
                isCounted = code == "#if \(condition)"
            } else if code.hasPrefix("// refused: ") {
                if isCounted { waiting.append(String(code.dropFirst("// refused: ".count))) }
            } else {
                found += waiting.map { Expectation(file: file.lastPathComponent, line: number + 1, text: $0) }
                waiting = []
            }
        }
        return found
    }
}
