// SPDX-License-Identifier: Apache-2.0
// The rules of style that a program can check, as a test. They are written down only here.

import Foundation
import Testing

@Suite("Tidy")
struct TidyTests {
    /// The allowed imports of each module. Arrows point down only.
    static let layers: [String: Set<String>] = [
        "HornbeamPages": ["CHornbeamShims", "CLZ4", "CXXHash"],
        "HornbeamTree": ["HornbeamPages"],
        "HornbeamCipher": ["CCrypto", "HornbeamPages"],
        "HornbeamKeys": ["CICU"],
        "HornbeamText": ["CStemmer", "HornbeamPages", "HornbeamTree", "HornbeamKeys"],
        "HornbeamMacros": ["HornbeamMacroExpansion"],
        "HornbeamEngine": ["HornbeamPages", "HornbeamTree", "HornbeamKeys", "HornbeamText"],
        "HornbeamStatements": ["HornbeamPages", "HornbeamTree", "HornbeamKeys", "HornbeamText", "HornbeamEngine"],
        "Hornbeam": [
            "HornbeamPages", "HornbeamTree", "HornbeamKeys", "HornbeamText", "HornbeamEngine", "HornbeamStatements",
        ],
        "HornbeamPostgres": ["CPostgres", "HornbeamPages", "HornbeamTree", "HornbeamKeys", "Hornbeam"],
        "HornbeamEncryption": ["HornbeamCipher", "Hornbeam"],
        "HornbeamMapReduce": ["HornbeamPages", "HornbeamTree", "HornbeamKeys", "Hornbeam"],
        "HornbeamSecondaryIndexes": ["HornbeamPages", "HornbeamTree", "HornbeamKeys", "Hornbeam"],
        "HornbeamHandKept": ["HornbeamPages", "HornbeamTree", "HornbeamKeys", "Hornbeam"],
        "HornbeamFoundation": ["Hornbeam"],
        "HornbeamC": ["HornbeamPages", "HornbeamTree", "HornbeamCipher", "CHornbeam"],
        "hornbeam": [
            "HornbeamPages", "HornbeamTree", "HornbeamText", "HornbeamKeys", "Hornbeam", "HornbeamPostgres",
            "HornbeamCipher", "HornbeamCommand", "CHornbeam", "CCSV", "CEdit",
        ],
        "hornbeam-studio": [
            "HornbeamPages", "HornbeamTree", "HornbeamText", "Hornbeam", "HornbeamCommand", "CMicroHTTPD",
        ],
    ]

    @Test("Every file has its licence first and its purpose next")
    func header() throws {
        // The first line of a manifest is the version of the package manager.
        for file in try SourceFile.all(in: ["Sources", "Tests", "Examples", "Benchmarks/Sources", "fuzz/Sources"])
        where !file.path.hasSuffix("/Package.swift") {
            let first = file.lines.first ?? ""
            #expect(first == "// SPDX-License-Identifier: Apache-2.0", "\(file.path)")
            let second = file.lines.count > 1 ? file.lines[1] : ""
            #expect(second.hasPrefix("// "), "\(file.path): the second line says what the file is")
        }
    }

    private func version() throws -> String {
        let header = try text(of: "Sources/CHornbeam/include/hornbeam.h")
        return String(try #require(header.firstMatch(of: #/#define HB_VERSION "([0-9.]+)"/#)?.1))
    }

    @Test("The header's version is the changelog's newest")
    func changelogsVersion() throws {
        let changelog = try text(of: "CHANGELOG.md")
        let newest = try #require(changelog.firstMatch(of: #/\n## ([0-9.]+)/#)?.1)
        #expect(try version() == newest)
    }

    @Test("Command, library and package file take the version from the header, and a stored file has it")
    func oneVersion() throws {
        let version = try version()
        for file in try SourceFile.all(in: ["Sources"]) {
            #expect(!file.lines.contains { $0.contains("\"\(version)\"") }, "\(file.path) has a version of its own")
        }
        for path in ["Makefile", "Scripts/install.sh"] {
            #expect(try !text(of: path).contains(version), "\(path) has a version of its own")
        }
        for name in ["\(version).hornbeam", "\(version)-killed.hornbeam"] {
            let path = SourceFile.root.appendingPathComponent("Tests/HornbeamTests/StoredFiles/\(name)").path
            #expect(FileManager.default.fileExists(atPath: path), "StoredFileTests says how to write \(name)")
        }
    }

    private func text(of path: String) throws -> String {
        try String(contentsOf: SourceFile.root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test("No line is longer than 120 columns")
    func columns() throws {
        for file in try SourceFile.all(in: ["Sources", "Tests", "Examples", "Benchmarks/Sources", "fuzz/Sources"]) {
            // Golden text is the macro's output, which may have any width.
            guard !file.path.hasSuffix("EntityModelMacroTests.swift") else { continue }
            for (number, line) in file.lines.enumerated() where line.count > 120 {
                Issue.record("\(file.path):\(number + 1) has \(line.count) columns")
            }
        }
    }

    @Test("No function is longer than 70 lines, no file longer than 600")
    func sizes() throws {
        for file in try SourceFile.all(in: ["Sources", "Examples"]) {
            #expect(file.lines.count <= 600, "\(file.path) has \(file.lines.count) lines")
            for function in file.functions where function.length > 70 {
                Issue.record("\(file.path):\(function.line) is a function of \(function.length) lines")
            }
        }
    }

    @Test(
        "Sources never trap on purpose and leave nothing for later",
        arguments: ["try!", "fatalError(", " as! ", "TODO", "FIXME", "XXX", "DispatchQueue.main"])
    func banned(_ word: String) throws {
        for file in try SourceFile.all(in: ["Sources"]) {
            for (number, line) in file.lines.enumerated() where line.contains(word) {
                Issue.record("\(file.path):\(number + 1) has “\(word)”")
            }
        }
    }

    @Test("A library does not print")
    func printing() throws {
        for file in try SourceFile.all(in: ["Sources"]) where !file.path.contains("Sources/hornbeam/") {
            for (number, line) in file.lines.enumerated() {
                let code = line.trimmingCharacters(in: .whitespaces)
                guard !code.hasPrefix("//"), code.hasPrefix("print(") || code.contains(" print(") else { continue }
                Issue.record("\(file.path):\(number + 1) prints")
            }
        }
    }

    @Test("Imports follow the layers")
    func imports() throws {
        for (module, allowed) in Self.layers {
            for file in try SourceFile.all(in: ["Sources/\(module)"]) {
                for imported in file.imports where imported.hasPrefix("Hornbeam") || imported.hasPrefix("C") {
                    #expect(allowed.contains(imported), "\(file.path) imports \(imported)")
                }
            }
        }
    }

    @Test("Names of tests are sentences, without codes of a list")
    func testNames() throws {
        let code = /@(?:Test|Suite)\(\s*"[A-Z]{1,2}[0-9]+\b/
        for file in try SourceFile.all(in: ["Tests"]) {
            for (number, line) in file.lines.enumerated() where line.contains(code) {
                Issue.record("\(file.path):\(number + 1) begins with a code: say what is true")
            }
        }
    }

    @Test("One word for one thing", arguments: ["freelist", "free list", "overflow page", "meta page"])
    func glossary(_ synonym: String) throws {
        for file in try SourceFile.all(in: ["Sources"]) {
            for (number, line) in file.lines.enumerated() where line.lowercased().contains(synonym) {
                Issue.record("\(file.path):\(number + 1) says “\(synonym)”: see the glossary in Docs/architecture.md")
            }
        }
    }
}

/// A Swift file of the repository.
struct SourceFile {
    let path: String
    let lines: [String]

    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func all(in folders: [String]) throws -> [SourceFile] {
        try folders.flatMap { folder -> [SourceFile] in
            let start = root.appendingPathComponent(folder)
            guard let walker = FileManager.default.enumerator(at: start, includingPropertiesForKeys: nil) else {
                return []
            }
            return try walker.compactMap { $0 as? URL }
                .filter { $0.pathExtension == "swift" && !$0.path.contains("/.build/") }
                .map { url in
                    let text = try String(contentsOf: url, encoding: .utf8)
                    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
                    return SourceFile(path: String(url.path.dropFirst(root.path.count + 1)), lines: lines)
                }
        }
    }

    /// The modules it imports.
    var imports: [String] {
        lines.compactMap { line in
            let words = line.split(separator: " ")
            guard let index = words.firstIndex(of: "import"), index + 1 < words.count, !line.hasPrefix("//"),
                words[..<index].allSatisfy({ ["public", "package", "internal"].contains($0) || $0.hasPrefix("@") })
            else { return nil }
            return String(words[index + 1])
        }
    }

    /// Functions and initialisers, with the number of lines from the first to the closing brace, found by
    /// indentation, which the formatter guarantees.
    var functions: [(line: Int, length: Int)] {
        var found: [(Int, Int)] = []
        for (start, line) in lines.enumerated() {
            let code = line.drop { $0 == " " }
            guard !code.hasPrefix("//"), code.contains("func ") || code.hasPrefix("init(") || code.contains(" init("),
                !(code.hasSuffix("}") && code.contains("{"))
            else { continue }
            let closing = String(repeating: " ", count: line.count - code.count) + "}"
            guard let end = lines[start...].firstIndex(where: { $0 == closing }) else { continue }
            let next = lines[(start + 1)...].firstIndex { $0.hasPrefix(closing.dropLast() + "func ") } ?? lines.endIndex
            if end < next { found.append((start + 1, end - start + 1)) }
        }
        return found
    }
}
