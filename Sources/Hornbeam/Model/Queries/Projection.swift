// SPDX-License-Identifier: Apache-2.0
// Queries for some properties instead of whole entities: only these columns are read, or only an index that has them
// all.

/// Properties of a query's entities, ready to be read. Made by `QueryList.select`.
public struct Projection<Entity: EntityModelProtocol, each Property: Sendable>: Sendable {
    private let list: QueryList<Entity>
    private let properties: (repeat AggregatedProperty<Entity, each Property>)

    fileprivate init(_ list: QueryList<Entity>, _ properties: repeat AggregatedProperty<Entity, each Property>) {
        self.list = list
        self.properties = (repeat each properties)
    }

    /// Returns the properties of each entity, in the query's order: a value for one property, a tuple for several.
    /// Without an argument it reads in the context that the query began with.
    public func resolve(in context: Context? = nil) throws -> [(repeat each Property)] {
        var found: [(repeat each Property)] = []
        try list.forEachRow(in: context, needs: needs) { row, equal in
            let values = (repeat try (each properties).read(&row))
            for _ in 0..<equal.count { found.append(values) }
        }
        return found
    }

    /// Returns the properties of the first entity, or nil if there is none.
    public func first(in context: Context? = nil) throws -> (repeat each Property)? {
        try Self(list.limit(1), repeat each properties).resolve(in: context).first
    }

    /// Returns the plan for finding the entities. A covering plan reads an index alone.
    public func explain(in context: Context) throws -> Plan {
        try list.explain(needs: needs, in: context)
    }

    /// The columns that are read. Returns nil if a property is computed from the whole entity.
    private var needs: RowNeeds? {
        var all = RowNeeds(isOrderFree: false)
        for property in repeat each properties {
            guard let needs = property.exactNeeds else { return nil }
            all = all.union(needs)
        }
        return all
    }
}

extension QueryList {
    /// Selects some properties of the entities, stored or computed:
    /// `Book.query().sorted(by: \.title).select(\.title, \.year).resolve(in: context)`.
    ///
    /// Only the columns of stored properties are read, without making an entity. If an index has everything that the
    /// query and the properties need, it is read instead of rows. A computed property needs the whole entity.
    public func select<each Property: Sendable>(
        _ keyPaths: repeat KeyPath<Entity, each Property>
    ) -> Projection<Entity, repeat each Property> {
        Projection(self, repeat AggregatedProperty(each keyPaths))
    }
}
