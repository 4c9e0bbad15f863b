// SPDX-License-Identifier: Apache-2.0
// The code of the article “Relations”.

public import Hornbeam
import Testing

@EntityModel
struct Team {
    let id: String
    var name: String

    @Relationship(deleteRule: .cascade, inverse: \.team) var jobs: [Job]?
    @Relationship(inverse: \.teams) var members: [Person]?
}

@EntityModel
struct Job {
    let id: Int
    var title: String

    @Relationship(.required, inverse: \.jobs) var team: Team?
    @Relationship var watchers: [Person]? = nil
}

@EntityModel
struct Person {
    let id: String
    var name: String

    @Relationship(inverse: \.members) var teams: [Team]?
}

@EntityModel
public struct Manual {
    public let id: Int
    @Relationship(inverse: \.manual) public var chapters: [Chapter]?

    public init(id: Int) { self.id = id }
}

@EntityModel
public struct Chapter {
    public let id: Int
    public var title: String

    @Relationship(.required, inverse: \.chapters) public var manual: Manual?
    @Relationship() public var sources: [Source]?

    public init(id: Int, title: String, manual: RequiredToOne<Manual>, sources: OneWayToMany<Source> = .none) {
        self.id = id
        self.title = title
        $manual = manual
        $sources = sources
    }
}

@EntityModel
public struct Source {
    public let id: Int

    public init(id: Int) { self.id = id }
}

@Suite("Relations, as the article shows them")
struct RelationsTests {
    private func saved() throws -> Context {
        var context = Context()
        try Team(
            id: "db", name: "Database",
            jobs: .relation([Job(id: 1, title: "Write the journal"), Job(id: 2, title: "Test it")]),
            members: .ids(["ann", "bob"])
        ).save(to: &context)
        return context
    }

    @Test("A graph is saved and loaded as requested, ids of unstored entities included")
    func load() throws {
        var context = try saved()
        try Person(id: "ann", name: "Ann").save(to: &context)
        let team = try Team.query("db")
            .with(\.$jobs) { job in
                job.sorted(by: \.title).id(\.$watchers)
            }
            .with(\.$members)
            .resolve(in: context)
        let titles = team?.jobs?.map(\.title)
        let watchers = team?.jobs?.first?.$watchers.ids
        #expect(titles == ["Test it", "Write the journal"])
        #expect(watchers == [])
        #expect(team?.members?.map(\.name) == ["Ann"])
        #expect(try Team.query("db").id(\.$members).resolve(in: context)?.$members.ids == ["ann", "bob"])

        let jobs: [Job] = try Team.query("db").related(\.$jobs).filter(\.title != "Test it").resolve(in: context)
        #expect(jobs.map(\.id) == [1])
    }

    @Test("The value of a relation decides the effect of saving it")
    func set() throws {
        var context = try saved()
        func linked() throws -> [Int]? { try Team.query("db").id(\.$jobs).resolve(in: context)?.$jobs.ids }
        try Team(id: "db", name: "Databases").save(to: &context)
        #expect(try linked() == [1, 2])
        try Team(id: "db", name: "Databases", jobs: .appending(ids: [3])).save(to: &context)
        #expect(try linked() == [1, 2, 3])
        try Team(id: "ui", name: "Interface", jobs: .ids([2])).save(to: &context)
        #expect(try linked() == [1, 3])
    }

    @Test("A projection is set and saved, and entities are found by their relations")
    func projection() throws {
        var context = try saved()
        try Person(id: "ann", name: "Ann").save(to: &context)
        var job = Job(id: 3, title: "Ship it", team: .id("db"))
        job.$watchers = .ids(["ann"])
        try job.save(to: &context)
        let hers = try Job.filter(.any(\.$watchers, where: \.name == "Ann")).resolve(in: context)
        let open = try Job.filter(\.$team.id == "db").count(in: context)
        #expect(hers.map(\.id) == [3] && open == 3)
    }

    @Test("Links are removed one by one; entities with them; and by cascade")
    func remove() throws {
        var context = try saved()
        guard let team = try Team.query("db").resolve(in: context) else { return }
        try team.detach(1, relation: \.$jobs, inverse: \.$team, in: &context)
        #expect(try Job.query().ids(in: context) == [1, 2])
        try team.delete(\.$jobs, inverse: \.$team, from: &context)
        #expect(try Job.query().ids(in: context) == [1])
        try Job(id: 1, title: "Again", team: .id("db")).save(to: &context)
        try Team.delete(id: "db", from: &context)
        #expect(try Job.query().count(in: context) == 0)
    }

    @Test("A custom initialiser takes relations by their kind")
    func initialiser() throws {
        var context = Context()
        try Chapter(id: 1, title: "Pages", manual: .relation(Manual(id: 3)), sources: .ids([7, 8])).save(to: &context)
        #expect(try Manual.query(3).related(\.$chapters).ids(in: context) == [1])
        #expect(try Chapter.query(1).id(\.$sources).resolve(in: context)?.$sources.ids == [7, 8])
    }
}
