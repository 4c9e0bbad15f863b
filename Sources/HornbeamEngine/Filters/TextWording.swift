// SPDX-License-Identifier: Apache-2.0
// Which of several full-text indexes says what a word is: the same one for a filter, with or without the index's help,
// for highlights and for snippets, so that what is found is what is marked.

package import HornbeamText

enum TextWording {
    /// The place of the index that says it of some columns, among those that are there, as they are declared: the one
    /// over exactly these, in their order or in another one; else the first that has all of them among its own; else
    /// the first that has one of them.
    static func place(of columns: [Int], in indexes: [[Int]]) -> Int? {
        if let exact = indexes.firstIndex(of: columns) { return exact }
        let wanted = Set(columns)
        return indexes.firstIndex { $0.count == wanted.count && Set($0) == wanted }
            ?? indexes.firstIndex { wanted.isSubset(of: $0) } ?? indexes.firstIndex { !wanted.isDisjoint(with: $0) }
    }
}

/// A full-text index, as the choice between several looks at it: declared or stored.
package protocol SearchedIndex: AnyObject {
    var description: IndexDescription { get }
    var columns: [Int] { get }
    var analyzer: Analyzer { get }
    var storesPositions: Bool { get }
    /// Whether it has some entities only.
    var isPartial: Bool { get }
    /// Whether it can tell what a search over its columns finds.
    func answers(_ match: TextMatch) -> Bool
}

extension Array where Element: SearchedIndex {
    /// The one that answers a `matches` condition: of those over exactly its columns, in their order, the one that is
    /// named, or the first whose words are those of the condition. One that has some entities only comes after those
    /// that have all, and only if `holding` says that it has those that are asked for.
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

    /// The one that answers a `matches` condition if only some entities are asked for.
    package func answering(_ match: TextMatch) -> Element? { answering(match) { _ in true } }

    /// The index whose analyzer a `matches` condition goes by, whether or not the index answers it. Nil means
    /// `.standard`, or that no index of the name in the condition is over all columns that are searched.
    package func wording(of match: TextMatch) -> Element? {
        if let index = answering(match) { return index }
        guard let name = match.index else {
            return TextWording.place(of: match.columns, in: map(\.columns)).map { self[$0] }
        }
        return first { $0.description.name == name && match.columns.allSatisfy($0.columns.contains) }
    }
}

extension TextMatch {
    /// A matcher that reads texts alone, by the analyzer of the index whose words the condition means.
    package func matcher(by index: (some SearchedIndex)?) -> QueryMatcher {
        QueryMatcher(query, index?.analyzer ?? .standard, hasPositions: index?.storesPositions ?? true)
    }
}

extension IndexDescription {
    /// For a full-text index: whether it can tell what a search over its columns finds.
    package func answers(_ match: TextMatch) -> Bool {
        positions || knownAnalyzer.map { !match.needsPositions($0) } ?? false
    }
}
