// SPDX-License-Identifier: Apache-2.0
// Patterns of texts: those of LIKE, and regular expressions, which may come from untrusted sources.

/// A pattern of LIKE: `%` is any text, `_` any character. Case counts.
struct LikePattern {
    enum Part: Equatable {
        case anyText, anyCharacter
        case character(Character)
    }

    let parts: [Part]
    private static let notedSteps = 1 << 16

    init(_ pattern: String, escape: Character?) throws(HornbeamError) {
        var parts: [Part] = []
        var isEscaped = false
        for character in pattern {
            if isEscaped {
                parts.append(.character(character))
                isEscaped = false
            } else if character == escape {
                isEscaped = true
            } else {
                parts.append(character == "%" ? .anyText : character == "_" ? .anyCharacter : .character(character))
            }
        }
        if isEscaped {
            throw HornbeamError(.invalid, "a pattern of LIKE ends with the sign that escapes: “\(pattern.shown())”")
        }
        self.parts = parts
    }

    /// The prefix of all texts that match.
    var prefix: String {
        var prefix = ""
        for part in parts {
            guard case .character(let character) = part else { break }
            prefix.append(character)
        }
        return prefix
    }

    /// The longest text without `%` and `_`; nil if there is none.
    var longestPart: String? {
        let texts = parts.split { if case .character = $0 { false } else { true } }
        guard let longest = texts.max(by: { $0.count < $1.count }) else { return nil }
        return String(longest.compactMap { if case .character(let character) = $0 { character } else { nil } })
    }

    /// Whether the text matches. Goes back to the last `%` only: the time is at most the product of both lengths.
    /// - Parameter note: called now and then with the number of steps made; throws if there are too many.
    func matches(_ text: String, _ note: (Int) throws -> Void) rethrows -> Bool {
        var steps = 0
        let characters = Array(text)
        var (at, part) = (0, 0)
        var retry: (at: Int, part: Int)?
        while at < characters.count {
            steps += 1
            if steps == Self.notedSteps {
                try note(steps)
                steps = 0
            }
            if part < parts.count, parts[part] == .anyText {
                part += 1
                retry = (at, part)
            } else if part < parts.count, parts[part] == .anyCharacter || parts[part] == .character(characters[at]) {
                at += 1
                part += 1
            } else if let last = retry {
                at = last.at + 1
                part = last.part
                retry = (at, part)
            } else {
                return false
            }
        }
        return parts[part...].allSatisfy { $0 == .anyText }
    }
}

/// Patterns that were read, kept for later rows.
final class PatternCache {
    private var likes: [String: LikePattern] = [:]
    private var expressions: [String: Regex<AnyRegexOutput>] = [:]
    private static let maximum = 64

    func like(_ pattern: String, escape: Character?) throws(HornbeamError) -> LikePattern {
        let key = pattern + "\u{0}" + (escape.map { String($0) } ?? "")
        if let known = likes[key] { return known }
        let made = try LikePattern(pattern, escape: escape)
        if likes.count >= Self.maximum { likes.removeAll() }
        likes[key] = made
        return made
    }

    /// Reads a regular expression. Throws `.invalid` if it can't be read, `.tooLarge` if it is too long or nested too
    /// deep.
    /// - Complexity: matching tries all ways to divide the text among the pattern's parts. Some patterns, such as
    ///   `(a+)+b`, take time exponential in the length of the text.
    func expression(_ pattern: String) throws(HornbeamError) -> Regex<AnyRegexOutput> {
        if let known = expressions[pattern] { return known }
        do {
            try PatternBounds.check(pattern)
            try StackRoom.require(StackRoom.pattern)
            let made = try Regex(pattern)
            if expressions.count >= Self.maximum { expressions.removeAll() }
            expressions[pattern] = made
            return made
        } catch let error as HornbeamError {
            throw error
        } catch {
            throw HornbeamError(
                .invalid, "the regular expression “\(pattern.shown())” can't be read: \("\(error)".shown())")
        }
    }
}

/// Bounds for patterns that are given to `Regex`. It reads nested classes of characters recursively and without a
/// limit, and each level takes some kilobytes of the stack. (It bounds groups itself.)
enum PatternBounds {
    static let maxLength = 10_000
    /// Maximum number of classes in classes, and of the operators `&&`, `--` and `~~` in them.
    static let maxClasses = 20

    static func check(_ pattern: String) throws(HornbeamError) {
        guard pattern.utf8.count <= maxLength else {
            throw HornbeamError(
                .tooLarge, "a regular expression has \(pattern.utf8.count) bytes, more than \(maxLength)")
        }
        guard height(Array(pattern.utf8)) <= maxClasses else {
            throw HornbeamError(
                .tooLarge,
                "a regular expression has more than \(maxClasses) classes of characters within each other")
        }
    }

    /// An upper bound for the levels of classes: a bracket that may not end a class isn't taken as its end.
    private static func height(_ bytes: [UInt8]) -> Int {
        /// For each open class: whether it has no escapes except those of one sign, and whether it is empty.
        var open: [(isPlain: Bool, isEmpty: Bool)] = []
        var (deepest, operators, at) = (0, 0, 0)
        while at < bytes.count {
            let byte = bytes[at]
            let next = at + 1 < bytes.count ? bytes[at + 1] : 0
            at += 1
            switch byte {
            case UInt8(ascii: "\\"):
                at += 1
                let isPlain = "dDsSwWnrt.-[]^$*+?(){}|/\\".utf8.contains(next)
                // `\Q`, `\c`, `\N{` and others may hide a bracket, wherever they are.
                if let last = open.indices.last { open[last] = (open[last].isPlain && isPlain, false) }
            case UInt8(ascii: "["):
                if let last = open.indices.last { open[last].isEmpty = false }
                open.append((true, true))
                deepest = max(deepest, open.count)
            case UInt8(ascii: "]"):
                guard let last = open.last, last.isPlain, !last.isEmpty else { continue }
                open.removeLast()
            case UInt8(ascii: "^"), UInt8(ascii: " "), 9...13: continue
            // It may begin a comment.
            case UInt8(ascii: "#"): if let last = open.indices.last { open[last] = (false, false) }
            default:
                guard let last = open.indices.last else { continue }
                open[last].isEmpty = false
                if byte == next, "&-~".utf8.contains(byte) { operators += 1 }
            }
        }
        return max(deepest, operators)
    }
}
