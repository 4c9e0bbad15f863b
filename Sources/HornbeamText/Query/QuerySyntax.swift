// SPDX-License-Identifier: Apache-2.0
// How a text is read as a query: strictly, or as people write into a search field. `QueryParser` has the grammar.

/// How texts are read.
package struct QuerySyntax: Sendable {
    /// The names that may stand before a colon; a query has their places in this list.
    package var fields: [String]
    /// Whether all words must be there that have no sign of their own.
    package var matchesAll: Bool
    /// Whether the text is still being typed: its last word is a prefix, unless something stands behind it.
    package var isTyping: Bool

    package init(fields: [String] = [], matchesAll: Bool = false, isTyping: Bool = false) {
        self.fields = fields
        self.matchesAll = matchesAll
        self.isTyping = isTyping
    }

    /// Parses a query. A query without a word finds nothing.
    package func parse(_ text: String) throws(QuerySyntaxError) -> TextQuery {
        var parser = QueryParser(text, self, isLenient: false)
        return try parser.whole()
    }

    /// Parses a text that people write into a search field. Parts that are no correct syntax are taken for words. A
    /// single question mark behind a word is a question mark, not a pattern.
    package func parse(lenient text: String) -> TextQuery {
        var parser = QueryParser(text, self, isLenient: true)
        for _ in 0..<QueryParser.maximumRepairs {
            do throws(QuerySyntaxError) {
                return try parser.whole()
            } catch {
                parser.repair(error)
            }
        }
        return parser.plainWords()
    }
}
