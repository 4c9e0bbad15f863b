// SPDX-License-Identifier: Apache-2.0
// Entities and indexes of the tests of secondary indexes.

import Foundation
import Hornbeam
import HornbeamSecondaryIndexes
import HornbeamTestSupport

@EntityModel
struct Employee: Equatable {
    let id: Int
    var name = ""
    var department: String?
    var salary = 0.0
    var isFormer = false
}

/// An entity whose id isn't a row id.
@EntityModel
struct Track: Equatable {
    let id: String
    var title = ""
    var duration: Int?
    var bytes: Data?
    var released: Date?
    var plays: Int64 = 0
}

let department = IndexColumn<String>("department")
let salary = IndexColumn<Double>("salary")

/// As in the document: employees who have left take no space.
func payroll(
    _ version: String = "1", _ counter: CallCounter? = nil, orders: [[any SecondaryColumn]] = []
) -> SecondaryIndex<Employee> {
    SecondaryIndex("idx", version: version, columns: [department, salary], orders: orders) {
        (employee: Employee, row: inout IndexRowWriter) in
        counter?.note()
        guard !employee.isFormer else { return }
        row[department] = employee.department
        row[salary] = employee.salary
    }
}

/// Returns a database with employees 1 to 6, the last of whom has left.
func staffed(_ indexes: any RegisteredIndex...) throws -> Database {
    let database = try Database.inMemory(models: Employee.self, Track.self, indexes: indexes)
    try database.write { (context) throws in
        let people: [(String, String?, Double)] = [
            ("Ada", "engineering", 150_000), ("Bea", "engineering", 95_000), ("Cem", "marketing", 100_000),
            ("Dag", "marketing", 80_000), ("Eve", nil, 100_000), ("Fay", "marketing", 500_000),
        ]
        for (place, person) in people.enumerated() {
            try Employee(
                id: place + 1, name: person.0, department: person.1, salary: person.2, isFormer: person.0 == "Fay"
            ).save(to: &context)
        }
    }
    return database
}
