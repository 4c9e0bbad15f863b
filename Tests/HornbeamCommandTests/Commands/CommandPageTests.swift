// SPDX-License-Identifier: Apache-2.0
// The manual page of the command is right: every example is run, in order, and prints the output shown there.

import Foundation
import HornbeamTestSupport
import Testing

@Suite("Docs/command.md")
struct CommandPageTests {
    @Test("every example prints what the page shows")
    func examples() throws {
        let page = try CommandPage()
        #expect(page.examples.count >= 15 && page.files.count >= 3)
        let folder = try TemporaryFolder()
        for file in page.files { _ = try folder.write(file.name, file.text) }
        for example in page.examples {
            let run = try CommandRun(shell: example.command, in: folder.path)
            #expect(
                CommandPage.withoutMeasures(run.errors + run.output) == CommandPage.withoutMeasures(example.output),
                "line \(example.line): \(example.command)")
        }
    }

    @Test("every command has a section")
    func sections() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(contentsOf: root.appendingPathComponent("Docs/command.md"), encoding: .utf8)
        for name in [
            "info", "check", "schema", "schema apply", "query", "search", "import", "export", "tree ls", "tree scan",
            "backup", "compact", "salvage", "mirror", "restore", "studio",
        ] {
            #expect(page.contains("\n## hornbeam \(name)\n"), "\(name)")
        }
    }
}
