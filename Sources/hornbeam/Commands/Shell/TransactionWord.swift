// SPDX-License-Identifier: Apache-2.0
// BEGIN, COMMIT and ROLLBACK. They are the shell's: the query language has no such statements.

import Hornbeam

enum TransactionWord {
    case begin, commit, rollBack

    /// Reads a text that consists of this word alone, or of it and TRANSACTION or WORK. Returns nil for other texts.
    init?(_ text: String) {
        var lexer = StatementLexer(text)
        guard let tokens = try? lexer.tokens() else { return nil }
        var words: [String] = []
        for (token, _, _) in tokens {
            switch token {
            case .name(let word): words.append(word.uppercased())
            case .sign(";"), .end: continue
            default: return nil
            }
        }
        switch (words.first, words.dropFirst()) {
        case ("BEGIN", []), ("BEGIN", ["TRANSACTION"]), ("BEGIN", ["WORK"]), ("START", ["TRANSACTION"]): self = .begin
        case ("COMMIT", []), ("COMMIT", ["TRANSACTION"]), ("COMMIT", ["WORK"]): self = .commit
        case ("ROLLBACK", []), ("ROLLBACK", ["TRANSACTION"]), ("ROLLBACK", ["WORK"]): self = .rollBack
        default: return nil
        }
    }

    /// Begins or ends the transaction of the shell's store.
    func run(isReadOnly: Bool) throws {
        let isOpen = OpenStore.isInTransaction
        switch self {
        case .begin:
            if isReadOnly { throw CommandError("BEGIN would write, and the shell was started with --readonly") }
            if isOpen { throw CommandError("a transaction is open already: COMMIT or ROLLBACK ends it") }
            try OpenStore.begin()
        case .commit, .rollBack:
            guard isOpen else { throw CommandError("no transaction is open: BEGIN opens one") }
            try OpenStore.endTransaction(keeps: self == .commit)
        }
    }
}
