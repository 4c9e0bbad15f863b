// SPDX-License-Identifier: Apache-2.0
// Reads lines that a person types with the system's libedit: keys as in Emacs or in ~/.editrc, history, completion.

import CEdit
import Glibc
import Hornbeam

/// Owns the terminal while it reads. Belongs to one thread.
final class LineEditor {
    enum Reading: Equatable {
        case line(String)
        /// Ctrl-D on an empty line, or the terminal is gone.
        case end
        /// Ctrl-C.
        case interrupted
    }

    /// The words that may replace the one before the cursor.
    struct Completions: Equatable {
        /// Number of characters before the cursor that a completion replaces.
        var replaced: Int
        var words: [String]
        /// Whether names of files are offered if there are no words.
        var isFile = false
    }

    /// Maximum number of entries that the arrow keys bring back.
    private static let historySize: Int32 = 1_000
    /// Keys beyond those that libedit knows from the terminal's description.
    private static let keys = [
        ("^R", "em-inc-search-prev"), ("\\e[3~", "ed-delete-next-char"), ("\\e[1~", "ed-move-to-beg"),
        ("\\e[4~", "ed-move-to-end"), ("\\e[H", "ed-move-to-beg"), ("\\e[F", "ed-move-to-end"),
        ("\\eOH", "ed-move-to-beg"), ("\\eOF", "ed-move-to-end"), ("\\e[1;5C", "em-next-word"),
        ("\\e[1;5D", "ed-prev-word"),
    ]

    private let editor: OpaquePointer
    private let history: OpaquePointer
    private let complete: (_ before: String) -> Completions
    /// A C string, because libedit reads it when it draws.
    private var prompt: UnsafeMutablePointer<CChar>?

    /// - Parameter complete: completions for the text of the line before the cursor.
    init(complete: @escaping (_ before: String) -> Completions) throws {
        // Terminals take UTF-8, even if the environment names no language.
        if setlocale(LC_CTYPE, "") == nil || String(cString: nl_langinfo(Int32(CODESET))) != "UTF-8" {
            setlocale(LC_CTYPE, "C.UTF-8")
        }
        guard let editor = hb_edit_make("hornbeam") else { throw CommandError("the line editor can't be started") }
        guard let history = hb_edit_make_history(editor, Self.historySize) else {
            el_end(editor)
            throw CommandError("the line editor's history can't be made")
        }
        self.editor = editor
        self.history = history
        self.complete = complete
        hb_edit_set_owner(editor, Unmanaged.passUnretained(self).toOpaque())
        hb_edit_set_prompt(editor) { LineEditor.of($0)?.prompt }
        hb_edit_set_reader(editor) { LineEditor.of($0)?.readCharacter($1) ?? -1 }
        hb_edit_keep_input(editor)
        hb_edit_use_emacs_keys(editor)
        for (keys, name) in Self.keys { hb_edit_bind(editor, keys, name) }
        hb_edit_add(editor, "hornbeam-complete", "completes a word") { editor, key in
            LineEditor.of(editor)?.completeWord(key) ?? UInt8(CC_ERROR)
        }
        // ~/.editrc is read before Tab is bound, so that completion also works with the keys of vi.
        _ = el_source(editor, nil)
        hb_edit_bind(editor, "^I", "hornbeam-complete")
    }

    deinit {
        el_end(editor)
        history_end(history)
        free(prompt)
    }

    private static func of(_ editor: OpaquePointer?) -> LineEditor? {
        hb_edit_owner(editor).map { Unmanaged<LineEditor>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Reads a line without its end.
    func read(_ text: String) -> Reading {
        free(prompt)
        prompt = strdup(text)
        TerminalSignals.watch()
        var count: Int32 = 0
        guard let line = el_gets(editor, &count) else {
            guard count < 0, Interruption.isRequested else { return .end }
            // Ctrl-C drops the line, and so the keys before it that were not read yet.
            tcflush(STDIN_FILENO, TCIFLUSH)
            return .interrupted
        }
        var read = String(cString: line)
        if read.last == "\n" { read.removeLast() }
        return .line(read)
    }

    /// Adds an entry to the history.
    func remember(_ text: String) { hb_edit_remember(history, text) }

    /// Reads one character of UTF-8. Returns 1, 0 at the end, -1 if it was interrupted or the terminal is gone.
    private func readCharacter(_ character: UnsafeMutablePointer<wchar_t>?) -> Int32 {
        var bytes: [UInt8] = []
        while true {
            let isReady = TerminalSignals.waitForInput { [editor] in
                if TerminalSignals.takeResize() { el_resize(editor) }
                if TerminalSignals.takeContinuation() { hb_edit_restore(editor) }
            }
            guard isReady else { return -1 }
            var byte: UInt8 = 0
            let count = Glibc.read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return Int32(count) }
            bytes.append(byte)
            let length = byte < 0x80 ? 1 : bytes[0] >= 0xF0 ? 4 : bytes[0] >= 0xE0 ? 3 : 2
            if bytes.count < length { continue }
            // A sequence that isn't UTF-8 becomes U+FFFD.
            let scalar = String(decoding: bytes, as: UTF8.self).unicodeScalars.first ?? "\u{FFFD}"
            character?.pointee = wchar_t(bitPattern: scalar.value)
            return 1
        }
    }

    private func completeWord(_ key: Int32) -> UInt8 {
        guard let line = el_line(editor)?.pointee, let buffer = line.buffer, let cursor = line.cursor else {
            return UInt8(CC_ERROR)
        }
        let bytes = UnsafeBufferPointer(start: buffer, count: cursor - buffer)
        let before = String(decoding: bytes.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let found = complete(before)
        guard let first = found.words.first else {
            return found.isFile ? _el_fn_complete(editor, key) : UInt8(CC_ERROR)
        }
        let shared = found.words.dropFirst().reduce(first) { $0.commonPrefix(with: $1) }
        if found.words.count == 1 || shared.count > found.replaced {
            // libedit counts scalars.
            el_deletestr(editor, Int32(before.suffix(found.replaced).unicodeScalars.count))
            let isWhole = found.words.count == 1 && shared.last != "("
            return el_insertstr(editor, shared + (isWhole ? " " : "")) == 0 ? UInt8(CC_REFRESH) : UInt8(CC_ERROR)
        }
        list(found.words)
        return UInt8(CC_REDISPLAY)
    }

    /// Prints the words below the line, in columns.
    private func list(_ words: [String]) {
        let shown = words.prefix(200).map(DisplayWidth.printable)
        let width = (shown.map { DisplayWidth.of($0) }.max() ?? 0) + 2
        let perLine = max(1, (Console.width(STDOUT_FILENO) - 1) / width)
        var text = "\n"
        for (place, word) in shown.enumerated() {
            let isLast = (place + 1) % perLine == 0 || place == shown.count - 1
            text += word + (isLast ? "\n" : String(repeating: " ", count: width - DisplayWidth.of(word)))
        }
        if words.count > shown.count { text += "… and \(words.count - shown.count) more\n" }
        text.withUTF8 { bytes in _ = Glibc.write(STDOUT_FILENO, bytes.baseAddress, bytes.count) }
    }
}

extension String {
    fileprivate func commonPrefix(with other: String) -> String {
        String(zip(self, other).prefix { $0 == $1 }.map(\.0))
    }
}
