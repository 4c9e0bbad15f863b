// SPDX-License-Identifier: Apache-2.0
// Arrows between the folders of a module point down, like those between modules. The order is in
// Docs/architecture.md, in the table of folders, lowest first.

import Foundation
import Testing

@Suite("Folders")
struct FolderOrderTests {
    /// Files allowed beside the folders of a module: its re-exports, and the start of a program.
    private static let alone = ["/Exports.swift", "/main.swift"]

    /// Returns the folders of each module in the table, lowest first.
    private static func order() throws -> [String: [String]] {
        let url = SourceFile.root.appendingPathComponent("Docs/architecture.md")
        var order: [String: [String]] = [:]
        for line in try String(contentsOf: url, encoding: .utf8).split(separator: "\n") {
            guard let row = line.firstMatch(of: /^\| `([Hh]ornbeam\w*)\/(\w+)` \|/) else { continue }
            order[String(row.1), default: []].append(String(row.2))
        }
        return order
    }

    @Test("use only those before them in Docs/architecture.md")
    func arrows() throws {
        let order = try Self.order()
        #expect(order.count == 8)
        for (module, folders) in order {
            let files = try SourceFile.all(in: ["Sources/\(module)"]).map { CodeWords($0) }
            var owners: [String: Set<String>] = [:]
            for file in files {
                let isPlaced = folders.contains(file.folder) || Self.alone.contains { file.path.hasSuffix($0) }
                #expect(isPlaced, "\(file.path) is in no folder of Docs/architecture.md")
                for name in file.declared { owners[name, default: []].insert(file.path) }
            }
            let folderOf = Dictionary(files.map { ($0.path, $0.folder) }) { first, _ in first }
            for file in files {
                guard let own = folders.firstIndex(of: file.folder) else { continue }
                for (name, line) in file.used {
                    // If several files declare a name, it doesn't determine the folder.
                    guard let paths = owners[name], paths.count == 1, let path = paths.first,
                        let folder = folderOf[path], let place = folders.firstIndex(of: folder), place > own
                    else { continue }
                    let uses = "\(file.path):\(line) uses \(name) of \(folder), which comes after \(file.folder)"
                    Issue.record("\(uses) in the table: move this to a later folder, or that to an earlier one")
                }
            }
        }
    }

    @Test("are determined from unindented declarations, not from comments and texts")
    func words() {
        let file = SourceFile(
            path: "Sources/M/Folder/Sub/A.swift",
            lines: [
                "// Comment", "package struct Alpha: Beta {", "    let text = \"Gamma \\\" Delta\" + Epsilon.x // Zeta",
                "    struct Inner {}", "    let block = \"\"\"", "        Eta", "        \"\"\"", "}",
            ])
        let words = CodeWords(file)
        #expect(words.folder == "Folder")
        #expect(words.declared == ["Alpha"])
        #expect(Set(words.used.map(\.name)) == ["Alpha", "Beta", "Epsilon", "Inner"])
    }
}

/// The capitalised words of a file's code.
private struct CodeWords {
    let path: String
    /// The folder below the module; empty for a file of the module's own folder.
    let folder: String
    /// Types that are declared outside of others.
    private(set) var declared: Set<String> = []
    private(set) var used: [(name: String, line: Int)] = []

    private static let keywords: Set<Substring> = ["struct", "class", "enum", "protocol", "actor", "typealias"]

    init(_ file: SourceFile) {
        path = file.path
        let parts = file.path.split(separator: "/")
        folder = parts.count > 3 ? String(parts[2]) : ""
        var isInText = false
        for (number, line) in file.lines.enumerated() {
            // A text of several lines.
            if line.contains("\"\"\"") {
                isInText.toggle()
                continue
            }
            if isInText { continue }
            var before: Substring?
            for word in Self.words(of: line) {
                if word.first?.isUppercase == true { used.append((String(word), number + 1)) }
                if let before, Self.keywords.contains(before), line.first?.isWhitespace == false {
                    declared.insert(String(word))
                }
                before = word
            }
        }
    }

    /// Returns the words outside of comments and texts.
    private static func words(of line: String) -> [Substring] {
        var words: [Substring] = []
        var start: String.Index?
        var place = line.startIndex
        var isInText = false
        func end(_ place: String.Index) {
            if let first = start { words.append(line[first..<place]) }
            start = nil
        }
        while place < line.endIndex {
            let character = line[place]
            if isInText {
                if character == "\\" { place = line.index(after: place) }
                if character == "\"" { isInText = false }
                if place == line.endIndex { break }
            } else if character.isLetter || character.isNumber || character == "_" {
                if start == nil { start = place }
            } else {
                end(place)
                isInText = character == "\""
                if character == "/", line[place...].hasPrefix("//") { return words }
            }
            place = line.index(after: place)
        }
        end(line.endIndex)
        return words
    }
}
