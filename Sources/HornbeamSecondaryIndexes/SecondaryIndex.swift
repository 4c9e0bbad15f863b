// SPDX-License-Identifier: Apache-2.0
// Secondary indexes that a program registers by name: typed columns, which a function of the program's own fills for
// each entity or leaves empty. Docs/indexes.md has the rules.

/// Sets the columns of one entity's row: `row[salary] = employee.salary`.
public struct IndexRowWriter: ~Copyable {
    private let table: SecondaryTable
    private(set) var values: [Value]
    private(set) var failure: HornbeamError?

    init(_ table: SecondaryTable) {
        self.table = table
        values = [Value](repeating: .null, count: table.columns.count - 1)
    }

    /// Whether any column has a value: an entity with none isn't in the index.
    var isEmpty: Bool { values.allSatisfy { $0 == .null } }

    public subscript<Property>(column: IndexColumn<Property>) -> Property? {
        get { number(column.name).flatMap { Property(columnValue: values[$0 - 1]) } }
        set {
            let value = newValue?.columnValue ?? .null
            if let newValue, value == .null, !newValue.isNil {
                return fail(
                    HornbeamError(.invalid, "\("\(newValue)".shown()) can't be stored in column “\(column.name)”"))
            }
            set(value, column.name)
        }
    }

    /// The value of a column by its name. If a column can't hold a value that is set, the save fails with `.invalid`.
    public subscript(name: String) -> Value {
        get { number(name).map { values[$0 - 1] } ?? .null }
        set { set(newValue, name) }
    }

    /// Returns a column's number, or nil for the id's column and for unknown names.
    private func number(_ name: String) -> Int? {
        guard let column = try? table.column(name), column > 0 else { return nil }
        return column
    }

    private mutating func set(_ value: Value, _ name: String) {
        do throws(HornbeamError) {
            guard let column = number(name) else {
                _ = try table.column(name)
                throw HornbeamError(.invalid, "“\(name)” is the id of the entity, which the index sets itself")
            }
            values[column - 1] = try table.converted(value, for: column)
        } catch {
            fail(error)
        }
    }

    private mutating func fail(_ error: HornbeamError) {
        if failure == nil { failure = error }
    }
}

/// An index of named columns over entities of one type, or some of them, registered under a name.
///
///     let department = IndexColumn<String>("department")
///     let salary = IndexColumn<Double>("salary")
///     let idx = SecondaryIndex("idx", version: "1", columns: [department, salary]) {
///         (employee: Employee, row: inout IndexRowWriter) in
///         row[department] = employee.department
///         row[salary] = employee.salary
///     }
///     try database.register(idx)
///
/// The function must always fill the same columns for the same entity, and depend on nothing else; it is called from
/// any thread. An entity for which it fills none isn't in the index and takes no space there. It sees the entity's
/// stored properties; relations are not loaded. When it changes, so must `version`. If it throws, the save of the
/// entity fails with the error.
///
/// Each column has an order of its own, in a tree that follows the entities in their transactions. The values are also
/// stored together, so that they are read without the entities. An entity takes an entry in each of these trees.
public struct SecondaryIndex<Entity: EntityModelProtocol>: RegisteredIndex {
    public let registration: IndexRegistration
    let table: SecondaryTable

    /// Makes an index. The database builds it when it is registered.
    /// - Parameters:
    ///   - name: the name of the index, 1 to 200 bytes. No other registered index of the database may have it.
    ///   - version: must change when `fill` does.
    ///   - columns: any names except `rowid`; at most 254 together with the orders.
    ///   - orders: orders by several columns, besides those of single columns: `WHERE department = ? ORDER BY salary`
    ///     reads one range of such an order.
    ///   - fill: fills the columns of an entity.
    public init(
        _ name: String, version: String, columns: [any SecondaryColumn], orders: [[any SecondaryColumn]] = [],
        fill: @escaping @Sendable (Entity, inout IndexRowWriter) throws -> Void
    ) {
        let table = SecondaryTable(
            name, id: Entity.ID.columnType.unwrapped, columns: columns, compound: orders.map { $0.map(\.name) })
        self.table = table
        registration = IndexRegistration(
            name: name, version: version, kind: "secondary", settings: table.settings, reduction: nil,
            others: table.orders.count, flaw: table.flaw
        ) { (entity: Entity, _) in
            var row = IndexRowWriter(table)
            try fill(entity, &row)
            if let failure = row.failure {
                throw HornbeamError(
                    failure.code, "\(Entity.entityName) \("\(entity.id)".shown()): \(failure.message)")
            }
            return row.isEmpty ? [] : try table.entries(id: entity.id.columnValue, row.values)
        }
    }

    /// Returns a query for all entities of the index, in the order of their row ids. Its methods narrow it.
    public func query() -> SecondaryQuery<Entity> { SecondaryQuery(index: self) }

    /// Returns a query for the rows for which a condition holds: `idx.query(department == "marketing" && salary >=
    /// 100_000)`.
    public func query(_ condition: ColumnCondition) -> SecondaryQuery<Entity> { query().filter(condition) }
}
