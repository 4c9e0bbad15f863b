// SPDX-License-Identifier: Apache-2.0
// Queries of an index, as a tree. The texts in it are analyzed by the index's analyzer when the query runs, so a query
// means the same words whatever the index makes of them. Docs/full-text.md describes how each form is scored.

/// A query of a text index.
package indirect enum TextQuery: Hashable, Sendable {
    /// Any of the tokens of the text. The score is the sum over the tokens in order; repeated tokens count each time.
    /// `resolved` defines the meaning of required words, and of scripts without spaces.
    case words(String)
    /// Any of these.
    case any([TextQuery])
    /// All of these, except parts whose texts have no token (`isVoid`). An empty list matches nothing. Parts in an
    /// `any` with `everything` are optional. But if all required parts are void, one of the optional parts must match.
    case all([TextQuery])
    /// Matches of the first query that don't match the second. Scored like the first.
    case without(TextQuery, TextQuery)
    /// The tokens of the text in order, in one section, with at most `slop` other positions between them in all. A
    /// match begins at each position of the first token from which the next position of the second token, then the next
    /// of the third and so on are near enough.
    case phrase(String, slop: Int)
    /// Each of these (words, phrases, prefixes, wildcards, fuzzy words, any of such) in one section, in any order. A
    /// part that is given several times must occur at as many positions. A match begins at each position where one part
    /// begins and the next positions of all others begin at most `within` positions behind its end (the end of the
    /// longest, if several begin there).
    case near([TextQuery], within: Int)
    /// The tokens of the text. The last one is a prefix; the others stand before it as in a phrase.
    case prefix(String)
    /// Terms that match a pattern. `*` stands for any characters and `?` for one scalar. The text between them is
    /// folded like the index's terms, without stemming. Characters that no term contains find nothing.
    case wildcard(String)
    /// Terms within an edit distance of any of the text's tokens. Exchanging neighbours is one edit; each letter is
    /// changed at most once. Nil means 0 for up to 2 scalars, 1 for up to 5, 2 from 6 on. The first `prefixLength`
    /// scalars must be equal. A token of more than 255 scalars matches only itself. The distance is limited to the
    /// number of the token's scalars, but not to less than 8.
    case fuzzy(String, distance: Int?, prefixLength: Int)
    /// Restricts the query to these fields, given by their indexes in the index's list of fields.
    case field([Int], TextQuery)
    /// Multiplies the score by a factor from 0 to 1e9. The product of nested factors must not exceed 1e9 either.
    case boost(Double, TextQuery)
    /// Every document, with score 0. The basis of queries with exclusions only.
    case everything
}

extension TextQuery {
    /// Whether its texts have no token at all, such as “&”, or “of” for trigrams. By itself such a query matches
    /// nothing. Among parts that must all match it isn't required, but its exclusions apply.
    package func isVoid(_ analyzer: Analyzer) -> Bool {
        switch self {
        case .words(let text), .fuzzy(let text, _, _): analyzer.tokens(of: text).isEmpty
        case .phrase(let text, _), .prefix(let text): analyzer.phraseTokens(of: text).isEmpty
        case .any(let parts), .all(let parts), .near(let parts, _):
            !parts.isEmpty && parts.allSatisfy { $0.isVoid(analyzer) }
        case .field(_, let part), .boost(_, let part), .without(let part, _): part.isVoid(analyzer)
        case .wildcard, .everything: false
        }
    }
}
