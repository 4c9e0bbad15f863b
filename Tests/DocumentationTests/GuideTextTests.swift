// SPDX-License-Identifier: Apache-2.0
// Each guide of the documentation catalogue has a test of the same name: the guide's code must be in it.

import Foundation
import Testing

@Suite("The text of the guides")
struct GuideTextTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let catalogue = root.appending(path: "Sources/Hornbeam/Hornbeam.docc")

    static let guides = [
        "GettingStarted", "ModelingEntities", "RelatingEntities", "QueryingEntities", "FullText", "ChoosingIndexes",
        "ObservingChanges", "Transactions", "MigratingModels", "TestingWithHornbeam", "PerformanceAndSizing",
        "OperatingAStore", "MonitoringAStore", "ComingFromGRDB", "ComingFromSwiftData", "ComingFromRealm",
        "ComingFromCouchbaseLite", "ComingFromSwiftletModel", "ComingFromYapDatabase",
    ]

    /// The names of tests that differ from their guides', and the words of guides that may be longer.
    private static let tests = ["RelatingEntities": "Relations", "QueryingEntities": "Queries", "FullText": "Queries"]
    private static let longer = ["QueryingEntities": 1700, "FullText": 1700]

    /// Returns the lines of a text without indentation and without `private`, which only tests need.
    private func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map { line in
            line.trimmingCharacters(in: .whitespaces).replacing("fileprivate ", with: "").replacing(
                "private ", with: "")
        }
    }

    @Test("Each line of a guide's Swift code, but the names of files, is in its test", arguments: guides)
    func code(_ guide: String) throws {
        let text = try String(contentsOf: Self.catalogue.appending(path: "\(guide).md"), encoding: .utf8)
        let test = Self.root.appending(path: "Tests/DocumentationTests/\(Self.tests[guide] ?? guide)Tests.swift")
        let compiled = Set(lines(try String(contentsOf: test, encoding: .utf8)))
        for block in text.split(separator: "```swift\n").dropFirst() {
            guard let code = block.split(separator: "\n```").first else { continue }
            for line in lines(String(code)) where !line.contains(".hornbeam\"") && !compiled.contains(line) {
                Issue.record("\(guide).md has a line that its test lacks: \(line)")
            }
        }
    }

    @Test("A guide is short, and the landing page leads to it", arguments: guides)
    func size(_ guide: String) throws {
        let text = try String(contentsOf: Self.catalogue.appending(path: "\(guide).md"), encoding: .utf8)
        let words = text.split(whereSeparator: \.isWhitespace).count
        #expect(words <= (Self.longer[guide] ?? (guide.hasPrefix("ComingFrom") ? 600 : 900)))
        let landing = try String(contentsOf: Self.catalogue.appending(path: "Hornbeam.md"), encoding: .utf8)
        #expect(landing.contains("- <doc:\(guide)>"))
    }
}
