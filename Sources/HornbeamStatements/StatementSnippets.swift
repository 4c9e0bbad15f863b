// SPDX-License-Identifier: Apache-2.0
// SNIPPET: the passage of each row that shows best why MATCH finds it, with the found words marked.

import HornbeamText

/// The match whose words SNIPPET shows, and the form of its text.
package struct SnippetForm: Equatable {
    /// Number of the match.
    var match: Int
    package var words = 24
    package var start = "**"
    package var end = "**"
    package var ellipsis = "…"

    package init(match: Int = 0) { self.match = match }
}

extension Binder {
    private static var maxWords: Int { 1_000 }

    /// `SNIPPET([words [, start [, end [, ellipsis]]]])`: a slot with the passage of a row, as a text.
    mutating func bindSnippet(_ call: FunctionCall) throws -> BoundExpression {
        let number = try soleMatch("SNIPPET shows what one MATCH", at: call.place)
        var form = SnippetForm(match: number)
        for (place, argument) in call.arguments.enumerated() {
            guard case .constant(let item) = try bind(argument) else {
                throw failure("SNIPPET takes the same for all rows: constants or parameters", at: argument.place)
            }
            if place == 0 {
                guard let words = item.integer, let words = Int(exactly: words), 1...Self.maxWords ~= words else {
                    throw failure("SNIPPET shows 1 to \(Self.maxWords) words", at: argument.place)
                }
                form.words = words
                continue
            }
            guard let text = item.text else { throw failure("the marks of SNIPPET are texts", at: argument.place) }
            switch place {
            case 1: (form.start, form.end) = (text, text)
            case 2: form.end = text
            default: form.ellipsis = text
            }
        }
        // A search for null finds nothing.
        guard matches[number].match != nil else { return .constant(.null) }
        return slot(.snippet(form), of: sources[matches[number].source])
    }
}

/// Makes the snippets of one match.
package struct RowSnippets {
    private let columns: [Int]
    private let matcher: QueryMatcher
    /// The searcher that knows how rare words are; nil without an index, and then all words weigh the same.
    private let searcher: TextSearcher?

    package init(_ match: TextMatch, _ store: EntityStore) throws {
        columns = match.columns
        let found = store.type.wording(of: match)
        matcher = match.matcher(by: found)
        searcher = try found.flatMap { $0.columns == match.columns ? try IndexSearch($0, match, store).searcher : nil }
    }

    /// Returns the snippet of a row, or nil if its texts have no words.
    package func text(_ row: RowReader, _ form: SnippetForm) throws -> String? {
        let sections = try row.sections(columns)
        let passage = try matcher.passage(of: sections, size: form.words) { (term) throws(HornbeamError) in
            try searcher?.weight(of: term) ?? 1
        }
        return passage.map {
            Snippet($0, sections, property: 0, element: 0).marked(form.start, form.end, ellipsis: form.ellipsis)
        }
    }
}
