// SPDX-License-Identifier: Apache-2.0
// Highlights and snippets: ranges of the original text, which begin and end between characters as readers see them
// (grapheme clusters), whatever the tokens were.

import HornbeamPages

/// The part of a document that says best why a query found it.
package struct Passage: Sendable {
    /// Which of the texts it is of.
    package let section: Int
    package let range: Range<String.Index>
    /// Inside the range, ascending, apart from each other; what reaches over an edge of it ends there.
    package let highlights: [Range<String.Index>]
}

extension QueryMatcher {
    /// Texts are looked at for snippets up to here, in bytes: so one takes bounded time.
    package static let passageLimit = 4 << 20

    /// What the query finds in a text, ascending; what overlaps or touches is one.
    package func highlights(in section: TextSection) -> [Range<String.Index>] {
        let found = occurrences([section])
        return Self.characters(of: byteRanges(marks(found), found, 0), in: section.text)
    }

    /// The best `size` tokens that stand together: those with the greatest sum of the weights of the different words of
    /// the query in them, the first of equal ones; the words in their middle. The beginning of the first text with any
    /// if there are none. Nil if there is no token at all.
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
        // In the middle of the window, as far as there is text on both sides.
        let from = max(0, min(start - (size - (end - start)) / 2, count - size))
        return passage(sections[section], section, from..<min(count, from + size), marks, found)
    }

    private func passage(
        _ section: TextSection, _ number: Int, _ window: Range<Int>, _ marks: [ClosedRange<Int>], _ found: Occurrences
    ) -> Passage {
        let tokens = found.tokens[number]
        // Tokens may overlap, and one of a program's own may stand anywhere.
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

    /// The occurrences of the best window, from the first to the last.
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

    /// The occurrences that are in any of the marks, ascending.
    private static func union(_ marks: [ClosedRange<Int>]) -> [Int] {
        var occurrences: [Int] = []
        for mark in marks.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            let next = max(mark.lowerBound, (occurrences.last ?? -1) + 1)
            if next <= mark.upperBound { occurrences += next...mark.upperBound }
        }
        return occurrences
    }

    /// The bytes of the marks in one section, ascending, apart from each other.
    private func byteRanges(_ marks: [ClosedRange<Int>], _ found: Occurrences, _ section: Int) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        for mark in marks {
            let (first, last) = (found.items[mark.lowerBound], found.items[mark.upperBound])
            guard first.section == section, last.section == section else { continue }
            ranges.append(first.bytes.lowerBound..<max(first.bytes.lowerBound, last.bytes.upperBound))
        }
        return Self.merged(ranges.filter { !$0.isEmpty })
    }

    /// What overlaps or touches becomes one.
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

    /// The whole characters that ranges of bytes, ascending, have a part of.
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

/// The characters around ascending indexes of a text. To find one's bounds takes as long as it is, and a hostile text
/// is one character with a token at each other byte: so the last one is kept.
private struct Characters {
    private let text: String
    private var last: Range<String.Index>

    init(_ text: String) {
        self.text = text
        last = text.startIndex..<text.startIndex
    }

    /// Empty at the end of the text.
    mutating func around(_ index: String.Index) -> Range<String.Index> {
        guard index < text.endIndex else { return text.endIndex..<text.endIndex }
        if !last.contains(index) {
            // Strings round an index down before they go on from it.
            let end = text.index(after: index)
            last = text.index(before: end)..<end
        }
        return last
    }
}
