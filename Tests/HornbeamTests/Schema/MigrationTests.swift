// SPDX-License-Identifier: Apache-2.0
// Declared migrations of properties and types: their effects on a file of an earlier version, that they do nothing
// the second time, and the refusals, which leave the file unchanged.

import Dispatch
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private enum Level: Int, Codable { case low = 1, high = 2 }

@EntityModel
private struct Citizen {
    @Index<Self>(\.email) private var byEmail
    @Index<Self>(\.age) private var byAge

    let id: String
    var email: String
    var age: Int
    var fullName: String
    var level = Level.low
}

/// Earlier versions of Citizen.
private func human(_ name: String = "Human") -> EntityDescription {
    EntityDescription(
        name: name,
        columns: [
            column("id", .string), column("mail", .string), column("age", .string), column("first", .string),
            column("last", .string), column("ssn", .optional(.string)), column("level", .string),
        ],
        indexes: [
            IndexDescription(name: "byEmail", kind: .value, components: [.init(column: "mail")]),
            IndexDescription(name: "byAge", kind: .value, components: [.init(column: "age")]),
            IndexDescription(name: "bySSN", kind: .unique, components: [.init(column: "ssn")]),
            IndexDescription(name: "search", kind: .text, components: [.init(column: "first")]),
        ])
}

private func file(_ name: String = "Human", count: Int = 40) throws -> MigratedFile {
    try MigratedFile([human(name)]) { store in
        for number in 0..<count {
            try store.save(
                name,
                [
                    .string("p\(number)"), .string("m\(number)@x"), .string("\(number)"), .string("F\(number)"),
                    .string("L"), .string("secret\(number)"), .string(number % 2 == 0 ? "low" : "high"),
                ])
        }
    }
}

private let all: [Migration] = [
    .rename("Human", to: Citizen.self),
    .rename(Citizen.self, "mail", to: \.email),
    .convert(Citizen.self, \.age, from: String.self) { Int($0) ?? 0 },
    .convert(Citizen.self, \.level, from: String.self) { $0 == "high" ? .high : .low },
    .fill(Citizen.self, \.fullName) { old in
        "\(try old.value("first", as: String.self)) \(try old.value("last", as: String.self))"
    },
    .forget(Citizen.self, "ssn"),
]

@EntityModel
private struct Badge {
    @Unique<Self>(\.key, collisions: .throw) private var byKey
    let id: Int
    var key: String
}

private func message(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "nothing thrown"
    } catch let error as HornbeamError {
        return "\(error.code): \(error.message)"
    } catch {
        return "\(error)"
    }
}

@Suite("Migrations")
struct MigrationTests {
    @Test("a type and a property are renamed, others converted, derived and forgotten, in one opening")
    func everything() throws {
        let file = try file()
        try file.open([Citizen.self], all) { database throws in
            try database.read { context throws in
                let person = try #require(try context.find("p7") as Citizen?)
                #expect(person.email == "m7@x" && person.age == 7 && person.fullName == "F7 L" && person.level == .high)
                #expect(try Citizen.filter(\.email == "m9@x").ids(in: context) == ["p9"])
                #expect(try Citizen.filter(\.age >= 38).ids(in: context).sorted() == ["p38", "p39"])
                #expect(try Citizen.query().sorted(by: \.age).first(in: context)?.id == "p0")
            }
            try database.write { context in
                try Citizen(id: "new", email: "", age: 1, fullName: "").save(to: &context)
            }
        }
        #expect(try file.types().map(\.name) == ["Citizen", "Deleted<Citizen>"])
        let columns = try file.types()[0].columns.map { "\($0.name) \($0.type)" }
        #expect(
            columns == [
                "id string", "email string", "age int64", "first string", "last string", "level int64",
                "fullName string", "$updatedAt date?",
            ])
        try file.open([Citizen.self], all) { database throws in
            #expect(try database.read { try Citizen.query().count(in: $0) } == 41)
            #expect(database.schemaDescription.map(\.name) == ["Citizen", "Deleted<Citizen>"])
        }
    }

    @Test("steps that no longer apply change nothing: the transaction's number stays")
    func idle() throws {
        let file = try file()
        let first = try file.open([Citizen.self], all) { $0.statistics.transaction }
        let second = try file.open([Citizen.self], all) { $0.statistics.transaction }
        #expect(second == first)
    }

    @Test("an index over a renamed property is not built anew; one over a converted property is")
    func indexesKept() throws {
        var built: [String] = []
        try file().open(
            [Citizen.self], all,
            progress: { step in
                if step.step == .buildingIndex, step.done == step.total { built.append(step.name) }
            }
        ) { _ in }
        #expect(built == ["byAge"])
    }

    @Test("a new file needs no migration")
    func newFile() throws {
        let database = try Database.inMemory(models: Citizen.self, migrations: all)
        try database.write { try Citizen(id: "a", email: "", age: 1, fullName: "").save(to: &$0) }
        #expect(try database.read { try Citizen.query().count(in: $0) } == 1)
    }

    @Test("without migrations the change is refused, and the message names the property and the remedy")
    func undeclared() throws {
        let file = try file("Citizen")
        let text = message { try file.open([Citizen.self]) { _ in } }
        #expect(
            text.contains("schemaMismatch") && text.contains("Citizen.age") && text.contains(".convert("), "\(text)")
    }

    @Test("an error of a closure names type, id and property, and leaves the file as it was")
    func throwing() throws {
        struct Odd: Error {}
        let file = try file("Citizen")
        var steps = all
        steps[2] = .convert(Citizen.self, \.age, from: String.self) { text in
            guard text != "17", let age = Int(text) else { throw Odd() }
            return age
        }
        let error = #expect(throws: HornbeamError.self) { try file.open([Citizen.self], steps) { _ in } }
        let text = error?.message ?? ""
        #expect(text.contains("Citizen \"p17\"") && text.contains("“age”") && text.contains("Odd"), "\(text)")
        #expect(error?.code == .schemaMismatch && error?.cause is Odd)
        #expect(try file.types() == [human("Citizen")])
    }

    @Test("a nil converted to a type without nil is an error that names the row; in an optional type it stays")
    func nils() throws {
        let type = EntityDescription(
            name: "Sized",
            columns: [column("id", .int64), column("size", .optional(.string)), column("width", .optional(.string))])
        let file = try MigratedFile([type]) { store in
            try store.save("Sized", [.int(1), .string("5"), .string("6")])
            try store.save("Sized", [.int(2), .null, .null])
        }
        let width = Migration.convert(Sized.self, \.width, from: String.self) { Int($0) }
        let text = message {
            try file.open([Sized.self], [width, .convert(Sized.self, \.size, from: String.self) { Int($0) ?? 0 }]) {
                _ in
            }
        }
        #expect(text.contains("Sized 2") && text.contains("“size”"), "\(text)")
        try file.open(
            [Sized.self], [width, .convert(Sized.self, \.size, from: String?.self) { $0.flatMap { Int($0) } ?? -1 }]
        ) {
            database throws in
            let all: [Sized] = try database.read { try $0.all() }
            #expect(all.map(\.size) == [5, -1] && all.map(\.width) == [6, nil])
        }
    }

    @Test("contradictory steps are refused with a remedy")
    func contradictions() throws {
        func text(_ type: String, _ steps: [Migration]) throws -> String {
            let file = try file(type)
            return message { try file.open([Citizen.self], steps) { _ in } }
        }
        let wrongType = try text(
            "Citizen",
            [.rename(Citizen.self, "mail", to: \.email), .convert(Citizen.self, \.age, from: Double.self) { Int($0) }])
        #expect(
            wrongType.contains("Citizen.age is stored as string, declared as int64, and converted from double"),
            "\(wrongType)")
        let twice = try text(
            "Citizen", [.rename(Citizen.self, "mail", to: \.email), .rename(Citizen.self, "first", to: \.email)])
        #expect(twice.contains("Citizen.first can't be renamed to email: the store has both"), "\(twice)")
        let declared = try text("Citizen", [.drop("Citizen")])
        #expect(declared.contains("is also among the models"), "\(declared)")
        let id = try text(
            "Citizen", all + [.convert(Citizen.self, \.id, from: Int.self) { "\($0)" }, .forget(Citizen.self, "id")])
        #expect(id == "nothing thrown", "a step on the id that doesn't apply is skipped: \(id)")
        let missing = try text(
            "Citizen", [.fill(Citizen.self, \.fullName) { old in try old.value("nope", as: String.self) }] + all)
        #expect(missing.contains("no property “nope”"), "\(missing)")
        let names = try text("Citizen", all + [.run("a") { _ in }, .run("a") { _ in }])
        #expect(names.contains("name of its own"), "\(names)")
    }

    @Test("a file of any version finds its conversion: the one with the stored type")
    func alternatives() throws {
        let both: [Migration] = [
            .convert(Sized.self, \.size, from: Double.self) { Int($0) },
            .convert(Sized.self, \.size, from: String.self) { Int($0) ?? 0 },
        ]
        for (type, value) in [(ColumnType.string, Value.string("3")), (.double, .double(3)), (.int64, .int(3))] {
            let old = EntityDescription(name: "Sized", columns: [column("id", .int64), column("size", type)])
            let file = try MigratedFile([old]) { try $0.save("Sized", [.int(1), value]) }
            try file.open([Sized.self], both) { database throws in
                #expect(try database.read { (try $0.find(1) as Sized?)?.size } == 3, "\(type)")
            }
        }
    }

    @Test("a removed property that comes back with another type begins anew by forget, or is converted")
    func comesBack() throws {
        let old = EntityDescription(
            name: "Sized", columns: [column("id", .int64), column("size", .string), column("width", .string)])
        let file = try MigratedFile([old]) { try $0.save("Sized", [.int(1), .string("3"), .string("4")]) }
        let refused = message { try file.open([Sized.self]) { _ in } }
        #expect(refused.contains(".forget(Sized.self"), "\(refused)")
        try file.open(
            [Sized.self],
            [.forget(Sized.self, "width"), .forget(Sized.self, "size"), .fill(Sized.self, \.size) { _ in 8 }]
        ) {
            database throws in
            let sized = try #require(try database.read { try $0.find(1) as Sized? })
            #expect(sized.size == 8 && sized.width == nil)
        }
    }

    @Test("an entity type is dropped with its data and the links to it")
    func dropped() throws {
        let temp = EntityDescription(name: "Temp", columns: [column("id", .int64)])
        let sized = EntityDescription(
            name: "Sized", columns: [column("id", .int64), column("size", .int64)],
            relations: [RelationDescription(name: "temps", target: "Temp", toMany: true)])
        let file = try MigratedFile([temp, sized]) { store in
            try store.save("Temp", [.int(1)])
            try store.save("Sized", [.int(1), .int(2)])
            try store.core.edges.set(store["Sized"].type.relation("temps"), RowID(rawValue: 1), [RowID(rawValue: 1)])
        }
        try file.open([Sized.self], [.drop("Temp")]) { _ in }
        #expect(try file.types().map(\.name) == ["Deleted<Sized>", "Sized"])
        #expect(try file.types()[1].relations == [])
    }

    @Test("a type that was opened under its new name before the rename was declared is replaced if it is empty")
    func lateRename() throws {
        let file = try file()
        try file.open([Citizen.self]) { _ in }
        try file.open([Citizen.self], all) { database throws in
            #expect(try database.read { try Citizen.query().count(in: $0) } == 40)
        }
        let full = try self.fileOfBoth()
        let text = message { try full.open([Citizen.self], all) { _ in } }
        #expect(text.contains("the store has entities of both"), "\(text)")
    }

    private func fileOfBoth() throws -> MigratedFile {
        let file = try file()
        try file.open([Citizen.self]) { database throws in
            try database.write { try Citizen(id: "x", email: "", age: 1, fullName: "").save(to: &$0) }
        }
        return file
    }

    @Test("a custom step runs once in the life of a file, after the others; its error undoes all")
    func ownSteps() throws {
        struct Stop: Error {}
        let file = try file()
        let failing = all + [.run("double") { _ in throw Stop() }]
        let error = #expect(throws: HornbeamError.self) { try file.open([Citizen.self], failing) { _ in } }
        #expect(error?.code == .schemaMismatch && error?.cause is Stop)
        #expect(error?.message.contains("step “double”") == true, "\(error?.message ?? "")")
        #expect(try file.types().map(\.name) == ["Human"])
        let step =
            all + [
                .run("double") { context in
                    for var person: Citizen in try context.all() {
                        person.age *= 2
                        try person.save(to: &context)
                    }
                }
            ]
        for _ in 0..<2 {
            try file.open([Citizen.self], step) { database throws in
                #expect(try database.read { (try $0.find("p7") as Citizen?)?.age } == 14)
            }
        }
    }

    @Test("an error of the library in a step keeps its code, and names the key")
    func ownCodes() throws {
        let file = try file()
        let step = Migration.run("twice") { context in
            for id in 1...2 { try Badge(id: id, key: "same").save(to: &context) }
        }
        let error = #expect(throws: HornbeamError.self) {
            try file.open([Citizen.self, Badge.self], all + [step]) { _ in }
        }
        #expect(error?.code == .uniqueViolation && error?.violation?.existing == .int(1))
        #expect((error?.cause as? HornbeamError)?.code == .uniqueViolation)
    }

    @Test("a unique key that two entities have is refused with both of them")
    func uniqueKeys() throws {
        let type = EntityDescription(name: "Badge", columns: [column("id", .int64), column("key", .string)])
        let file = try MigratedFile([type]) { store in
            for id in [4, 7] { try store.save("Badge", [.int(Int64(id)), .string("same")]) }
        }
        let error = #expect(throws: HornbeamError.self) { try file.open([Badge.self]) { _ in } }
        #expect(
            error?.violation
                == UniqueViolation(
                    entityName: "Badge", indexName: "byKey", existing: .int(4), new: .int(7), values: [.string("same")])
        )
    }

    @Test("a property that may have had another name is refused with the rename to declare")
    func renamed() throws {
        let type = EntityDescription(
            name: "Badge", columns: [column("id", .int64), column("code", .string), column("size", .int64)])
        let file = try MigratedFile([type]) { try $0.save("Badge", [.int(1), .string("a"), .int(1)]) }
        let text = message { try file.open([Badge.self]) { _ in } }
        #expect(text.contains(#".rename(Badge.self, "code", to: \.key)"#) && !text.contains("size"), "\(text)")
        try file.open([Badge.self], [.rename(Badge.self, "code", to: \.key)]) { database throws in
            #expect(try database.read { (try $0.find(1) as Badge?)?.key } == "a")
        }
    }

    @Test("progress reaches its total in each step, and throwing in it leaves the file unchanged")
    func progress() throws {
        struct Cancelled: Error {}
        let file = try file(count: 3000)
        var last: [String: MigrationProgress] = [:]
        for step in [MigrationProgress.Step.migratingRows, .buildingIndex] {
            #expect(throws: Cancelled.self) {
                try file.open([Citizen.self], all, progress: { if $0.step == step { throw Cancelled() } }) { _ in }
            }
        }
        try file.open(
            [Citizen.self], all,
            progress: { report in
                let key = "\(report.step) \(report.entity) \(report.name)"
                #expect(report.done >= last[key]?.done ?? 0 && report.done <= report.total)
                last[key] = report
            }
        ) { _ in }
        #expect(last.keys.sorted() == ["buildingIndex Citizen byAge", "migratingRows Citizen "])
        #expect(last.values.allSatisfy { $0.done == 3000 && $0.total == 3000 })
    }

    @Test("opening need not block its thread; cancelled with its task it leaves the file unchanged")
    func asynchronous() async throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let path = try folder.write("citizens.hornbeam", try #require(try file(count: 3000).image))
        let migrations = all
        let (reports, reported) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        let opening = Task {
            // Also if it fails before its first report.
            defer { reported.finish() }
            return try await Database.open(at: path, models: Citizen.self, migrations: migrations) { report in
                guard report.done == 0 || report.done == 1024 else { return }
                reported.yield()
                gate.wait()
            }
        }
        for await _ in reports { break }
        opening.cancel()
        for _ in 0..<4 { gate.signal() }
        await #expect(throws: CancellationError.self) { try await opening.value }
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await Database.open(at: path, models: Citizen.self, migrations: migrations) { _ in
                Issue.record("a task that was cancelled before has begun to migrate")
            }
        }
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }

        let store = try TreeStore.open(at: path)
        let read = try store.beginRead()
        #expect(try SchemaCatalogue.load(read).typeNames.contains("Human"))
        read.abort()
        try store.close()
        let database = try await Database.open(at: path, models: Citizen.self, migrations: migrations)
        #expect(try await database.read { try Citizen.filter(\.age == 14).ids(in: $0) } == ["p14"])
        try database.close()
    }
}

@EntityModel
private struct Sized {
    let id: Int
    var size: Int
    var width: Int?
}
