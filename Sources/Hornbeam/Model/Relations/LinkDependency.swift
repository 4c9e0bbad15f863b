// SPDX-License-Identifier: Apache-2.0
// The relations that a query reads. A commit can change the result by the links of the query's own rows, or by the
// entities that these lead to, whose links are then followed back to the query's rows. A live query reads only these
// rows again.

import HornbeamTree

/// The part of one entity type that a query reads.
package struct RowDependency: Sendable {
    package enum Rows: Sendable {
        /// Only whether they are linked.
        case none
        /// Whether they are stored and pass a filter on their own properties.
        case verdict(Filter)
        case content
    }

    package var rows: Rows
    package var links: [LinkDependency]
}

/// A relation that is read for the entities of a type.
package enum LinkDependency: Sendable {
    /// The links of the entities, and their targets.
    case along(relation: String, RowDependency)
    /// The links from other entities to these, by a relation of the others.
    case from(type: String, relation: String)
}

/// A value that loads relations into entities, without their type.
protocol LinkReading {
    /// The relations that it reads, or nil if they aren't known before it reads.
    var dependencies: [LinkDependency]? { get }
}

extension NestedSteps: LinkReading {
    var dependencies: [LinkDependency]? {
        let known = steps.compactMap { $0.dependency() }
        return known.count == steps.count ? known : nil
    }
}

extension ListParts {
    /// The relations that are loaded with the entities, or nil if they aren't known before.
    package var nestedDependencies: [LinkDependency]? {
        guard let nested else { return [] }
        return (nested as? any LinkReading)?.dependencies
    }

    /// The dependencies of a list that selects from linked entities, or nil if it depends on more than these.
    var dependencyOfLinked: RowDependency? {
        guard case .all = source, after == nil, !isRanked, !ignoresLinks, var links = nestedDependencies else {
            return nil
        }
        filter.addLinks(to: &links)
        for term in order {
            if case .score = term.key { return nil }
            if case .linkCount(let relation) = term.key { links.append(.count(of: relation)) }
        }
        return RowDependency(rows: .content, links: links)
    }
}

extension LinkDependency {
    static func count(of relation: String) -> Self {
        .along(relation: relation, RowDependency(rows: .verdict(.all), links: []))
    }
}

extension Filter {
    /// Adds the links that the filter reads beyond the row that it tests.
    package func addLinks(to links: inout [LinkDependency]) {
        switch self {
        case .links(let test):
            var inner: [LinkDependency] = []
            test.filter.addLinks(to: &inner)
            links.append(
                .along(
                    relation: test.relation,
                    RowDependency(rows: inner.isEmpty ? .verdict(test.filter) : .content, links: inner)))
        case .linkCount(let relation, _, _): links.append(.count(of: relation))
        case .related(let source): links.append(.from(type: source.type, relation: source.relation))
        case .and(let parts), .or(let parts): for part in parts { part.addLinks(to: &links) }
        case .not(let part): part.addLinks(to: &links)
        default: break
        }
    }
}

extension RowDependency {
    /// Returns the trees that this is read from.
    func trees(_ store: EntityStore) throws -> Set<TreeID> {
        var trees: Set<TreeID> = []
        try addTrees(store, to: &trees)
        return trees
    }

    private func addTrees(_ store: EntityStore, to trees: inout Set<TreeID>) throws {
        if case .none = rows {} else { trees.insert(store.type.rows) }
        let core = store.core
        for link in links {
            switch link {
            case .along(let relation, let target):
                let side = try store.type.relation(relation)
                trees.insert(side.list.tree)
                try target.addTrees(try core.store(side.target), to: &trees)
            case .from(let type, let relation):
                let side = try core.store(type).type.relation(relation)
                trees.insert(try core.edges.other(of: side).list.tree)
            }
        }
    }
}
