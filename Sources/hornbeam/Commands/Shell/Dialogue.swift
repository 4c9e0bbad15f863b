// SPDX-License-Identifier: Apache-2.0
// The shell at a terminal: prompt, history, completion. An error is shown, and the next line is read.

import Glibc
import Hornbeam

/// Belongs to one thread.
final class Dialogue {
    /// The star stands for an open transaction.
    private static let prompts = (idle: "hornbeam> ", inTransaction: "hornbeam*> ")
    private static let continuation = "...> "

    private let shell: Shell
    private var splitter = StatementSplitter()
    private var history: History?

    init(_ shell: Shell) { self.shell = shell }

    func run() throws -> ExitCode {
        let editor = try LineEditor { [unowned self] before in self.completions(before) }
        // A pager that ends early must not end the shell. SIG_IGN won't do: programs that the shell starts would
        // inherit it.
        signal(SIGPIPE) { _ in }
        openHistory(editor)
        if !shell.console.isQuiet {
            try shell.console.print("Hornbeam \(Program.version), \(DisplayWidth.printable(shell.file))")
            try shell.console.print("Statements end with a semicolon. .help lists commands, Ctrl-D ends.")
        }
        while !shell.hasQuit, !Interruption.isTermination {
            try shell.console.flush()
            Interruption.watch()
            switch editor.read(prompt) {
            case .line(let line): take(line, editor)
            case .interrupted:
                if Interruption.isTermination { return .interrupted }
                splitter.clear()
                try shell.console.print("^C")
            case .end:
                try shell.console.print("")
                return .ok
            }
        }
        return Interruption.isTermination ? .interrupted : .ok
    }

    /// The prompt. Further lines of a statement have one as wide as that of the first line.
    private var prompt: String {
        let first = OpenStore.isInTransaction ? Self.prompts.inTransaction : Self.prompts.idle
        guard splitter.isOpen else { return first }
        return String(repeating: " ", count: first.count - Self.continuation.count) + Self.continuation
    }

    private func openHistory(_ editor: LineEditor) {
        history = History()
        do {
            for entry in try history?.entries() ?? [] { editor.remember(entry) }
        } catch { giveUpHistory(error) }
    }

    private func giveUpHistory(_ error: any Error) {
        shell.console.remark(ErrorText.of(error))
        history = nil
    }

    private func take(_ line: String, _ editor: LineEditor) {
        let before = splitter.isOpen ? splitter.pending + "\n" : ""
        let pieces = splitter.add(line.utf8)
        if !splitter.isOpen, !line.trimmed.isEmpty {
            let entry = before + line
            editor.remember(entry)
            do { try history?.add(entry) } catch { giveUpHistory(error) }
        }
        for piece in pieces {
            do {
                if try shell.run(piece) == .interrupted { return }
            } catch {
                report(error)
                return
            }
            if shell.hasQuit { return }
        }
    }

    private func report(_ error: any Error) {
        switch error {
        case is InterruptedWork: shell.console.answer("interrupted")
        // It has been reported already, with its place.
        case is ScriptFailure: break
        default:
            try? shell.console.flush()
            shell.console.report(ErrorText.of(error))
        }
        if OpenStore.isInTransaction { shell.console.answer("the transaction is still open") }
    }

    private func completions(_ before: String) -> LineEditor.Completions {
        let text = splitter.isOpen ? splitter.pending + "\n" + before : before
        // If the schema can't be read, the words of the language are still useful.
        let schema = try? OpenStore.snapshot(shell.file) { try SchemaCatalogue.load($0).descriptions }
        return Completion(schema ?? []).completions(of: text)
    }
}
