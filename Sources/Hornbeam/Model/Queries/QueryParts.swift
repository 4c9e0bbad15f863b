// SPDX-License-Identifier: Apache-2.0
// The parts of queries and aggregates, for modules that answer them from another source than the transaction's store.

extension ListParts {
    /// The source of a list's rows, without its typed parts.
    package enum Origin {
        /// All rows of the type.
        case all
        /// The entities with these ids, in this order.
        case ids([Value])
        /// The rows of an index that the program keeps, by its name.
        case list(String)
        /// Rows that only running earlier steps can find.
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
    /// Returns the stored entities among rows, with the relations that the list loads.
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
    /// The list with the single entity, or an empty one.
    package var asList: QueryList<Entity> { list }
}

extension Aggregate {
    /// The columns that it reads, or nil if it reads whole entities.
    package var columns: Set<Int>? { needs?.columns }
    /// Whether it counts entities.
    package var isNumber: Bool { isCount }
    /// Whether the order of the rows changes the result.
    package var goesByOrder: Bool { !isOrderFree }
    /// Whether it depends on the targets of relations.
    package var followsLinks: Bool { readsLinks }
    /// Whether it needs only the sum and the number of the property's values.
    package var isOfSumAlone: Bool { isOfSum }
    /// The order by a column, if the first row with a value in this order is all that it needs; otherwise nil.
    package var order: SortTerm? { accumulator().missing }

    /// Returns the result for rows of the type.
    /// - Parameter rows: passes each row, with the number of rows that are equal to it in the columns that the
    ///   aggregate reads.
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
