// SPDX-License-Identifier: Apache-2.0
// Highlights and snippets: ranges of the original text. They begin and end between characters as readers see them
// (grapheme clusters), whatever the tokens are.

import HornbeamPages

/// The part of a document that best shows why a query found it.
package struct Passage: Sendable {
    /// The index of its text among the sections.
    package let section: Int
    package let range: Range<String.Index>
    /// Ranges inside `range`, ascending, without overlaps. Highlights that reach over an edge are cut there.
    package let highlights: [Range<String.Index>]
}

extension QueryMatcher {
    /// Maximum number of bytes of a text that are read for a snippet. It bounds the time.
    package static let passageLimit = 4 << 20

    /// Returns the ranges that the query finds in a text, ascending. Ranges that overlap or touch are merged.
    package func highlights(in section: TextSection) -> [Range<String.Index>] {
        let found = occurrences([section])
        return Self.characters(of: byteRanges(marks(found), found, 0), in: section.text)
    }

    /// Returns the best `size` consecutive tokens, with the words in their middle: the first window with the greatest
    /// sum of the weights of the query's distinct words. Returns the beginning of the first text with a token if no
    /// word is found, and nil if there are no tokens.
    package func passage<Failure: Error>(
        of sections: [TextSection], size: Int, weight: (_ term: [UInt8]) throws(Failure) -> Double
    ) throws(Failure) -> Passage? {
        let sections = sections.map { TextSection(field: $0.field, text: Self.cut($0.text)) }
        let found = occurrences(sections, keepingTokens: true)
        let marks = marks(found)
        var weights: [Double] = []
        for word in found.words { weights.append(try weight(word)) }
        let marked = Self.union(marks)
        let size = max(1, size)
        guard let best = Self.window(marked, found, size, weights) else {
            guard let section = found.tokens.firstIndex(where: { !$0.isEmpty }) else { return nil }
            return passage(sections[section], section, 0..<min(size, found.tokens[section].count), [], found)
        }
        let section = found.items[best.lowerBound].section
        let first = found.tokens[..<section].reduce(0) { $0 + $1.count }
        let count = found.tokens[section].count
        let start = found.items[best.lowerBound].position - first
        let end = found.items[best.upperBound].position - first + 1
        // Centres the words in the window if there is enough text on both sides.
        let from = max(0, min(start - (size - (end - start)) / 2, count - size))
        return passage(sections[section], section, from..<min(count, from + size), marks, found)
    }

    private func passage(
        _ section: TextSection, _ number: Int, _ window: Range<Int>, _ marks: [ClosedRange<Int>], _ found: Occurrences
    ) -> Passage {
        let tokens = found.tokens[number]
        // Tokens may overlap, and a custom tokenizer's tokens may have any range.
        let starts = tokens[window].map(\.lowerBound).min() ?? 0
        let ends = tokens[window].map(\.upperBound).max() ?? 0
        let from = window.lowerBound == 0 ? 0 : starts
        let to = window.upperBound == tokens.count ? section.text.utf8.count : max(from, ends)
        let whole = section.text.startIndex..<section.text.endIndex
        let range = Self.characters(of: [from..<to], in: section.text).first ?? whole
        let highlights = Self.characters(of: byteRanges(marks, found, number), in: section.text)
        return Passage(
            section: number, range: range,
            highlights: highlights.map { $0.clamped(to: range) }.filter { !$0.isEmpty })
    }

    /// Returns the occurrences of the best window, from the first to the last.
    private static func window(
        _ marked: [Int], _ found: Occurrences, _ size: Int, _ weights: [Double]
    ) -> ClosedRange<Int>? {
        var best: (range: ClosedRange<Int>, score: Double)?
        var counts = Array(repeating: 0, count: weights.count)
        var score = 0.0
        var last = 0
        for (first, head) in marked.enumerated() {
            let start = found.items[head]
            while last < marked.count, case let item = found.items[marked[last]], item.section == start.section,
                item.position - start.position < size
            {
                if counts[item.word] == 0 { score += weights[item.word] }
                counts[item.word] += 1
                last += 1
            }
            if score > (best?.score ?? -1) * (1 + 1e-12) { best = (head...marked[max(first, last - 1)], score) }
            counts[start.word] -= 1
            if counts[start.word] == 0 { score -= weights[start.word] }
        }
        return best?.range
    }

    /// Returns the occurrences that are in any of the marks, ascending.
    private static func union(_ marks: [ClosedRange<Int>]) -> [Int] {
        var occurrences: [Int] = []
        for mark in marks.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            let next = max(mark.lowerBound, (occurrences.last ?? -1) + 1)
            if next <= mark.upperBound { occurrences += next...mark.upperBound }
        }
        return occurrences
    }

    /// Returns the byte ranges of the marks in one section, ascending, without overlaps.
    private func byteRanges(_ marks: [ClosedRange<Int>], _ found: Occurrences, _ section: Int) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        for mark in marks {
            let (first, last) = (found.items[mark.lowerBound], found.items[mark.upperBound])
            guard first.section == section, last.section == section else { continue }
            ranges.append(first.bytes.lowerBound..<max(first.bytes.lowerBound, last.bytes.upperBound))
        }
        return Self.merged(ranges.filter { !$0.isEmpty })
    }

    /// Merges ranges that overlap or touch.
    private static func merged<Bound: Comparable>(_ ranges: [Range<Bound>]) -> [Range<Bound>] {
        var merged: [Range<Bound>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }

    /// Returns the ranges of whole characters that the byte ranges, which ascend, overlap.
    private static func characters(of ranges: [Range<Int>], in text: String) -> [Range<String.Index>] {
        var found: [Range<String.Index>] = []
        var characters = Characters(text)
        var last = (offset: 0, index: text.startIndex)
        for range in ranges {
            let start = text.utf8.index(last.index, offsetBy: range.lowerBound - last.offset)
            let end = text.utf8.index(start, offsetBy: range.count)
            last = (range.lowerBound, start)
            let lower = characters.around(start).lowerBound
            let upper = characters.around(end)
            found.append(lower..<(upper.lowerBound == end ? end : upper.upperBound))
        }
        return merged(found)
    }

    private static func cut(_ text: String) -> String {
        guard text.utf8.count > passageLimit else { return text }
        let limit = text.utf8.index(text.startIndex, offsetBy: passageLimit)
        var characters = Characters(text)
        return String(text[..<characters.around(limit).lowerBound])
    }
}

/// Finds the characters at ascending indexes of a text. Finding the bounds of a character takes time proportional to
/// its length. A hostile text may be a single character with a token at every other byte, so the last character is
/// cached.
private struct Characters {
    private let text: String
    private var last: Range<String.Index>

    init(_ text: String) {
        self.text = text
        last = text.startIndex..<text.startIndex
    }

    /// Returns the character's range. Empty at the end of the text.
    mutating func around(_ index: String.Index) -> Range<String.Index> {
        guard index < text.endIndex else { return text.endIndex..<text.endIndex }
        if !last.contains(index) {
            // Strings round an index down before they move on from it.
            let end = text.index(after: index)
            last = text.index(before: end)..<end
        }
        return last
    }
}
