// SPDX-License-Identifier: Apache-2.0
// The effect of `--output` on everything that can be at a path: it replaces nothing by surprise.

import Foundation
import Glibc
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamCommand

@Suite("--output")
struct OutputFileTests {
    private let library: Library
    private let exported: String

    init() throws {
        library = try Library()
        exported = try CommandRun("export", library.file, "Author").output
    }

    private func export(_ target: String, _ more: String...) throws -> CommandRun {
        try CommandRun(["export", library.file, "Author", "-o", target] + more)
    }

    private func path(_ name: String) -> String { library.folder.path(name) }

    private func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }

    @Test("refuses the store itself and any other, by every name, with --force too")
    func stores() throws {
        let other = try Library()
        defer { other.folder.keep() }
        symlink(library.file, path("link"))
        link(library.file, path("hard"))
        // A store with a damaged first header slot is still a store.
        var image = try bytes("library.hornbeam")
        image.replaceSubrange(0..<8, with: [UInt8](repeating: 0, count: 8))
        let damaged = try library.folder.write("damaged", Array(image))
        let before = try bytes("library.hornbeam")
        for target in [library.file, other.file, path("link"), path("hard"), damaged] {
            for run in [try export(target), try export(target, "--force")] {
                #expect(run.code == 1 && run.output.isEmpty, "\(target)")
                let reason = "is a Hornbeam store, which is never written over: name another file\n"
                #expect(run.errors == "hornbeam: \(target) \(reason)")
            }
        }
        #expect(try bytes("library.hornbeam") == before)
        #expect(try CommandRun("check", other.file).code == 0)
    }

    @Test("replaces a file with --force alone, as a whole, and keeps its permissions")
    func files() throws {
        let target = try library.folder.write("out", "precious")
        chmod(target, 0o640)
        let refused = try export(target)
        #expect(refused.code == 1 && refused.errors == "hornbeam: \(target) exists already: --force replaces it\n")
        #expect(try library.folder.read("out") == "precious")
        // A failed export leaves the old file.
        let failed = try CommandRun("export", library.file, "Nobody", "-o", target, "--force")
        #expect(failed.code == 1)
        #expect(try library.folder.read("out") == "precious")
        #expect(try export(target, "--force").code == 0)
        #expect(try library.folder.read("out") == exported)
        var information = stat()
        #expect(stat(target, &information) == 0 && information.st_mode & 0o777 == 0o640)
        #expect(try library.folder.names() == ["books.jsonl", "library.hornbeam", "out", "schema.json"])
    }

    @Test("refuses links to files and to nowhere, folders, and paths in folders that don't exist")
    func refused() throws {
        let text = try library.folder.write("text", "precious")
        symlink(text, path("link"))
        symlink(path("nowhere"), path("dangling"))
        for (target, reason) in [
            (path("link"), "is a link: name the file itself"),
            (path("dangling"), "is a link that leads nowhere: name the file itself"),
            (library.folder.path, "is a folder: name a file in it"),
        ] {
            for run in [try export(target), try export(target, "--force")] {
                #expect(run.code == 1 && run.errors == "hornbeam: \(target) \(reason)\n")
            }
        }
        let missing = try export(path("no/such"))
        #expect(missing.code == 1 && missing.errors.contains("open failed on \(path("no/such")): No such file"))
        #expect(try library.folder.read("text") == "precious")
        #expect(try !library.folder.names().contains("nowhere"))
    }

    @Test("writes into pipes and devices, and leaves them in place")
    func pipes() throws {
        mkfifo(path("fifo"), 0o600)
        let run = try CommandRun(
            shell: "(cat fifo > copy & hornbeam export library.hornbeam Author -o fifo && wait)",
            in: library.folder.path)
        #expect(run.code == 0 && run.output.isEmpty, "\(run)")
        #expect(try library.folder.read("copy") == exported)
        var information = stat()
        #expect(lstat(path("fifo"), &information) == 0 && information.st_mode & S_IFMT == S_IFIFO)
        #expect(try export("/dev/null").code == 0)
        #expect(stat("/dev/null", &information) == 0 && information.st_mode & S_IFMT == S_IFCHR)
        #expect(try export("/dev/full").errors.contains("write failed on /dev/full: No space left on device"))
    }

    @Test("is standard output for - and for its other names")
    func standardOutput() throws {
        for target in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            // To a file, and through a pipe.
            #expect(try export(target).output == exported, "\(target)")
            let piped = try CommandRun(
                shell: "hornbeam export library.hornbeam Author -o \(target) | cat", in: library.folder.path)
            #expect(piped.output == exported, "\(target)")
        }
        #expect(try !library.folder.names().contains("-"))
    }

    @Test("refuses the store that is read as standard output too")
    func redirected() throws {
        let before = try bytes("library.hornbeam")
        let run = try CommandRun(
            shell: "hornbeam export library.hornbeam Author >> library.hornbeam", in: library.folder.path)
        #expect(run.code == 1)
        #expect(
            run.errors
                == "hornbeam: standard output goes to the store library.hornbeam itself: redirect it to another file\n")
        #expect(try bytes("library.hornbeam") == before)
    }

    @Test("leaves a file alone that got the name meanwhile; --force only spares stores")
    func meanwhile() throws {
        let target = path("late")
        let output = try #require(try OutputFile.open(target, replaces: false))
        try output.sink.write("ours\n".utf8)
        try library.folder.write("late", "theirs\n")
        #expect(throws: CommandError("\(target) exists already: --force replaces it")) { try output.finish() }
        #expect(try library.folder.read("late") == "theirs\n")
        let replacing = try #require(try OutputFile.open(path("later"), replaces: true))
        try replacing.sink.write("ours\n".utf8)
        try library.folder.write("later", "theirs\n")
        try replacing.finish()
        #expect(try library.folder.read("later") == "ours\n")
        let forced = try #require(try OutputFile.open(path("copy"), replaces: true))
        try forced.sink.write("ours\n".utf8)
        link(library.file, path("copy"))
        let reason = "is a Hornbeam store, which is never written over: name another file"
        #expect(throws: CommandError("\(path("copy")) \(reason)")) { try forced.finish() }
        #expect(try bytes("copy") == bytes("library.hornbeam"))
    }

    @Test("a signal ends an export and leaves no hidden file", arguments: ["INT", "TERM"])
    func interrupted(signal: String) throws {
        let before = try library.folder.names()
        // The signal is pending from the start, and arrives when the command begins to catch it.
        let run = try CommandRun(
            shell: "env --default-signal=\(signal) --block-signal=\(signal) "
                + "sh -c 'kill -\(signal) $$; exec hornbeam export library.hornbeam Author -o out'",
            in: library.folder.path)
        #expect(run.code == 130 && run.errors == "interrupted: no file was written\n", "\(run)")
        #expect(try library.folder.names() == before)
    }

    @Test(
        "the loss of the terminal, like Ctrl-C, ends a backup without a file, and a check",
        arguments: [
            ("backup", "copy.hornbeam", "interrupted: no file was written\n"),
            ("check", "", "interrupted: 0 problems found until then\n"),
        ])
    func interruptedUpkeep(command: String, operand: String, message: String) throws {
        let before = try library.folder.names()
        for signal in ["INT", "HUP"] {
            let run = try CommandRun(
                shell: "env --default-signal=\(signal) --block-signal=\(signal) "
                    + "sh -c 'kill -\(signal) $$; exec hornbeam \(command) library.hornbeam \(operand)'",
                in: library.folder.path)
            #expect(run.code == 130 && run.output.isEmpty && run.errors == message, "\(run)")
        }
        #expect(try library.folder.names() == before)
    }
}
