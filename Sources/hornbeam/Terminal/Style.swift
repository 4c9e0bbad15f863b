// SPDX-License-Identifier: Apache-2.0
// Emphasis on a terminal. A pipe gets plain text.

/// Whether escape sequences may be used.
enum Style: Sendable {
    case plain, terminal

    func bold(_ text: String) -> String {
        self == .terminal ? "\u{1B}[1m\(text)\u{1B}[0m" : text
    }
}
