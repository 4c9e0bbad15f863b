// SPDX-License-Identifier: Apache-2.0
// Which terms a pattern or a misspelt word means.

package import HornbeamPages

/// A pattern of terms: `*` stands for any scalars, also none, `?` for one.
package struct TermPattern: Sendable {
    private static let star = UInt32.max
    private static let mark = UInt32.max - 1
    /// Scalars and signs.
    private let parts: [UInt32]
    /// All terms of the pattern begin with this.
    package let head: [UInt8]
    /// Whether it is the head and one star.
    package let isPrefix: Bool

    package init(_ pattern: String, _ analyzer: Analyzer) {
        var parts: [UInt32] = []
        var head: [UInt8]?
        for piece in Self.pieces(pattern) {
            if piece == "*" || piece == "?" {
                parts.append(piece == "*" ? Self.star : Self.mark)
                head = head ?? []
            } else {
                let folded = analyzer.folded(piece)
                head = head ?? folded
                parts += String(decoding: folded, as: UTF8.self).unicodeScalars.map(\.value)
            }
        }
        self.parts = parts
        self.head = head ?? []
        isPrefix = parts.last == Self.star && parts.count { $0 >= Self.mark } == 1
    }

    /// Signs, and what is between them.
    private static func pieces(_ pattern: String) -> [String] {
        var pieces: [String] = []
        var text = ""
        for character in pattern {
            if character == "*" || character == "?" {
                if !text.isEmpty { pieces.append(text) }
                pieces.append(String(character))
                text = ""
            } else {
                text.append(character)
            }
        }
        return text.isEmpty ? pieces : pieces + [text]
    }

    /// Whether a term matches: in the worst case its length times that of the pattern.
    package func matches(_ term: Bytes) -> Bool {
        term.withMemoryRebound(to: UInt8.self) { matches($0) }
    }

    private func matches(_ term: UnsafeBufferPointer<UInt8>) -> Bool {
        var (part, place) = (0, 0)
        // Where to go on if what follows the last star doesn't match: that star takes one scalar more.
        var retry: (part: Int, place: Int)?
        while true {
            if part < parts.count, parts[part] == Self.star {
                part += 1
                retry = (part, place)
                continue
            }
            if place == term.count, part == parts.count { return true }
            if place < term.count, part < parts.count {
                var next = place
                let scalar = UTF8Scalars.decode(term, at: &next)
                if parts[part] == Self.mark || parts[part] == scalar {
                    (part, place) = (part + 1, next)
                    continue
                }
            }
            guard let last = retry, last.place < term.count else { return false }
            place = last.place
            _ = UTF8Scalars.decode(term, at: &place)
            part = last.part
            retry = (part, place)
        }
    }
}

/// A word and how far others may be from it.
///
/// Optimal string alignment: insertions, deletions, replacements and exchanges of neighbours cost one each, and no
/// letter is changed twice.
package struct FuzzyWord: Sendable {
    package let scalars: [UInt32]
    package let distance: Int
    private let prefixLength: Int

    /// - Parameter distance: nil is that of its length.
    package init(_ word: [UInt8], distance: Int?, prefixLength: Int) {
        scalars = String(decoding: word, as: UTF8.self).unicodeScalars.map(\.value)
        self.distance = distance ?? Self.distance(ofLength: scalars.count)
        self.prefixLength = prefixLength
    }

    /// None for up to two scalars, one for up to five, then two.
    package static func distance(ofLength length: Int) -> Int { length <= 2 ? 0 : length <= 5 ? 1 : 2 }

    /// What the terms begin with.
    package var head: [UInt8] {
        scalars.prefix(prefixLength).reduce(into: []) { bytes, scalar in
            if let scalar = Unicode.Scalar(scalar) { bytes.append(contentsOf: UTF8.encode(scalar) ?? .init()) }
        }
    }

    /// The distance of a term; nil if it is too far.
    package func distance(to term: Bytes) -> Int? {
        // A scalar has at most four bytes.
        guard term.count >= scalars.count - distance, term.count <= 4 * (scalars.count + distance) else { return nil }
        var other: [UInt32] = []
        other.reserveCapacity(term.count)
        term.withMemoryRebound(to: UInt8.self) { source in
            var index = 0
            while index < source.count { other.append(UTF8Scalars.decode(source, at: &index)) }
        }
        guard abs(other.count - scalars.count) <= distance,
            other.prefix(prefixLength) == scalars.prefix(prefixLength)
        else { return nil }
        return alignment(other)
    }

    /// Row by row; a cell can't be less than its distance from the diagonal, so only a band of each is filled.
    private func alignment(_ other: [UInt32]) -> Int? {
        let far = distance + 1
        var (before, last) = ([Int](), Array(0...other.count))
        for row in 1..<(scalars.count + 1) {
            var cells = [Int](repeating: far, count: other.count + 1)
            cells[0] = row
            var least = row
            for column in max(1, row - distance)..<max(1, min(other.count, row + distance) + 1) {
                let isSame = scalars[row - 1] == other[column - 1]
                var cell = min(last[column - 1] + (isSame ? 0 : 1), last[column] + 1, cells[column - 1] + 1)
                if row > 1, column > 1, scalars[row - 1] == other[column - 2], scalars[row - 2] == other[column - 1] {
                    cell = min(cell, before[column - 2] + 1)
                }
                cells[column] = cell
                least = min(least, cell)
            }
            // An exchange may still come from the row before.
            if least > distance, (last.min() ?? 0) > distance { return nil }
            (before, last) = (last, cells)
        }
        let found = last[other.count]
        return found <= distance ? found : nil
    }
}
