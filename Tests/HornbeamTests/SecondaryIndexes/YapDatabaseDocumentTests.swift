// SPDX-License-Identifier: Apache-2.0
// The snippets on YapDatabase's page on secondary indexes, one by one, and a test for each of its promises and for
// each of its users' experiences.

import Foundation
import HornbeamMapReduce
import HornbeamSecondaryIndexes
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@Suite("YapDatabase's secondary indexes")
struct YapDatabaseDocumentTests {
    // MARK: The snippets of the page

    @Test("Creating secondary indexes: a setup with columns by name, a handler, a registration under a name")
    func creating() throws {
        let setup: [any SecondaryColumn] = [.text("department"), .real("salary")]
        let idx = SecondaryIndex("idx", version: "1", columns: setup) {
            (employee: Employee, dict: inout IndexRowWriter) in
            if !employee.isFormer {
                dict["department"] = employee.department.map { .string($0) } ?? .null
                dict["salary"] = .double(employee.salary)
            }
        }
        let database = try staffed()
        try database.register(idx)
        let rows = try database.read { context in try idx.query("WHERE salary >= 100000").rows(in: context) }
        #expect(rows.map(\.id) == [1, 3, 5])
        #expect(rows.map { $0["department"] } == [.string("engineering"), .string("marketing"), .null])
    }

    @Test("Using secondary indexes: WHERE salary >= 100000, by keys")
    func using() throws {
        let idx = payroll()
        var found: [Int] = []
        try staffed(idx).read { (context) throws in
            let query = try idx.query("WHERE salary >= 100000")
            try query.forEachID(in: context) { id, _ in found.append(id) }
        }
        #expect(found == [1, 3, 5])
    }

    @Test("Standard queries: WHERE department = ? ORDER by salary DESC, by keys and objects")
    func standardQueries() throws {
        let idx = payroll()
        var found: [String] = []
        try staffed(idx).read { (context) throws in
            let query = try idx.query("WHERE department = ? ORDER by salary DESC", "marketing")
            try query.forEach(in: context) { id, employee, stop in
                found.append("\(id) \(employee.name)")
            }
        }
        #expect(found == ["3 Cem", "4 Dag"])
    }

    @Test("Aggregate queries: SUM(salary) of a department")
    func aggregateQueries() throws {
        let idx = payroll()
        let cost = try staffed(idx).read { context in
            try idx.aggregate("SUM(salary)", "WHERE department = ?", "marketing", in: context)
        }
        #expect(cost == .double(180_000))
    }

    @Test("Query parameters: a range of salaries, and a department")
    func parameters() throws {
        let idx = payroll()
        try staffed(idx).read { (context) throws in
            let minSalary = 87_850.0
            let maxSalary = 183_250.0
            let bracket = try idx.query("WHERE salary > ? AND salary <= ?", minSalary, maxSalary)
            #expect(try bracket.ids(in: context) == [1, 2, 3, 5])
            let engineers = try idx.query(
                "WHERE salary > ? AND salary <= ? AND department == ?", minSalary, maxSalary, "engineering")
            #expect(try engineers.ids(in: context) == [1, 2])
        }
    }

    // MARK: Promises

    @Test("registering and unregistering change no byte of the entities, and no code that saves")
    func untouchedEntities() throws {
        let database = try staffed()
        func entities() throws -> [[UInt8]] {
            let read = try database.store.beginRead()
            defer { read.abort() }
            var entries: [[UInt8]] = []
            for name in ["e:Employee", "i:Employee", "n:Employee", "l:Employee"] {
                guard let tree = try read.tree(name) else { continue }
                var cursor = try read.cursor(tree)
                while try cursor.next() { entries.append(Array(cursor.key) + [0] + Array(cursor.value)) }
            }
            return entries
        }
        let before = try entities()
        try database.register(payroll())
        #expect(try entities() == before && before.count == 6)
        #expect(try database.isWhole())
        #expect(try database.unregister("idx"))
        #expect(try entities() == before)
        let trees = try database.store.beginRead()
        defer { trees.abort() }
        #expect(try !trees.treeNames().contains { $0.hasPrefix("m") }, "all its trees have gone with it")
    }

    @Test("integers of 64 bits, doubles, decimals, texts, data, dates, Booleans, ids: each is read back exactly")
    func types() throws {
        let exact = IndexColumn<Int64>("exact")
        let blob = IndexColumn<Data>("a blob")
        let released = IndexColumn<Date>("rowids")
        let typed = SecondaryIndex("typed", version: "1", columns: [exact, blob, released, .numeric("number")]) {
            (track: Track, row: inout IndexRowWriter) in
            row[exact] = track.plays
            row[blob] = track.bytes
            row[released] = track.released
            row["number"] = .int(track.plays)
        }
        let database = try staffed(typed)
        let values: [Int64] = [.min, .max, (1 << 53) + 1, 1 << 53, 0]
        try database.write { (context) throws in
            for (place, value) in values.enumerated() {
                try Track(
                    id: "\(place)", bytes: Data([UInt8(place), 0]),
                    released: Date(timeIntervalSince1970: Double(place)),
                    plays: value
                ).save(to: &context)
            }
        }
        try database.read { (context) throws in
            #expect(try typed.query(exact == (1 << 53) + 1).ids(in: context) == ["2"])
            #expect(
                try typed.query().sorted(by: exact.ascending).rows(in: context).map { $0[exact] } == values.sorted())
            #expect(try typed.query(exact > 1 << 53).ids(in: context) == ["1", "2"])
            #expect(try typed.query("WHERE exact > 9007199254740992.5").ids(in: context) == ["1", "2"])
            #expect(try typed.query("WHERE number = 9007199254740993").ids(in: context) == ["2"])
            #expect(try typed.query("WHERE exact < 1e30 AND exact > -1e30").count(in: context) == 5)
            #expect(try typed.query(blob == Data([3, 0])).ids(in: context) == ["3"])
            #expect(try typed.query("WHERE rowids > ?", Date(timeIntervalSince1970: 2)).ids(in: context) == ["3", "4"])
            #expect(try typed.query().rows(in: context).map { $0["number"] } == values.map { .decimal(Decimal($0)) })
        }
        for columns: [any SecondaryColumn] in [
            [.text("RowID")], [.text("a"), .real("a")], [], [UntypedColumn("json", .json)], [.text("")],
        ] {
            let wrong = SecondaryIndex("wrong", version: "1", columns: columns) {
                (_: Track, _: inout IndexRowWriter) in
            }
            let error = #expect(throws: HornbeamError.self) { try database.register(wrong) }
            #expect(error?.code == .invalid && error?.message.contains("wrong") == true)
        }
    }

    @Test("an entity without filled columns takes no space")
    func subset() throws {
        let few = SecondaryIndex("few", version: "1", columns: [salary]) {
            (employee: Employee, row: inout IndexRowWriter) in
            if employee.id % 1_000 == 0 { row[salary] = employee.salary }
        }
        let database = try Database.inMemory(models: Employee.self)
        try database.write { (context) throws in
            for id in 0..<20_000 { try Employee(id: id, salary: Double(id)).save(to: &context) }
        }
        try database.register(few)
        #expect(try database.read { context in try few.query().count(in: context) } == 20)
        let description = try database.registeredIndexes()[0]
        #expect(description.entries == 20 && description.bytes <= 2 * 8_192)
        // One employee enters the index, and one leaves it.
        try database.write { (context) throws in
            _ = try Employee.query(1_000).delete(from: &context)
            try Employee(id: 30_000, salary: 1).save(to: &context)
        }
        let ids = try database.read { context in try few.query(salary < 2_000).ids(in: context) }
        #expect(ids == [0, 30_000])
    }

    @Test("the function is called only for its own entities; for unchanged ones it is never called again")
    func calls() throws {
        let disk = try SimulatedDisk()
        var database = try MigratedFile.open(disk, [Employee.self, Track.self], [])
        try database.write { (context) throws in
            for id in 0..<10 { try Employee(id: id).save(to: &context) }
            for id in 0..<100 { try Track(id: "\(id)").save(to: &context) }
        }
        var counter = CallCounter()
        try database.register(payroll("1", counter))
        #expect((10...20).contains(counter.count), "once each, twice in a build with checks")
        try database.write { context in try Track(id: "more").save(to: &context) }
        #expect((10...20).contains(counter.count))
        try database.close()
        database = try MigratedFile.open(disk, [Employee.self, Track.self], [])
        counter = CallCounter()
        try database.register(payroll("1", counter))
        #expect(counter.count == 0)
        try database.register(payroll("2", counter))
        #expect((10...20).contains(counter.count), "another version: built once")
        #expect(try database.isWhole())
        try database.close()
    }

    @Test("the same name and columns again change nothing; other columns build anew; another kind is refused")
    func sameName() throws {
        let database = try staffed(payroll())
        let state = try database.newestState()
        try database.register(payroll())
        #expect(try database.newestState() == state)
        let other = SecondaryIndex("idx", version: "1", columns: [salary]) {
            (employee: Employee, row: inout IndexRowWriter) in
            row[salary] = employee.salary
        }
        try database.register(other)
        #expect(try database.read { context in try other.query(salary > 400_000).ids(in: context) } == [6])
        let stale = #expect(throws: HornbeamError.self) {
            try database.read { context in try payroll().query().ids(in: context) }
        }
        #expect(stale?.code == .indexNotReady)
        let map = MapIndex("idx", version: "1") { (_: Employee, _: inout MapEmitter<NoValue>) in }
        let error = #expect(throws: HornbeamError.self) { try database.register(map) }
        #expect(error?.code == .indexMismatch)
        #expect(try database.isWhole())
    }

    @Test("a program that doesn't register it loses nothing: its changes are applied later")
    func unregistered() throws {
        let disk = try SimulatedDisk()
        var database = try MigratedFile.open(disk, [Employee.self], [])
        try database.register(payroll())
        try database.write { (context) throws in
            for id in 0..<1_000 { try Employee(id: id, department: "d", salary: Double(id)).save(to: &context) }
        }
        try database.close()
        database = try MigratedFile.open(disk, [Employee.self], [])
        try database.write { (context) throws in
            for id in 0..<10 { try Employee(id: id, department: "other").save(to: &context) }
        }
        let counter = CallCounter()
        try database.register(payroll("1", counter))
        #expect(counter.count <= 40, "ten rows, before and after, each asked twice at most")
        let count = try database.read { context in try payroll().query(department == "other").count(in: context) }
        #expect(count == 10)
        #expect(try database.isWhole())
        try database.close()
    }

    @Test("keys, objects, both, or indexed values; each can stop")
    func enumerating() throws {
        let idx = payroll()
        try staffed(idx).read { (context) throws in
            let query = idx.query().sorted(by: salary.descending)
            #expect(try query.ids(in: context) == [1, 3, 5, 2, 4])
            #expect(try query.resolve(in: context).map(\.name) == ["Ada", "Cem", "Eve", "Bea", "Dag"])
            var seen: [Int] = []
            try query.forEachID(in: context) { id, stop in
                seen.append(id)
                stop = id == 3
            }
            try query.forEach(in: context) { id, employee, stop in
                seen.append(employee.id)
                stop = true
            }
            try query.forEachRow(in: context) { row, stop in
                seen.append(Int(row[salary] ?? 0))
                stop = true
            }
            #expect(seen == [1, 3, 1, 150_000])
            #expect(try query.first(in: context)?.name == "Ada")
            #expect(try query.filter(salary > 1e9).first(in: context) == nil)
            var cursor = try query.offset(1).limit(3).cursor(in: context)
            var lazily: [Int] = []
            while let row = try cursor.next() { lazily.append(row.id) }
            #expect(lazily == [3, 5, 2])
        }
    }

    @Test("mixed orders on two columns, equal keys by id; limit and offset; groups")
    func orders() throws {
        let idx = payroll()
        try staffed(idx).read { (context) throws in
            #expect(
                try idx.query("ORDER BY department DESC, salary").ids(in: context) == [4, 3, 2, 1, 5])
            #expect(try idx.query("ORDER BY salary DESC LIMIT 2 OFFSET 1").ids(in: context) == [3, 5])
            #expect(try idx.query("ORDER BY salary LIMIT ? OFFSET ?", 2, 1).ids(in: context) == [2, 3])
            #expect(try idx.query("GROUP BY department").ids(in: context) == [1, 3, 5])
            #expect(try idx.query("GROUP BY department LIMIT 1 OFFSET 1").ids(in: context) == [3])
            let costs = try idx.query("GROUP BY department ORDER BY department DESC").groups("SUM(salary)", in: context)
            #expect(costs.map(\.keys) == [[.string("marketing")], [.string("engineering")], [.null]])
            #expect(costs.map(\.values) == [[.double(180_000)], [.double(245_000)], [.double(100_000)]])
            let counts = try idx.query().grouped(by: department).count(in: context)
            #expect(counts.map(\.key) == [nil, "engineering", "marketing"] && counts.map(\.count) == [1, 2, 2])
            let highest = try idx.query().grouped(by: department).max(salary, in: context)
            #expect(highest.map(\.value) == [100_000, 150_000, 100_000])
        }
    }

    @Test("parameters of every kind of text, dates, lists; an empty list gives nothing, a nested one is refused")
    func values() throws {
        let idx = payroll()
        let database = try staffed(idx)
        let texts = ["O'Hara", "", "a\0b", "👨‍👩‍👧", "e\u{301}", "? OR 1=1 --"]
        try database.write { (context) throws in
            for (place, text) in texts.enumerated() {
                try Employee(id: 100 + place, department: text).save(to: &context)
            }
        }
        try database.read { (context) throws in
            for (place, text) in texts.enumerated() {
                #expect(try idx.query("WHERE department = ?", text).ids(in: context) == [100 + place], "\(text)")
            }
            #expect(try idx.query("WHERE department = 'O''Hara'").ids(in: context) == [100])
            #expect(try idx.query("WHERE department IN (?)", ["", "é"]).ids(in: context) == [101, 104])
            #expect(try idx.query("WHERE department IN ('', ?)", "marketing").ids(in: context) == [3, 4, 101])
            #expect(try idx.query("WHERE department IN (?)", [String]()).ids(in: context) == [])
            #expect(try idx.query("WHERE department NOT IN (?)", [String]()).count(in: context) == 11)
            #expect(throws: HornbeamError.self) { try idx.query("WHERE department IN (?)", [["a"]]) }
            #expect(throws: HornbeamError.self) { try idx.query("WHERE department = ?", ["a"]) }
            #expect(throws: HornbeamError.self) { try idx.query("WHERE department = ?") }
            #expect(throws: HornbeamError.self) { try idx.query("WHERE department = 'a'", "a") }
        }
    }

    @Test("a prepared query outlives indexes: planned anew each time, and a clear error without one")
    func prepared() throws {
        let prepared = try IndexQuery("WHERE department = ? ORDER BY salary DESC")
        let compound = payroll(orders: [[department, salary]])
        let database = try staffed(compound)
        func plan(_ idx: SecondaryIndex<Employee>) throws -> String {
            try database.read { context in "\(try idx.query(prepared, "marketing").explain(in: context))" }
        }
        func ids(_ idx: SecondaryIndex<Employee>) throws -> [Int] {
            try database.read { context in try idx.query(prepared, "marketing").ids(in: context) }
        }
        #expect(try plan(compound).contains("idx.department+salary"))
        #expect(try ids(compound) == [3, 4])
        // The index with its order is gone.
        let simple = payroll()
        try database.register(simple)
        #expect(try !plan(simple).contains("idx.department+salary"))
        #expect(try ids(simple) == [3, 4])
        #expect(try database.unregister("idx"))
        let error = #expect(throws: HornbeamError.self) { try ids(simple) }
        #expect(error?.code == .indexNotReady && error?.message.contains("register") == true)
        try database.register(simple)
        #expect(try ids(simple) == [3, 4])
    }

    @Test("avg, max, min, sum, count, group_concat; without values, of nil, beyond the type")
    func aggregates() throws {
        let idx = payroll()
        let database = try staffed(idx)
        try database.read { (context) throws in
            func value(_ function: String, _ text: String = "WHERE department = 'marketing'") throws -> Value {
                try idx.aggregate(function, text, in: context)
            }
            #expect(try value("AVG(salary)") == .double(90_000))
            #expect(try value("MAX(salary)") == .double(100_000) && value("min(salary)") == .double(80_000))
            #expect(try value("COUNT(*)") == .int(2))
            #expect(try value("COUNT(department)", "") == .int(4) && value("COUNT(*)", "") == .int(5))
            #expect(try value("COUNT(DISTINCT department)", "") == .int(2))
            #expect(
                try value("GROUP_CONCAT(department, ' + ')", "ORDER BY salary LIMIT 2")
                    == .string("marketing + engineering"))
            let none = "WHERE salary < 0"
            #expect(try value("SUM(salary)", none) == .double(0) && value("COUNT(*)", none) == .int(0))
            #expect(try value("AVG(salary)", none) == .null && value("MIN(salary)", none) == .null)
            #expect(try idx.query(salary < 0).average(salary, in: context) == nil)
            #expect(try idx.query().sum(salary, in: context) == 525_000)
            #expect(try idx.query().min(department, in: context) == "engineering")
            #expect(try idx.query(department == "engineering").joined(department, in: context).count == 23)
            #expect(throws: HornbeamError.self) { try value("SUM(department)") }
            #expect(throws: HornbeamError.self) { try value("TOTAL(salary)") }
            #expect(throws: HornbeamError.self) { try value("SUM(*)") }
        }
        let plays = IndexColumn<Int64>("plays")
        let played = SecondaryIndex("plays", version: "1", columns: [plays]) {
            (track: Track, row: inout IndexRowWriter) in row[plays] = track.plays
        }
        try database.register(played)
        try database.write { (context) throws in
            try Track(id: "a", plays: .max).save(to: &context)
            try Track(id: "b", plays: 1).save(to: &context)
            let error = #expect(throws: HornbeamError.self) { try played.query().sum(plays, in: context) }
            #expect(error?.code == .invalid && error?.message.contains("9223372036854775808") == true)
            try Track(id: "c", plays: -1).save(to: &context)
            #expect(try played.query().sum(plays, in: context) == .max, "what lies between may be beyond")
        }
    }

    @Test("a value of another type, or for no column, fails the save; nothing is lost silently")
    func wrongValues() throws {
        let idx = SecondaryIndex("strict", version: "1", columns: [.integer("plays"), .text("title")]) {
            (track: Track, row: inout IndexRowWriter) in
            row["title"] = .string(track.title)
            switch track.title {
            case "text": row["plays"] = .string("7")
            case "half": row["plays"] = .double(0.5)
            case "unknown": row["playz"] = .int(1)
            case "rowid": row["rowid"] = .int(1)
            default: row["plays"] = .double(7)
            }
        }
        let database = try staffed(idx)
        try database.write { (context) throws in
            for title in ["text", "half", "unknown", "rowid"] {
                let error = #expect(throws: HornbeamError.self, "\(title)") {
                    try Track(id: title, title: title).save(to: &context)
                }
                #expect(error?.code == .invalid && error?.message.contains("Track \(title)") == true)
            }
            try Track(id: "fine", title: "fine").save(to: &context)
            #expect(try idx.query("WHERE plays = 7").ids(in: context) == ["fine"])
            #expect(try idx.query().count(in: context) == 1)
            for text in [
                "WHERE title = 7", "WHERE playz = 7", "ORDER BY playz", "GROUP BY playz", "WHERE plays >", "WHERE",
                "SELECT plays", "WHERE plays = 7 HAVING plays", "LIMIT -1", "LIMIT 'a'", "WHERE (plays = 7",
                "WHERE title = 'a", "WHERE plays = 7 ORDER salary", "WHERE plays LIKE 7", "LIMIT 1 GROUP BY plays",
            ] {
                let error = #expect(throws: HornbeamError.self, "\(text)") { try idx.query(text) }
                #expect(error?.code == .invalid)
            }
            let nested = String(repeating: "(", count: 100_000)
            #expect(throws: HornbeamError.self) { try IndexQuery("WHERE \(nested)plays = 1") }
        }
        let error = #expect(throws: HornbeamError.self) { try IndexQuery("WHERE salary ~ 5") }
        #expect(error?.message.contains("\n  WHERE salary ~ 5\n               ^") == true)
    }

    @Test("within a write a query sees its changes; undone, they are undone in the index")
    func withinWrites() throws {
        let idx = payroll()
        let database = try staffed(idx)
        struct Refused: Error {}
        #expect(throws: Refused.self) {
            try database.write { (context) throws in
                try Employee(id: 1, department: "gone").save(to: &context)
                #expect(try idx.query(department == "gone").ids(in: context) == [1])
                throw Refused()
            }
        }
        #expect(try database.read { context in try idx.query(department == "gone").count(in: context) } == 0)
    }

    @Test("iterating a query in a write gives the initial results, despite changes")
    func mutation() throws {
        let idx = payroll()
        let database = try Database.inMemory(models: Employee.self, indexes: [idx])
        try database.write { (context) throws in
            for id in 0..<10_000 { try Employee(id: id, salary: Double(id % 7)).save(to: &context) }
        }
        try database.write { (context) throws in
            var seen: Set<Int> = []
            var copy = context
            try idx.query().sorted(by: salary.ascending).forEachID(in: context) { id, _ in
                seen.insert(id)
                _ = try Employee.query(id).delete(from: &copy)
            }
            #expect(seen.count == 10_000)
            #expect(try idx.query().count(in: context) == 0)
            var cursor = try idx.query().cursor(in: context)
            #expect(try cursor.next() == nil)
            try Employee(id: 1).save(to: &context)
            #expect(try cursor.next() == nil)
        }
        #expect(try database.isWhole())
    }
}
