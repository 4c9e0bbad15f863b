// SPDX-License-Identifier: Apache-2.0
// Tests of the entities that a relation leads to, bound to a transaction. Links to entities that aren't stored don't
// count.

/// Whether any, all or none of a source's stored targets pass a filter.
final class LinkFilter {
    private let test: LinkTest
    private let side: EdgeSide
    private let edges: EdgeTrees
    private let targets: EntityStore
    private let filter: RowFilter
    /// Earlier verdicts of the filter on targets, because many sources may share a few of them. Bounded.
    private var known: [RowID: Bool] = [:]
    private static let maximumKnown = 4096

    init(_ test: LinkTest, of type: EntityType, _ core: StoreTransaction) throws {
        self.test = test
        side = try type.relation(test.relation)
        edges = core.edges
        targets = try core.store(side.target)
        filter = try RowFilter(test.filter, type: targets.type, core: core)
    }

    func accepts(_ source: RowID) throws -> Bool {
        // One target decides each quantifier.
        let deciding = test.quantifier != .all
        var isDecided = false
        try edges.forEachTarget(side, of: source) { target in
            isDecided = try verdict(target) == deciding
            return !isDecided
        }
        return isDecided == (test.quantifier == .any)
    }

    /// Returns whether the filter accepts a target, or nil if the target isn't stored.
    private func verdict(_ target: RowID) throws -> Bool? {
        if filter.acceptsAll { return try targets.isSaved(target) ? true : nil }
        if let known = known[target] { return known }
        guard let row = try targets.row(target) else { return nil }
        let verdict = try filter.accepts(target, row)
        if known.count >= Self.maximumKnown { known.removeAll(keepingCapacity: true) }
        known[target] = verdict
        return verdict
    }
}

/// Counts the stored targets of a source.
struct LinkCounter {
    private let side: EdgeSide
    private let edges: EdgeTrees

    init(_ relation: String, of type: EntityType, _ core: StoreTransaction) throws {
        side = try type.relation(relation)
        edges = core.edges
    }

    func count(_ source: RowID) throws -> Int { try edges.storedCount(side, of: source) }
}
