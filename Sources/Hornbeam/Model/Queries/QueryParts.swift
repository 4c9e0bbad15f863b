// SPDX-License-Identifier: Apache-2.0
// The parts of queries and aggregates, for modules that answer them from elsewhere than the transaction's own store.

extension ListParts {
    /// The source of a list's rows, without its typed parts.
    package enum Origin {
        /// All rows of the type.
        case all
        /// The entities with these ids, in this order.
        case ids([Value])
        /// The rows of an index that the program keeps, by its name.
        case list(String)
        /// Rows that only earlier steps can tell.
        case steps
    }

    package var origin: Origin {
        switch source {
        case .all: .all
        case .own(let rows): rows.ids.map { .ids($0) } ?? .list(list ?? "")
        case .steps: .steps
        }
    }

    /// The planner's query for the list's steps.
    package func entityQuery(of type: String) -> EntityQuery { query(type) }

    /// Joins a condition to the present ones.
    package mutating func restrict(to condition: Filter) { add(condition, isRanked: false) }

    /// Whether relations are loaded with the entities.
    package var hasNested: Bool { nested != nil }
}

extension QueryList {
    /// The stored ones among rows of a context, as entities with all that the list nests in them.
    package func entities(at rows: [RowID], in context: Context) throws -> [Entity] {
        try context.session.run { try decode(rows, $0) }
    }

    /// The list without the relations that are loaded with its entities.
    package var withoutNested: Self {
        var list = self
        list.parts.nested = nil
        return list
    }
}

extension Query {
    /// The list that gives the single entity, or none.
    package var asList: QueryList<Entity> { list }
}

extension Aggregate {
    /// The columns that it reads, nil if it reads whole entities.
    package var columns: Set<Int>? { needs?.columns }
    /// Whether it is the number of entities.
    package var isNumber: Bool { isCount }
    /// Whether the order of the rows changes the result.
    package var goesByOrder: Bool { !isOrderFree }
    /// Whether it depends on the targets of relations.
    package var followsLinks: Bool { readsLinks }
    /// Whether sum and number of the property's values are all that it needs.
    package var isOfSumAlone: Bool { isOfSum }
    /// The order by a column whose first row with a value there is all that it needs, nil if there is none.
    package var order: SortTerm? { accumulator().missing }

    /// Returns the result for rows of the type.
    /// - Parameter rows: hands over each row with the number of rows that are equal in the columns it reads.
    package func result(
        of rows: (_ add: (RowReader, Int) throws -> Void) throws -> Void
    ) throws -> Result {
        let accumulator = accumulator()
        try rows { reader, count in
            var row = AggregatedRow<Entity>(reader, in: nil)
            try accumulator.add(&row, times: count)
        }
        return try accumulator.result()
    }

    /// Returns the result of a number of entities.
    package func result(ofCount count: Int) throws -> Result {
        let accumulator = accumulator()
        accumulator.add(rows: count)
        return try accumulator.result()
    }
}
