// SPDX-License-Identifier: Apache-2.0
// What can be asked of an index, as a tree. Texts in it are analyzed by the index's own analyzer when the query runs,
// so a query means the same words whatever the index makes of them; how each form is scored is in Docs/full-text.md.

/// A question to a text index.
package indirect enum TextQuery: Hashable, Sendable {
    /// Any of the tokens of the text. The score is the sum over the tokens in their order, repeats counting again. What
    /// it is where it must be there, and of scripts without spaces, `resolved` says.
    case words(String)
    /// Any of these.
    case any([TextQuery])
    /// All of these, but for those that ask for nothing since their texts have no token (`isVoid`). None at all matches
    /// nothing. What is everything or some others beside asks for these if there is nothing else to ask for.
    case all([TextQuery])
    /// The first, as far as it isn't the second. Scored as the first.
    case without(TextQuery, TextQuery)
    /// The tokens of the text in their order, in one section, with at most `slop` other positions between them in all.
    /// A match begins at each place of the first token from which the next place of the second, the next of the third
    /// after that and so on are near enough.
    case phrase(String, slop: Int)
    /// Each of these (words, phrases, prefixes, wildcards, fuzzy words, any of such) in one section, in any order; what
    /// is there several times, at as many places. A match begins at each place where one of them does and the first
    /// places of each of the others from there on begin at most `within` positions behind the end of that one (the
    /// longest, if several begin there).
    case near([TextQuery], within: Int)
    /// The tokens of the text, the last one being a prefix and those before it standing before it as in a phrase.
    case prefix(String)
    /// Terms that match a pattern in which `*` stands for any characters and `?` for one scalar. What is between them
    /// is folded as the index's terms are, without stemming; what no term has in it finds nothing.
    case wildcard(String)
    /// Terms within an edit distance of any of the text's tokens; exchanging neighbours is one edit, and a letter that
    /// was part of one isn't changed again. Nil: 0 for up to 2 scalars, 1 for up to 5, 2 from 6 on. The first
    /// `prefixLength` scalars must be equal. A token of more than 255 scalars stands for itself alone, and no more
    /// edits count than a token has scalars, or 8.
    case fuzzy(String, distance: Int?, prefixLength: Int)
    /// Only where the words stand in these fields, by their places in the index's list of fields.
    case field([Int], TextQuery)
    /// The score times a factor from 0 to 1e9; factors that stand in each other multiply to no more.
    case boost(Double, TextQuery)
    /// Every document, with the score 0: what only-negative queries start from.
    case everything
}

extension TextQuery {
    /// Whether its texts have no token at all, such as “&”, or “of” where tokens are of three letters. By itself it
    /// matches nothing; among others that must all match it isn't asked for, but for what it excludes.
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
