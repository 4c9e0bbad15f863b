// SPDX-License-Identifier: Apache-2.0
// Chooses the full-text index whose analyzer defines words. Filters (with or without the index's help), highlights and
// snippets all use the same index, so that the marked words are the found ones.

package import HornbeamText

enum TextWording {
    /// The position of the index that defines words for some columns, in the order of declaration: an index over
    /// exactly these columns in this order, else in another order, else the first that has all of them, else the first
    /// that has one of them.
    static func place(of columns: [Int], in indexes: [[Int]]) -> Int? {
        if let exact = indexes.firstIndex(of: columns) { return exact }
        let wanted = Set(columns)
        return indexes.firstIndex { $0.count == wanted.count && Set($0) == wanted }
            ?? indexes.firstIndex { wanted.isSubset(of: $0) } ?? indexes.firstIndex { !wanted.isDisjoint(with: $0) }
    }
}

/// A full-text index, declared or stored, with the properties that matter when one of several is chosen.
package protocol SearchedIndex: AnyObject {
    var description: IndexDescription { get }
    var columns: [Int] { get }
    var analyzer: Analyzer { get }
    var storesPositions: Bool { get }
    /// Whether it has only some entities.
    var isPartial: Bool { get }
    /// Whether the index can answer a search over its columns.
    func answers(_ match: TextMatch) -> Bool
}

extension Array where Element: SearchedIndex {
    /// The index that answers a `matches` condition. Candidates are over exactly the condition's columns, in their
    /// order, have the name that the condition gives (if it gives one), and the same analyzer as the first of them. A
    /// partial index is returned only if no complete one answers and `holding` says that it has all entities in
    /// question.
    package func answering(_ match: TextMatch, holding: (Element) throws -> Bool) rethrows -> Element? {
        var (first, partial, held): (Element?, Element?, Element?)
        for index in self where index.columns == match.columns {
            if let name = match.index, index.description.name != name { continue }
            if let first, index.description.knownAnalyzer != first.description.knownAnalyzer { continue }
            first = first ?? index
            guard index.answers(match) else { continue }
            if !index.isPartial { return index }
            partial = partial ?? index
            if held == nil, index.storesPositions == partial?.storesPositions, try holding(index) { held = index }
        }
        return held
    }

    /// The index that answers a `matches` condition, even if it has only some entities.
    package func answering(_ match: TextMatch) -> Element? { answering(match) { _ in true } }

    /// The index whose analyzer a `matches` condition uses, whether or not the index answers it. Returns nil if words
    /// are `.standard`'s, or if no index of the condition's name is over all searched columns.
    package func wording(of match: TextMatch) -> Element? {
        if let index = answering(match) { return index }
        guard let name = match.index else {
            return TextWording.place(of: match.columns, in: map(\.columns)).map { self[$0] }
        }
        return first { $0.description.name == name && match.columns.allSatisfy($0.columns.contains) }
    }
}

extension TextMatch {
    /// A matcher that reads only texts, with the analyzer of the index that defines words for the condition.
    package func matcher(by index: (some SearchedIndex)?) -> QueryMatcher {
        QueryMatcher(query, index?.analyzer ?? .standard, hasPositions: index?.storesPositions ?? true)
    }
}

extension IndexDescription {
    /// Whether a full-text index can answer a search over its columns.
    package func answers(_ match: TextMatch) -> Bool {
        positions || knownAnalyzer.map { !match.needsPositions($0) } ?? false
    }
}
