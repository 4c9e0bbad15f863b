// SPDX-License-Identifier: Apache-2.0
// Ways to parse a text as a query: strictly, or as typed into a search field. `QueryParser` has the grammar.

/// Options for parsing queries.
package struct QuerySyntax: Sendable {
    /// The names that may stand before a colon. A query has their indexes in this list.
    package var fields: [String]
    /// Whether words without a sign must all match.
    package var matchesAll: Bool
    /// Whether the text is still being typed. Then its last word is a prefix, unless something stands behind it.
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

    /// Parses a text that was typed into a search field. Parts with incorrect syntax are taken for words. A single
    /// question mark behind a word is a question mark, not a pattern.
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
