// SPDX-License-Identifier: Apache-2.0
// Secondary indexes cut short, built in the background, with a missing tree, or with changed code and an unchanged
// version.

import Foundation
import HornbeamSecondaryIndexes
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

@Suite("Secondary indexes that are cut short, damaged, or have changed code")
struct SecondaryDamageTests {
    private func file() throws -> MigratedFile {
        let file = try MigratedFile([]) { _ in }
        try file.open([Employee.self]) { database in
            try database.write { (context) throws in
                for id in 0..<60 { try Employee(id: id, department: "d\(id % 3)").save(to: &context) }
            }
        }
        return file
    }

    @Test("a crash at any call of registering and dropping leaves all trees of the index or none", .seeded)
    func crashes() throws {
        // Returns the number of finished steps, of two.
        func live(_ disk: SimulatedDisk) -> Int {
            var done = 0
            do {
                let database = try MigratedFile.open(disk, [Employee.self], [])
                try database.register(payroll())
                done = 1
                try database.unregister("idx")
                done = 2
                try database.close()
            } catch {}
            return done
        }
        let states = [false, true, false]
        try SimulatedDisk.crashAtEveryCall(of: try file().image, live) { image, done, place in
            let database = try MigratedFile.open(try SimulatedDisk(image: image), [Employee.self], [])
            #expect(try database.isWhole(), place)
            let isThere = try !database.registeredIndexes().isEmpty
            #expect(states[done...].prefix(2).contains(isThere), place)
            let read = try database.store.beginRead()
            #expect(try read.treeNames().contains { $0.hasPrefix("m") } == isThere, place)
            read.abort()
            try database.register(payroll())
            #expect(try database.isWhole(), place)
            let ids = try database.read { context in try payroll().query(department == "d1").ids(in: context) }
            #expect(ids.count == 20, place)
        }
    }

    @Test("built in the background, while others write")
    func background() throws {
        let database = try MigratedFile.open(try SimulatedDisk(), [Employee.self], [])
        try database.write { (context) throws in
            for id in 0..<3_000 { try Employee(id: id, department: "d\(id % 3)", salary: 1).save(to: &context) }
        }
        var limits = BackgroundBuilder.Limits()
        limits.runSize = 20_000
        limits.sliceSize = 5_000
        let build = try database.register(inBackground: payroll().registration, limits)
        for id in 0..<300 {
            try database.write { context in try Employee(id: id * 11, department: "new").save(to: &context) }
        }
        try build.wait()
        #expect(try database.isWhole())
        let count = try database.read { context in try payroll().query(department == "new").count(in: context) }
        #expect(count == 300)
        // Another version replaces it.
        try database.register(inBackground: payroll("2", orders: [[department, salary]])).wait()
        #expect(try database.isWhole())
        let read = try database.store.beginRead()
        defer { read.abort() }
        #expect(
            try read.treeNames().filter { $0.hasPrefix("m") || $0.hasPrefix("r:") }.sorted()
                == ["m1:Employee:idx", "m2:Employee:idx", "m3:Employee:idx", "m:Employee:idx"])
    }

    @Test("a missing tree, or an impossible number of trees, is found by the check; registering rebuilds it")
    func damage() throws {
        let disk = try SimulatedDisk()
        var database = try MigratedFile.open(disk, [Employee.self], [])
        try database.register(payroll())
        try database.write { context in try Employee(id: 1, department: "d").save(to: &context) }
        try database.close()
        let store = try TreeStore.open(file: disk)
        let write = try store.beginWrite()
        _ = try write.dropTree("m2:Employee:idx")
        try write.commit()
        try store.close()
        database = try MigratedFile.open(disk, [Employee.self], [])
        var problems: [String] = []
        #expect(try !database.check { problems.append($0) })
        #expect(problems.count == 1 && problems[0].contains("idx"))
        try database.register(payroll())
        #expect(try database.isWhole())
        #expect(try database.read { context in try payroll().query(salary == 0).ids(in: context) } == [1])
        for count in ["-1", "255", "999999999999999999999", "x"] {
            let stored = StoredIndex(
                name: "idx", identity: [],
                record: StoredIndex.Record(
                    entity: "Employee", kind: "secondary", version: "1", settings: [IndexTrees.setting: count],
                    columns: ""))
            #expect(stored.otherNames.isEmpty)
        }
    }

    // MARK: Drift

    private func raised(_ version: String = "1") -> SecondaryIndex<Employee> {
        SecondaryIndex("idx", version: version, columns: [department, salary]) {
            (employee: Employee, row: inout IndexRowWriter) in
            row[department] = employee.department
            row[salary] = employee.salary + 1
        }
    }

    @Test("other code under the same version is found by a sample: refused, rebuilt, or accepted")
    func drift() throws {
        let disk = try SimulatedDisk(image: try file().image)
        var database = try MigratedFile.open(disk, [Employee.self], [])
        try database.register(payroll())
        try database.close()
        database = try MigratedFile.open(disk, [Employee.self], [])
        let counter = CallCounter()
        try database.register(payroll("1", counter), onDrift: .throw)
        #expect((1...4 * DriftProbe.samples).contains(counter.count), "a sample, each asked twice at most")
        #expect(try database.unregister("other") == false)
        let error = #expect(throws: HornbeamError.self) { try database.register(raised(), onDrift: .throw) }
        #expect(error?.code == .indexDrift && error?.message.contains("version") == true)
        // Nothing has changed.
        #expect(try database.read { context in try payroll().query(salary == 0).count(in: context) } == 60)
        try database.register(raised(), onDrift: .rebuild)
        #expect(try database.read { context in try raised().query(salary == 1).count(in: context) } == 60)
        #expect(try database.isWhole())
        // If it is ignored, the index is wrong, as the check reports. Then it is repaired.
        try database.register(payroll(), onDrift: .ignore)
        #expect(try !database.check())
        try database.repair(index: "idx")
        #expect(try database.isWhole())
        let unknown = #expect(throws: HornbeamError.self) { try database.repair(index: "other") }
        #expect(unknown?.code == .indexNotReady)
    }

    @Test("entities in an index that its code no longer includes are found, too; in map indexes as well")
    func lessCode() throws {
        let database = try MigratedFile.open(try SimulatedDisk(image: try file().image), [Employee.self], [])
        func map(_ least: Int) -> MapIndex<Employee, NoValue, CountReducer<NoValue>> {
            MapIndex("map", version: "1") { (employee: Employee, emit: inout MapEmitter<NoValue>) in
                if employee.id >= least { emit(key: .int(employee.id)) }
            }
        }
        try database.register(map(0))
        try database.register(map(0), onDrift: .throw)
        for least in [60, 30] {
            let error = #expect(throws: HornbeamError.self) { try database.register(map(least), onDrift: .throw) }
            #expect(error?.code == .indexDrift)
        }
        try database.register(map(30), onDrift: .rebuild)
        #expect(try database.read { context in try map(30).query().count(in: context) } == 30)
        #expect(try database.isWhole())
    }
}
