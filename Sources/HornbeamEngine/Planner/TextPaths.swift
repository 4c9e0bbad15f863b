// SPDX-License-Identifier: Apache-2.0
// Paths through full-text indexes for the conjuncts of a query. An index can answer a `matches` over its properties or
// some of them. It can also find the candidates of a test for a part of a text. That test is made again on each row, so
// its answer is the same without an index.

import HornbeamPages
import HornbeamText
import HornbeamTree

/// The paths by full-text indexes, each with its estimated number of rows. A class, so that a planner can look them up
/// when needed and remember the result.
final class TextPaths {
    struct Path {
        /// The position of the conjunct.
        let place: Int
        let path: AccessPath
        let count: Int
        /// Whether all rows found pass the conjunct.
        let isExact: Bool
        /// The conjuncts that hold for all rows in the index.
        let implied: ConjunctSet

        /// The conjuncts that all rows found pass.
        var answered: ConjunctSet { isExact ? implied.inserting(place) : implied }
    }

    @exclusivity(unchecked) private(set) var found: [Path] = []
    /// Ranges to which a ranked search could be restricted, and the estimated number of hits whose rows it tests
    /// instead, because that takes less.
    @exclusivity(unchecked) var untaken: (ranges: IndexMatch, entries: TreeIdentity, tests: Double)?

    /// Number of rows below which a scan takes less than reading an index.
    private static let fewRows = 64

    /// - Parameter wantsIndex: whether a scan is refused, however few rows there are.
    func look(_ conjuncts: [Filter], _ store: EntityStore, rows: Int, wantsIndex: Bool) throws {
        found = try conjuncts.indices.compactMap {
            try Self.path($0, conjuncts[$0], of: conjuncts, store, rows: rows, wantsIndex: wantsIndex)
        }
    }

    /// Must be called when the plan will be run: its tests count for the next search that could be restricted to the
    /// same ranges.
    func noteTests(in store: EntityStore) {
        guard let untaken else { return }
        store.selections.note(tests: Int(untaken.tests.rounded(.up)), untaken.ranges, of: untaken.entries)
    }

    /// Approximate number of rows that pass a conjunct; nil if no index gives it.
    func count(_ place: Int) -> Int? {
        found.first { $0.place == place }?.count
    }

    /// The path for a condition; nil if there is none. For a part of a text it uses the index that finds the fewest
    /// rows.
    /// - Parameter conjuncts: all conditions that hold for the wanted rows.
    static func path(
        _ place: Int, _ condition: Filter, of conjuncts: [Filter], _ store: EntityStore, rows: Int, wantsIndex: Bool
    ) throws -> Path? {
        switch condition {
        case .matches(let match):
            try match.requireSense(store.type)
            guard let (index, implied) = try index(for: match, among: conjuncts, store.type),
                let match = match.over(index),
                let search = index.answers(match) ? match : match.withoutPositions(index)
            else { return nil }
            let count = min(rows, try IndexSearch(index, search, store).estimate())
            return Path(
                place: place, path: .text(index, search, ranked: false), count: count, isExact: search === match,
                implied: implied)
        case .string(let test) where rows >= fewRows || wantsIndex:
            var best: Path?
            for index in store.type.textIndexes where test.columns.allSatisfy(index.columns.contains) {
                guard let match = test.match(index), let implied = try index.implied(by: conjuncts, store.type),
                    let count = try estimate(index, match, store)
                else { continue }
                if let best, best.count <= count { continue }
                best = Path(
                    place: place, path: .text(index, match, ranked: false), count: min(rows, count), isExact: false,
                    implied: implied)
            }
            return best
        default: return nil
        }
    }

    /// The index that defines words for a condition, or another one with the same words if the first may lack wanted
    /// rows.
    private static func index(
        for match: TextMatch, among conjuncts: [Filter], _ type: EntityType
    ) throws -> (EntityTextIndex, implied: ConjunctSet)? {
        guard let wording = type.wording(of: match) else { return nil }
        if let implied = try wording.implied(by: conjuncts, type) { return (wording, implied) }
        for index in type.textIndexes
        where index.hasWords(of: wording) && match.columns.allSatisfy(index.columns.contains) {
            if let name = match.index, index.description.name != name { continue }
            if let implied = try index.implied(by: conjuncts, type) { return (index, implied) }
        }
        return nil
    }

    /// Estimated number of matches. Returns nil if the index can't run the search, which the test doesn't need.
    private static func estimate(_ index: EntityTextIndex, _ match: TextMatch, _ store: EntityStore) throws -> Int? {
        do {
            return try IndexSearch(index, match, store).estimate()
        } catch StorageError.invalid {
            return nil
        }
    }
}

extension EntityTextIndex {
    /// Whether a search has the same meaning in both indexes.
    fileprivate func hasWords(of other: EntityTextIndex) -> Bool {
        storesPositions == other.storesPositions
            && description.knownAnalyzer == other.description.knownAnalyzer
    }

    /// The conjuncts of a query that hold for all rows in the index. Returns nil if the index may lack rows that the
    /// query asks for.
    func implied(by conjuncts: [Filter], _ type: EntityType) throws -> ConjunctSet? {
        guard let condition else { return ConjunctSet() }
        return try condition.implied(by: conjuncts, type)
    }
}

extension StringTest {
    /// A search of the index that finds every text that passes the test. Returns nil if there is none, as for a test
    /// that ignores accents: the test removes the marks of all scripts, an index at most those of some.
    fileprivate func match(_ index: EntityTextIndex) -> TextMatch? {
        guard !isNegated, isDiacriticSensitive, !columns.isEmpty else { return nil }
        let place: PartPlace =
            switch kind {
            case .contains: .anywhere
            case .hasPrefix: .beginning
            case .hasSuffix: .end
            }
        guard
            let query = index.index.analyzer
                .query(forPart: folded(text), at: place, isFolded: letterCase == .folded)
        else { return nil }
        let match = TextMatch(columns: index.columns, query: query)
        return index.answers(match) ? match : match.withoutPositions(index)
    }
}

extension TextMatch {
    /// The search rewritten for an index over these columns and maybe others. Returns nil if it would find other rows.
    fileprivate func over(_ index: EntityTextIndex) -> TextMatch? {
        if columns == index.columns { return self }
        let places = columns.compactMap { index.columns.firstIndex(of: $0) }
        guard places.count == columns.count, query.isWithin(TextQuery.maximumDepth - 1) else { return nil }
        let asked = query.mapFields { (field) throws(Never) in places[field] }
        let isAll = Set(places).count == index.columns.count
        return TextMatch(
            columns: index.columns, query: isAll ? asked : .field(places, asked), using: self.index)
    }

    /// A search of an index without positions that finds all rows that this one finds, and maybe more, which must be
    /// tested. Returns nil if there is none.
    fileprivate func withoutPositions(_ index: EntityTextIndex) -> TextMatch? {
        query.withoutPositions(index.index.analyzer)
            .map { TextMatch(columns: columns, query: $0, using: self.index) }
    }
}
