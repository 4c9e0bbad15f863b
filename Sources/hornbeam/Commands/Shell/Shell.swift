// SPDX-License-Identifier: Apache-2.0
// A shell on one store: its settings, and the input and output of its statements and dot commands.

import Hornbeam

/// Belongs to one thread.
final class Shell {
    let file: String
    let console: Console
    var form = ResultForm()
    var isReadOnly = false
    var isTimed = false
    var isExplained = false
    /// The values of parameters: of $name by name, of ? by number.
    var parameters: [String: Value] = [:]
    /// Whether .quit was given.
    var hasQuit = false
    private var output: OutputFile?
    /// Number of scripts that are being read, each by the one before it.
    private var depth = 0
    private static let maximumDepth = 32

    init(_ file: String, _ console: Console) {
        // A name that begins with a dash would be an option of the commands that the shell runs.
        self.file = file.hasPrefix("-") ? "./" + file : file
        self.console = console
    }

    // MARK: Input

    /// Runs the statements and dot commands of a script; `-` is standard input. The first error ends it.
    func run(script path: String) throws -> ExitCode {
        guard depth < Self.maximumDepth else {
            throw CommandError("\(path): scripts read each other \(Self.maximumDepth) deep; does one read itself?")
        }
        depth += 1
        defer { depth -= 1 }
        var reader = try LineReader.open(path)
        var splitter = StatementSplitter()
        Interruption.watch()
        while let line = try reader.next() {
            guard String(validating: line, as: UTF8.self) != nil else {
                throw CommandError("\(reader.path), line \(reader.lineNumber): this isn't UTF-8")
            }
            let code = try run(splitter.add(line), of: reader.path)
            if code != .ok || hasQuit { return code }
        }
        if Interruption.isRequested { return .interrupted }
        guard let last = splitter.finish() else { return .ok }
        let changesData = (try? Statement(last.text))?.changesData == true || TransactionWord(last.text) == .commit
        if !last.isCommand, changesData {
            // A pipe that broke before WHERE must not delete everything.
            console.report(
                "\(reader.path), line \(last.line): a statement that changes data ends with a semicolon: was the "
                    + "input cut off?")
            throw ScriptFailure()
        }
        return try run([last], of: reader.path)
    }

    /// Runs the statements and dot commands of a text.
    func run(text: String, named name: String) throws -> ExitCode {
        var splitter = StatementSplitter()
        var pieces: [StatementSplitter.Piece] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { pieces += splitter.add(line.utf8) }
        if let last = splitter.finish() { pieces.append(last) }
        Interruption.watch()
        return try run(pieces, of: name)
    }

    private func run(_ pieces: [StatementSplitter.Piece], of source: String) throws -> ExitCode {
        for piece in pieces {
            // Also before the first piece: an interrupted read may have cut it off.
            if Interruption.isRequested { return .interrupted }
            do {
                let code = try run(piece)
                if code != .ok || hasQuit { return code }
            } catch is InterruptedWork {
                return .interrupted
            } catch is ScriptFailure {
                // A script that this one reads has reported the error.
                throw ScriptFailure()
            } catch {
                try? console.flush()
                console.report("\(source), \(ErrorPlace(error, in: piece).text)")
                throw ScriptFailure()
            }
        }
        return .ok
    }

    /// Runs one statement or dot command. The caller watches for Ctrl-C.
    func run(_ piece: StatementSplitter.Piece) throws -> ExitCode {
        if piece.isCommand { return try DotCommands.run(piece.text, in: self) }
        try run(statement: piece.text)
        try console.flush()
        return .ok
    }

    /// Runs a statement. All statements of the shell come here.
    private func run(statement text: String) throws {
        if let word = TransactionWord(text) { return try run(word) }
        var run = StatementRun(console: console)
        run.form = form
        run.isTimed = isTimed
        run.isExplained = isExplained
        run.isReadOnly = isReadOnly
        // Parsed first: an error in the text is reported before a missing value.
        let statement = try Statement(text)
        run.parameters = try self.parameters(of: text)
        try run.run(statement, on: file)
    }

    private func run(_ word: TransactionWord) throws {
        let start = ContinuousClock.now
        try word.run(isReadOnly: isReadOnly)
        if isTimed { console.answer("time: \(Spelling.time(start.duration(to: .now)))") }
    }

    /// Rolls back the open transaction when the shell ends, and says so.
    func endTransaction() {
        guard OpenStore.isInTransaction else { return }
        do {
            try OpenStore.endTransaction(keeps: false)
            console.answer("the transaction is rolled back")
        } catch { console.report(ErrorText.of(error)) }
    }

    /// Returns the values of the parameters that a statement uses, because it refuses others. Throws if one has no
    /// value.
    private func parameters(of text: String) throws -> StatementParameters {
        var used = StatementParameters()
        var lexer = StatementLexer(text)
        var next = 0
        for (token, place, _) in try lexer.tokens() {
            guard case .parameter(let name) = token else { continue }
            if name == nil { next += 1 }
            switch name ?? .position(next) {
            case .name(let name):
                guard let value = parameters[name] else { throw noValue("$\(name)", for: name, in: text, at: place) }
                used.names[name] = value
            case .position(let number):
                guard let value = parameters["\(number)"] else {
                    throw noValue("?\(number)", for: "\(number)", in: text, at: place)
                }
                let missing = max(0, number - used.positions.count)
                used.positions += Array(repeating: .null, count: missing)
                used.positions[number - 1] = value
            }
        }
        return used
    }

    private func noValue(_ parameter: String, for name: String, in text: String, at place: TextPlace) -> HornbeamError {
        StatementFailure.error(
            "no value is given for \(parameter): “.params set \(name) VALUE” gives it one", in: text, at: place)
    }

    // MARK: Output

    /// Sends results to a file, or to standard output for nil. The file before it gets its name now.
    func redirect(to path: String?, replaces: Bool) throws {
        try finishOutput()
        guard let path else { return }
        output = try OutputFile.open(path, replaces: replaces)
        console.target = output?.sink
    }

    /// Completes the file of .output, which gets its name now.
    func finishOutput() throws {
        try console.flush()
        guard let file = output else { return }
        output = nil
        console.target = nil
        try file.finish()
    }
}

/// An error that has been reported already, with its place in a script.
struct ScriptFailure: Error {}

/// An error's message with its position in the script instead of that in the statement.
struct ErrorPlace {
    let text: String

    init(_ error: any Error, in piece: StatementSplitter.Piece) {
        let message = ErrorText.of(error)
        // A message of `StatementFailure` ends with the place, the line, and a mark below it.
        guard let place = message.matches(of: /, at line (\d+), character (\d+):\n/).last,
            let line = Int(place.1), let character = Int(place.2)
        else {
            text = "line \(piece.line): \(message)"
            return
        }
        let column = line == 1 ? piece.column + character : character
        text =
            "line \(piece.line + line - 1), character \(column): " + message[..<place.range.lowerBound] + "\n"
            + message[place.range.upperBound...]
    }
}

enum ErrorText {
    /// The message for people, with the remedy of a usage error below it.
    static func of(_ error: any Error) -> String {
        guard let usage = error as? UsageError else { return "\(error)" }
        return usage.message + (usage.hint.map { "\n  \($0)" } ?? "")
    }
}
