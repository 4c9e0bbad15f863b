// SPDX-License-Identifier: Apache-2.0
// The passage of a hit's text that shows best why it was found, with the found words marked.

package import HornbeamText

/// A passage of a text, unchanged, with the ranges that the search found in it.
public struct Snippet: Sendable, Hashable {
    /// The passage.
    public let text: String
    /// The marked ranges of `text`: whole characters, ascending, apart from each other.
    public let highlights: [Range<String.Index>]
    /// Index of the passage's property among the requested ones.
    public let property: Int
    /// Index of the passage's element if the property is an array; 0 otherwise.
    public let element: Int
    /// Whether the passage begins where the text of its property or element begins.
    public let isStart: Bool
    /// Whether the passage ends where the text of its property or element ends.
    public let isEnd: Bool

    package init(_ passage: Passage, _ sections: [TextSection], property: Int, element: Int) {
        self.property = property
        self.element = element
        let whole = sections[passage.section].text
        text = String(whole[passage.range])
        let base = whole.utf8.distance(from: whole.startIndex, to: passage.range.lowerBound)
        var found: [Range<String.Index>] = []
        for range in passage.highlights {
            let start = whole.utf8.distance(from: whole.startIndex, to: range.lowerBound) - base
            let end = whole.utf8.distance(from: whole.startIndex, to: range.upperBound) - base
            let lower = text.utf8.index(text.startIndex, offsetBy: start)
            found.append(lower..<text.utf8.index(lower, offsetBy: end - start))
        }
        highlights = found
        isStart = passage.range.lowerBound == whole.startIndex
        isEnd = passage.range.upperBound >= whole.endIndex
    }

    /// Returns the text with marks around the found words, and `ellipsis` where text was left out.
    /// - Parameters:
    ///   - start: the mark before each found word.
    ///   - end: the mark after each found word.
    ///   - ellipsis: stands before and after the passage where the text goes on.
    ///   - escape: converts each piece of the text between marks: for HTML, a function that writes `&lt;` for `<`.
    public func marked(
        _ start: String = "**", _ end: String = "**", ellipsis: String = "…",
        escape: (Substring) -> String = { String($0) }
    ) -> String {
        var marked = isStart ? "" : ellipsis
        var place = text.startIndex
        for range in highlights {
            marked += escape(text[place..<range.lowerBound]) + start + escape(text[range]) + end
            place = range.upperBound
        }
        return marked + escape(text[place...]) + (isEnd ? "" : ellipsis)
    }
}
