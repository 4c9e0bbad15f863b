// SPDX-License-Identifier: Apache-2.0
// The description's blocks that need a model of their own: merge strategies of a type in place of the defaults, a
// cascade along a to-one relation, a search of a list.

import Hornbeam
import Testing
@testable import HornbeamEngine

private struct Avatar: Codable, Equatable, Sendable {
    var url: String
}

@EntityModel
private struct Subscriber: Codable {
    let id: String
    private(set) var name: String
    private(set) var avatar: Avatar
    private(set) var profile: Profile?

    @Relationship(inverse: \.accounts)
    var teams: [Circle]?

    struct Profile: Codable, Equatable, Sendable {
        var about: String
    }
}

@EntityModel
private struct Circle: Codable {
    let id: String

    @Relationship(inverse: \.teams)
    var accounts: [Subscriber]?

    @Relationship()
    var lead: Patched?
}

@EntityModel
private struct Patched: Codable {
    let id: String
    private(set) var name: String?
    private(set) var profile: Profile?

    struct Profile: Codable, Equatable, Sendable {
        var about: String
    }
}

extension Patched {
    /// This will make patching as the default behavior:
    static var defaultMergeStrategy: MergeStrategy<Self> {
        Patched.patch
    }

    /// Patches only the profile, while `patch` patches all optional properties.
    static var fragmentMergeStrategy: MergeStrategy<Self> {
        MergeStrategy(
            .patch(\.profile)
        )
    }
}

@EntityModel
private struct Letter {
    let id: String

    @Relationship(deleteRule: .cascade, inverse: \.letter)
    var attachment: Enclosure?
}

@EntityModel
private struct Enclosure {
    let id: String

    @Relationship(.required, inverse: \.attachment)
    var letter: Letter?
}

@EntityModel
private struct Essay {
    @FullTextIndex<Self>(\.title, \.content) private var search

    let id: String
    var title: String
    var content: String
}

@Suite("The description's blocks with models of their own")
struct DescribedStrategiesTests {
    @Test("Default Merge Strategy, Fragment Merge Strategy")
    func defaults() throws {
        var context = Context()

        let user = Subscriber(
            id: "1",
            name: "Bob",
            avatar: Avatar(url: "a"),
            profile: Subscriber.Profile(about: "x")
        )

        try user.save(to: &context)

        let fragment = Subscriber(
            id: "1",
            name: "Bobby",
            avatar: Avatar(url: "b")
        )

        try fragment.save(to: &context, options: .fragment)

        let patched = try #require(try Subscriber.query("1").resolve(in: context))
        #expect(patched.name == "Bobby" && patched.avatar.url == "b" && patched.profile?.about == "x")
        // The default strategy replaces.
        try fragment.save(to: &context)
        #expect(try Subscriber.query("1").resolve(in: context)?.profile == nil)
    }

    @Test("Advanced Merge Strategies: both defaults overridden, wherever they are taken")
    func overridden() throws {
        var context = Context()
        func stored() throws -> [String?] {
            let found = try Patched.query("1").resolve(in: context)
            return [found?.name, found?.profile?.about]
        }
        func reset() throws {
            let whole = Patched(id: "1", name: "Bob", profile: Patched.Profile(about: "x"))
            try whole.save(to: &context, options: .replace)
        }
        let part = Patched(id: "1")

        try reset()
        try part.save(to: &context)
        #expect(try stored() == ["Bob", "x"])
        try Circle(id: "1", lead: .relation(part)).save(to: &context)
        #expect(try stored() == ["Bob", "x"])
        try context.saveAll([part])
        #expect(try stored() == ["Bob", "x"])

        try part.save(to: &context, options: .fragment)
        #expect(try stored() == [nil, "x"])
        try reset()
        try Circle(id: "1", lead: .fragment(part)).save(to: &context)
        #expect(try stored() == [nil, "x"])
        try reset()
        try Circle(id: "1", lead: .fragment(part)).save(\.$lead, to: &context)
        #expect(try stored() == [nil, "x"])
        try reset()
        let relation: OneWayRelation<Patched, Relations.ToOne<Patched>, Relations.Optional> = .fragment(part)
        try relation.save(&context)
        #expect(try stored() == [nil, "x"])
        try part.save(to: &context, options: .replace)
        #expect(try stored() == [nil, nil])
    }

    @Test("Delete rules: the attachment is deleted with its message")
    func cascadeToOne() throws {
        var context = Context()
        try Letter(id: "1", attachment: .relation(Enclosure(id: "1"))).save(to: &context)
        try Letter(id: "2", attachment: .relation(Enclosure(id: "2"))).save(to: &context)
        try Letter.delete(id: "1", from: &context)
        #expect(try Enclosure.query(in: context).resolve().map(\.id) == ["2"])
        // But the message isn't deleted with its attachment.
        try Enclosure.delete(id: "2", from: &context)
        #expect(try Letter.query(in: context).resolve().map(\.id) == ["2"])
    }

    @Test("FullTextIndex: a list that is filtered by a search")
    func search() throws {
        var context = Context()
        try Essay(id: "1", title: "search", content: "of other terms").save(to: &context)
        try Essay(id: "2", title: "none", content: "of these").save(to: &context)
        let articles =
            try Essay
            .query(in: context)
            .filter(.string(\.title, \.content, matches: "search terms"))
            .resolve()
        #expect(articles.map(\.id) == ["1"])
        let plan = try Essay.query().filter(.string(\.title, \.content, matches: "search terms")).explain(in: context)
        #expect(plan.access.description.contains("search of index"), "\(plan)")
    }
}
