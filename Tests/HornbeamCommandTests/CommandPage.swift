// SPDX-License-Identifier: Apache-2.0
// Docs/command.md as a script: its files, its commands and their output.

import Foundation

struct CommandPage {
    /// A command line of the page and the output under it.
    struct Example {
        var line: Int
        var command: String
        var output: String
    }

    /// Contents of the files that the page shows: a fence right after a line that ends with "`name`:".
    private(set) var files: [(name: String, text: String)] = []
    private(set) var examples: [Example] = []

    init() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appendingPathComponent("Docs/command.md"), encoding: .utf8)
        var fence: String?
        var name: String?
        var text = ""
        for (number, line) in page.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("```") {
                if let fence, fence == "console" {
                    read(text, from: number)
                } else if fence != nil, let name {
                    files.append((name, text))
                }
                fence = fence == nil ? String(line.dropFirst(3)) : nil
                if fence == nil { name = nil }
                text = ""
            } else if fence != nil {
                text += line + "\n"
            } else if !line.isEmpty {
                name = line.firstMatch(of: /`([^`]+)`:$/).map { String($0.1) }
            }
        }
    }

    private mutating func read(_ text: String, from line: Int) {
        for part in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if part.hasPrefix("$ ") {
                examples.append(Example(line: line, command: String(part.dropFirst(2)), output: ""))
            } else if !examples.isEmpty {
                examples[examples.count - 1].output += part + "\n"
            }
        }
        // The text before the closing fence ends with a newline of its own.
        if let last = examples.indices.last, examples[last].output.hasSuffix("\n") {
            examples[last].output.removeLast()
        }
    }

    /// The text with everything replaced that differs from run to run: times, sizes of files, numbers of transactions.
    static func withoutMeasures(_ text: String) -> String {
        text.replacing(/[0-9.,]+ (µs|ms|s)\b/, with: "TIME").replacing(/[0-9.,]+ (bytes|kB|MB)/, with: "SIZE")
            .replacing(/transaction +[0-9]+, checkpoint [0-9]+/, with: "transaction")
    }
}
