// SPDX-License-Identifier: Apache-2.0
// Command lines as users type them, well and badly.

import Hornbeam
import Testing

@testable import HornbeamCommand

@Suite("Command lines")
struct ArgumentParserTests {
    private static let find = CommandDeclaration(
        path: ["find"], summary: "finds",
        operands: [.store, OperandDeclaration(name: "WORD", help: "", isOptional: true)],
        options: [
            .value("limit", "n", "COUNT", ""), .value("label", nil, "TEXT", ""), .flag("json", "j", ""),
            .flag("verbose", "v", ""), .value("sort", nil, "COLUMNS", ""),
        ],
        run: { _, _ in .ok })
    private static let list = CommandDeclaration(path: ["tree", "ls"], summary: "lists", run: { _, _ in .ok })

    private func parse(_ words: String...) throws -> Arguments {
        guard case .run(let arguments) = try ArgumentParser.parse(words, commands: [Self.find, Self.list]) else {
            throw UsageError("not a run")
        }
        return arguments
    }

    private func message(_ words: String...) -> UsageError? {
        do {
            _ = try ArgumentParser.parse(words, commands: [Self.find, Self.list])
            return nil
        } catch { return error }
    }

    @Test("options stand anywhere, in every spelling of getopt_long")
    func spellings() throws {
        for words in [
            ["--limit", "5", "f"], ["--limit=5", "f"], ["-n", "5", "f"], ["-n5", "f"], ["f", "-jn", "5"],
            ["f", "-vjn5"],
            ["f", "--lim", "5"],
        ] {
            guard case .run(let arguments) = try ArgumentParser.parse(words, for: Self.find) else {
                Issue.record("no run: \(words)")
                continue
            }
            #expect(arguments.operands == ["f"], "\(words)")
            #expect(try arguments.number("limit", 0...10) == 5, "\(words)")
        }
    }

    @Test("a value may begin with a dash, or be empty, or hold an equals sign")
    func values() throws {
        #expect(try parse("find", "f", "--sort", "-size,name").list("sort") == ["-size", "name"])
        #expect(try parse("find", "f", "--label=").value("label") == "")
        #expect(try parse("find", "f", "--label=a=b").value("label") == "a=b")
    }

    @Test("after two dashes every word is an operand; a lone dash always is")
    func operands() throws {
        #expect(try parse("find", "--", "--json", "-n").operands == ["--json", "-n"])
        #expect(try parse("find", "-", "x").operands == ["-", "x"])
    }

    @Test("an operand in the middle may be omitted")
    func optionalOperands() throws {
        let command = CommandDeclaration(
            path: ["c"], summary: "",
            operands: [
                .store, OperandDeclaration(name: "INDEX", help: "", isOptional: true),
                OperandDeclaration(name: "WORDS", help: ""),
            ], run: { _, _ in .ok })
        let short = Arguments(command: command, operands: ["f", "w"], values: [:])
        #expect([short.file, short.operand("INDEX"), short.operand("WORDS")] == ["f", nil, "w"])
        let long = Arguments(command: command, operands: ["f", "i", "w"], values: [:])
        #expect([long.file, long.operand("INDEX"), long.operand("WORDS")] == ["f", "i", "w"])
    }

    @Test("lists join all occurrences and refuse empty names")
    func lists() throws {
        #expect(try parse("find", "f", "--sort", "a, b", "--sort", "c").list("sort") == ["a", "b", "c"])
        #expect(throws: UsageError.self) { try parse("find", "f", "--sort", "a,,b").list("sort") }
    }

    @Test("numbers have bounds")
    func numbers() throws {
        let arguments = try parse("find", "f", "-n", "11")
        #expect(
            throws: UsageError("--limit is “11”", hint: "it must be a whole number, 0 to 10"),
            performing: { try arguments.number("limit", 0...10) })
        #expect(throws: UsageError.self) { try parse("find", "f", "-n", "x").number("limit", 0...10) }
        #expect(try parse("find", "f").number("limit", 0...10) == nil)
    }

    @Test("mistakes get a hint")
    func hints() {
        #expect(message("fnid")?.hint == "did you mean find?")
        #expect(message("find", "f", "--limt", "3")?.hint == "did you mean --limit?")
        #expect(message("find", "f", "--l", "3")?.hint == "it could be --limit, --label")
        #expect(message("tree", "lss")?.hint == "did you mean tree ls?")
        #expect(message("find", "f", "--zzzzzzz")?.hint == "hornbeam find --help lists the options")
        #expect(message("find")?.message == "FILE is missing")
        #expect(message("find")?.hint == "Usage: hornbeam find [options] FILE [WORD]")
        #expect(message("find", "a", "b", "c")?.message == "unexpected argument “c”")
        #expect(message("find", "f", "--limit")?.message == "--limit needs a value (COUNT)")
        #expect(message("find", "f", "--json=1")?.message == "--json takes no value")
        #expect(message("find", "f", "-z")?.message == "unknown option -z")
        #expect(message("--json", "find")?.message == "--json before any command")
    }

    @Test("help is found in every place")
    func help() throws {
        for words in [["find", "--help"], ["help", "find"], ["find", "x", "-h"]] {
            guard case .help(let command) = try ArgumentParser.parse(words, commands: [Self.find, Self.list]) else {
                Issue.record("no help: \(words)")
                continue
            }
            #expect(command.path == ["find"])
        }
        for words in [["tree"], ["tree", "--help"], ["help", "tree"]] {
            guard case .overview(["tree"]) = try ArgumentParser.parse(words, commands: [Self.find, Self.list]) else {
                Issue.record("no overview: \(words)")
                continue
            }
        }
    }

    @Test("the nearest name is found by edits, and none if all are far")
    func nearest() {
        #expect(NearestName.find("qurey", among: ["query", "quit"]) == "query")
        #expect(NearestName.find("section", among: ["name", "size"]) == nil)
        #expect(NearestName.distance(Array("abc"), Array("")) == 3)
        #expect(NearestName.distance(Array("kitten"), Array("sitting")) == 3)
        #expect(NearestName.distance(Array("ab"), Array("ba")) == 1)
    }

    @Test("every command explains itself within 80 columns and declares no option twice")
    func declarations() {
        for command in Program.commands {
            let text = Help.command(command)
            for line in text.split(separator: "\n") where !command.examples.contains(String(line.dropFirst(2))) {
                #expect(line.count <= 80, "\(command.name): \(line)")
            }
            let names = command.allOptions.map(\.name)
            let letters = command.allOptions.compactMap(\.short)
            #expect(Set(names).count == names.count && Set(letters).count == letters.count, "\(command.name)")
            #expect(command.allOptions.allSatisfy { !$0.help.isEmpty } && !command.examples.isEmpty, "\(command.name)")
            for example in command.examples {
                #expect(example.contains("hornbeam \(command.name) "), "\(example)")
                #expect(text.contains("\n  \(example)\n"), "an example is shown as it is typed")
            }
        }
    }
}
