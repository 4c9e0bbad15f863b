// SPDX-License-Identifier: Apache-2.0
// Finds the terms of an index that are similar to a word or match a pattern. The sorted vocabulary is searched, and
// parts that can't match are skipped by seeking, so that few terms are read. The number of results is not limited.

import HornbeamPages

/// A term found for a word or a pattern of a query.
struct ExpandedTerm: Hashable {
    let term: [UInt8]
    /// Edit distance from the word in the query.
    var distance = 0
}

/// Searches for terms in the vocabulary.
struct TermExpansion {
    let view: IndexView

    /// Maximum number of scalars of a word. Longer words match only themselves, so that the table of edits stays small.
    static let scalarLimit = 255
    /// Upper bound of the edit distance, unless the word has more scalars.
    private static let distanceLimit = 8

    /// Returns the edit distance to use when the query asks for `distance`.
    static func limit(_ distance: Int, scalars: Int) -> Int { min(max(distance, 0), max(scalars, distanceLimit)) }

    /// Returns the terms within `distance` edits of `word` that have the same first `prefixLength` scalars, sorted by
    /// distance, then by their bytes.
    func fuzzy(_ word: [UInt8], distance: Int, prefixLength: Int) throws(StorageError) -> [ExpandedTerm] {
        let scalars = Array(String(decoding: word, as: UTF8.self).unicodeScalars)
        guard scalars.count <= Self.scalarLimit else {
            return try view.postings(of: word) == nil ? [] : [ExpandedTerm(term: word)]
        }
        let fixed = String(String.UnicodeScalarView(scalars.prefix(max(prefixLength, 0))))
        let prefix = Array(fixed.utf8)
        let orderedPart = Array(prefix.prefix(TermDictionary.plainLimit))
        let limit = Self.limit(distance, scalars: scalars.count)
        var found: [ExpandedTerm] = []
        try forEachNear(scalars.map(\.value), limit, from: orderedPart) { term, distance in
            if term.begins(with: prefix) { found.append(ExpandedTerm(term: [UInt8](term), distance: distance)) }
        }
        found.sort {
            $0.distance != $1.distance
                ? $0.distance < $1.distance : $0.term.lexicographicallyPrecedes($1.term)
        }
        return found
    }

    /// Number of terms that are read in the time of one seek past terms that can't match.
    private static let lookLimit = 12

    /// Calls `body` with each term that begins with `start` and is within the limit.
    private func forEachNear(
        _ word: [UInt32], _ limit: Int, from start: [UInt8], _ body: (_ term: Bytes, _ distance: Int) -> Void
    ) throws(StorageError) {
        let isShort = word.count <= EditPattern.letterLimit && limit <= EditPattern.editLimit
        var pattern = EditPattern(isShort ? word : [], limit: isShort ? limit : 0)
        var automaton = EditAutomaton(isShort ? [] : word, limit: limit)
        var (failed, looks) = (0, 0)
        try view.forEachTerm(from: start) { (term) throws(StorageError) in
            guard term.begins(with: start) else { return .stop }
            switch isShort ? pattern.read(term) : automaton.read([UInt8](term)) {
            case .matches(let distance): body(term, distance)
            case .fails: break
            case .failsAfter(let size):
                looks = size == failed ? looks + 1 : 0
                failed = size
                guard size < TermDictionary.plainLimit, looks >= Self.lookLimit else { return .next }
                looks = 0
                // 0xFF is above every byte of a term. Even if a damaged term contains it, the walk ends.
                let target = Array(term[..<size]) + [0xFF]
                return target.withBytes { term.order($0) } < 0 ? .seek(target) : .next
            }
            return .next
        }
    }

    /// Returns the default edit distance of a word with this many scalars.
    static func distance(scalars: Int) -> Int { scalars <= 2 ? 0 : scalars <= 5 ? 1 : 2 }
}

/// Literal parts between `*` (any scalars) and `?` (one scalar).
struct WildcardPattern: Hashable {
    enum Part: Hashable {
        case scalar(UInt32)
        case one
        case many
    }

    private(set) var parts: [Part] = []

    /// The text between the wildcards is folded as the analyzer folds terms.
    init(_ text: String, _ analyzer: Analyzer) {
        var literal = ""
        for character in text.unicodeScalars {
            guard character == "*" || character == "?" else {
                literal.unicodeScalars.append(character)
                continue
            }
            append(literal, analyzer)
            literal = ""
            let part = character == "*" ? Part.many : .one
            if part == .one || parts.last != .many { parts.append(part) }
        }
        append(literal, analyzer)
    }

    private mutating func append(_ literal: String, _ analyzer: Analyzer) {
        guard !literal.isEmpty else { return }
        for scalar in analyzer.folded(literal).unicodeScalars { parts.append(.scalar(scalar.value)) }
    }

    /// The beginning that all matches share.
    var prefix: [UInt8] {
        var prefix = String.UnicodeScalarView()
        for part in parts {
            guard case .scalar(let value) = part, let scalar = Unicode.Scalar(value) else { break }
            prefix.append(scalar)
        }
        return Array(String(prefix).utf8)
    }

    func matches(_ term: [UInt8]) -> Bool { term.withBytes { matches($0) } }

    /// Tries the shortest match of each `*` first and backtracks to the last one. Takes time proportional to the
    /// product of the lengths at worst.
    func matches(_ term: Bytes) -> Bool {
        term.withMemoryRebound(to: UInt8.self) { bytes in
            var (place, part) = (0, 0)
            var retry: (place: Int, part: Int)?
            while true {
                if part < parts.count, parts[part] == .many {
                    part += 1
                    retry = (place, part)
                    continue
                }
                if place < bytes.count, part < parts.count {
                    var next = place
                    let scalar = UTF8Scalars.decode(bytes, at: &next)
                    if parts[part] == .one || parts[part] == .scalar(scalar) {
                        (place, part) = (next, part + 1)
                        continue
                    }
                }
                if place == bytes.count, part == parts.count { return true }
                guard let (last, behind) = retry, last < bytes.count else { return false }
                var next = last
                _ = UTF8Scalars.decode(bytes, at: &next)
                retry = (next, behind)
                (place, part) = (next, behind)
            }
        }
    }
}

extension Bytes {
    /// Whether the bytes begin with `prefix`.
    @inline(__always)
    func begins(with prefix: [UInt8]) -> Bool {
        guard count >= prefix.count else { return false }
        for place in 0..<prefix.count where self[place] != prefix[place] { return false }
        return true
    }
}

/// Computes the edit distances of sorted terms from one word. The usual table has one row for each scalar of a term.
/// The rows of the scalars that the next term also begins with are reused. Edits are insertions, deletions,
/// substitutions, and exchanges of neighbours that no other edit touches (optimal string alignment).
struct EditAutomaton {
    enum Result: Equatable {
        case matches(Int)
        case fails
        /// No term that begins with this many bytes of it matches.
        case failsAfter(Int)
    }

    private let word: [UInt32]
    private let limit: Int
    /// A row of `word.count + 1` distances before the last term's scalars, and one for each scalar.
    private var rows: [Int]
    /// The scalars of the last term that have rows, and the number of bytes up to the end of each.
    private var scalars: [UInt32] = []
    private var sizes: [Int] = []
    private var last: [UInt8] = []

    init(_ word: [UInt32], limit: Int) {
        self.word = word
        self.limit = limit
        rows = Array(0...word.count)
    }

    /// Returns the distance of a term, if it is within the limit.
    mutating func read(_ term: [UInt8]) -> Result {
        var common = 0
        while common < term.count, common < last.count, term[common] == last[common] { common += 1 }
        while let size = sizes.last, size > common {
            sizes.removeLast()
            scalars.removeLast()
        }
        let width = word.count + 1
        rows.removeSubrange((scalars.count + 1) * width..<rows.count)
        last.removeSubrange((sizes.last ?? 0)..<last.count)
        return term.withUnsafeBufferPointer { bytes in
            var size = last.count
            while size < bytes.count {
                let start = size
                let scalar = UTF8Scalars.decode(bytes, at: &size)
                last.append(contentsOf: bytes[start..<size])
                scalars.append(scalar)
                sizes.append(size)
                if appendRow(scalar) > limit { return .failsAfter(size) }
            }
            let distance = rows[rows.count - 1]
            return distance <= limit ? .matches(distance) : .fails
        }
    }

    /// Appends the row of the next scalar. Returns a lower bound of the distances in all later rows: the least of this
    /// row and of the row before plus 1, from which an exchange may continue.
    private mutating func appendRow(_ scalar: UInt32) -> Int {
        let width = word.count + 1
        let row = rows.count
        let before = row - width
        rows.append(rows[before] + 1)
        var least = rows[row]
        for column in 1..<max(width, 1) {
            var distance = min(rows[before + column], rows[row + column - 1]) + 1
            distance = min(distance, rows[before + column - 1] + (word[column - 1] == scalar ? 0 : 1))
            if column > 1, scalars.count > 1, word[column - 1] == scalars[scalars.count - 2],
                word[column - 2] == scalar
            {
                distance = min(distance, rows[before - width + column - 2] + 1)
            }
            rows.append(distance)
            least = min(least, distance)
        }
        if scalars.count > 0 {
            for column in 0..<width { least = min(least, rows[before + column] + 1) }
        }
        return least
    }
}
