// SPDX-License-Identifier: Apache-2.0
// The full-text condition of a filter: a query over columns, with the weight of each.

package import HornbeamText

/// A full-text query over columns. A class, so that a filter stays small.
package final class TextMatch: Sendable {
    package let columns: [Int]
    /// The name of the full-text index whose analyzer defines words; nil if the columns decide that.
    package let index: String?
    /// The query's fields are indices into `columns`.
    package let query: TextQuery
    /// Weights of the columns, in their order. Empty if all count alike.
    package let weights: [Double]
    /// The error that running the search throws, if the condition can't be searched.
    package let problem: HornbeamError?

    package init(columns: [Int], query: TextQuery, weights: [Double] = [], using index: String? = nil) {
        self.columns = columns
        self.index = index
        self.query = query
        self.weights = weights
        problem = nil
    }

    /// Makes a condition that can't be searched. Running it throws `problem`.
    package init(columns: [Int], problem: HornbeamError) {
        self.columns = columns
        index = nil
        query = .everything
        weights = []
        self.problem = problem
    }

    /// The words, if the query only wants any of them and has no weights.
    var words: String? {
        if case .words(let words) = query, weights.isEmpty { words } else { nil }
    }

    /// The query in the syntax of searches, with numbers for the fields.
    var text: String {
        if let words { words } else { query.text(fields: []) }
    }

    /// Whether an index needs the positions of words to answer it.
    func needsPositions(_ analyzer: Analyzer) -> Bool {
        words == nil && (!weights.isEmpty || query.needsPositions(analyzer))
    }

    func described(_ type: EntityDescription) -> String {
        if problem != nil { return "(an invalid search)" }
        let names = columns.map { type.columns.indices.contains($0) ? type.columns[$0].label : "#\($0)" }
        let weighted = weights.isEmpty ? "" : " weighted \(weights)"
        let named = index.map { " using \($0)" } ?? ""
        return Value.string(query.text(fields: names)).text + weighted + named
    }

    /// Parses a text in the syntax of searches over these columns. Throws `.invalid` if the text doesn't follow it.
    package static func query(
        _ text: String, of columns: [Int], _ type: EntityDescription
    ) throws(HornbeamError) -> TextQuery {
        do {
            return try QuerySyntax(fields: columns.map { type.columns[$0].name }).parse(text)
        } catch {
            throw HornbeamError(.invalid, error.description)
        }
    }
}

extension Filter {
    /// The condition that any word of the text occurs in the columns.
    package static func matches(columns: [Int], text: String) -> Filter {
        .matches(TextMatch(columns: columns, query: .words(text)))
    }
}
