// SPDX-License-Identifier: Apache-2.0
// The code of the guide “Coming from Realm”.

import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Dog {
    @Index<Self>(\.name) private var byName

    let id: Int
    var name: String
    var age: Int
    var collar: Collar?

    @Relationship(inverse: \.dogs) var owners: [Owner]?

    struct Collar: Codable {
        var color: String
    }
}

@EntityModel
private struct Owner {
    let id: Int
    var name: String

    @Relationship(inverse: \.owners) var dogs: [Dog]?
}

@Suite("The guide “Coming from Realm”", .timeLimit(.minutes(30)))
struct ComingFromRealmTests {
    private func filled() throws -> Database {
        let database = try Database.inMemory(models: Dog.self, Owner.self)
        try database.write { context in
            var owner = Owner(id: 1, name: "Ann")
            try owner.save(to: &context)
            for (id, name) in ["Rex", "Bo"].enumerated() {
                let dog = Dog(id: id, name: name, age: id + 3, collar: Dog.Collar(color: "red"))
                try dog.save(to: &context)
            }
            owner.$dogs = .appending(ids: [1])
            try owner.save(to: &context)
        }
        return database
    }

    @Test("Dogs are found, summed, changed and deleted")
    func dogs() throws {
        let database = try filled()
        let results = Dog.filter(\.age > 3)
        try database.read { context in
            #expect(try Dog.query(1).resolve(in: context)?.name == "Bo")
            #expect(try results.sorted(by: \.name).ids(in: context) == [1])
            #expect(try results.count(in: context) == 1)
            #expect(try results.sum(\.age, in: context) == 4)
            let owner = try Owner.query(1).with(\.$dogs).resolve(in: context)
            #expect(owner?.dogs?.map(\.name) == ["Bo"])
        }
        try database.write { context in
            let dog = Dog(id: 1, name: "Bob", age: 4)
            try dog.save(to: &context, options: .fragment)
            #expect(try context.find(Dog.self, 1)?.collar?.color == "red")
            try dog.delete(from: &context)
            #expect(try Owner.query(1).with(\.$dogs).resolve(in: context)?.dogs?.isEmpty == true)
        }
    }

    @Test("Results are observed")
    func observed() async throws {
        let database = try filled()
        let results = Dog.filter(\.age > 3)
        for try await list in database.observe(results) {
            #expect(list.entities.map(\.id) == [1] && list.changes == nil)
            break
        }
    }

    @Test("A read stays at its state, and a file is copied")
    func file() throws {
        let folder = try TemporaryFolder()
        defer { folder.keep() }
        let (path, copy) = (folder.path("a.hornbeam"), folder.path("b.hornbeam"))
        let database = try Database(at: path, models: Dog.self, Owner.self)
        let reader = try database.longLivedRead()
        try database.write { try Dog(id: 1, name: "Rex", age: 1).save(to: &$0) }
        #expect(try reader.read { try $0.ids(Dog.self) } == [])
        try reader.close()
        try database.backup(to: copy)
        try database.compact()
        #expect(try folder.names().contains("b.hornbeam"))
    }
}
