// SPDX-License-Identifier: Apache-2.0
// Indexes of several trees, in a damaged file that has lost the index's record but not the trees.

import HornbeamSecondaryIndexes
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("Indexes without their records")
struct LostRecordTests {
    @Test(
        "the remaining trees don't affect the next index of that name, and are reported",
        arguments: [false, true], [false, true])
    func trees(isLost: Bool, inBackground: Bool) throws {
        // An unreadable record can't be replaced: the index must be dropped first. A lost index can be dropped, too.
        for isDropped in isLost ? [false, true] : [true] {
            try trees(isLost: isLost, inBackground: inBackground, isDropped: isDropped)
        }
    }

    private func trees(isLost: Bool, inBackground: Bool, isDropped: Bool) throws {
        let idx = payroll()
        let disk = try SimulatedDisk()
        var database = try MigratedFile.open(disk, [Employee.self], [])
        try database.register(idx)
        try database.register(payrollBeside())
        try database.write { (context) throws in
            for id in 1...3 { try Employee(id: id, department: "a", salary: Double(id)).save(to: &context) }
        }
        try database.close()
        let store = try TreeStore.open(file: disk)
        let write = try store.beginWrite()
        let schema = try #require(try write.tree("schema"))
        let key = Array("index:idx".utf8)
        if isLost { _ = try write.delete(schema, key) } else { try write.put(schema, key, [1]) }
        // Employee 2 counts as missed twice: by the complete index and by its build.
        for name in ["c:Employee:idx", "c:Employee:idx\u{1}"] {
            let missed = try #require(try write.tree(name, create: true))
            try write.put(missed, RowID(rawValue: 2).key, MissedRow.bytes(nil))
        }
        try write.commit()
        try store.close()
        database = try MigratedFile.open(disk, [Employee.self], [])
        // A check reports each tree, or that the record can't be read, and nothing about the other index.
        var problems: [String] = []
        #expect(try !database.check { problems.append($0) })
        #expect(problems.count == (isLost ? 3 + idx.registration.others : 1), "\(problems)")
        #expect(problems.allSatisfy { $0.hasPrefix("index “idx”: ") }, "\(problems)")
        if isDropped {
            #expect(try database.unregister("idx"))
            let read = try database.store.beginRead()
            let left = try read.treeNames().filter { $0.hasSuffix("Employee:idx") }
            read.abort()
            #expect(left.isEmpty)
            #expect(try database.isWhole())
        }
        try database.write { (context) throws in
            try Employee.delete(id: 1, from: &context)
            try Employee(id: 2, department: "b", salary: 9).save(to: &context)
        }
        if inBackground { try database.register(inBackground: idx).wait() } else { try database.register(idx) }
        try database.register(payrollBeside())
        try database.read { (context) throws in
            #expect(try idx.query().sorted(by: salary.descending).ids(in: context) == [2, 3])
            #expect(try idx.query(department == "b").count(in: context) == 1)
            #expect(try payrollBeside().query(salary > 1).ids(in: context) == [2, 3])
        }
        #expect(try database.isWhole())
    }
}

/// Another index, whose name ends with the name of `payroll`.
private func payrollBeside() -> SecondaryIndex<Employee> {
    SecondaryIndex("other:idx", version: "1", columns: [salary]) { (employee: Employee, row: inout IndexRowWriter) in
        row[salary] = employee.salary
    }
}
