// SPDX-License-Identifier: Apache-2.0
// The description of the entity model, code block by code block: sorts, filters, text, indexes, merge strategies.
// Indexes are declared on instance properties, which Swift 6 asks for.

import Foundation
import Hornbeam
import Testing
@testable import HornbeamEngine

private enum UserStatus: String, Codable, Sendable { case active, away }
private enum UserRole: String, Codable, Sendable { case admin, guest }
private enum ArticleStatus: String, Codable, Sendable { case published, draft }

@EntityModel
private struct Person2 {
    @Index<Self>(\.age) private var ageIndex
    @Index<Self>(\.lastName, \.firstName) private var nameIndex
    @Index<Self>(\.status) private var statusLevelIndex

    let id: String
    let firstName: String
    let lastName: String
    let age: Int
    var status: UserStatus
    var level: Int
    var role = UserRole.guest
    var lastLogin = Date(timeIntervalSinceReferenceDate: 0)
    var name: String { firstName }
}

@EntityModel
private struct Note2 {
    @FullTextIndex<Self>(\.title, \.content) private var contentIndex

    let id: String
    let title: String
    let content: String
    var status = ArticleStatus.published
}

@EntityModel
private struct Member2: Equatable {
    // Unique username with upsert on collision
    @Unique<Self>(\.username, collisions: .upsert)
    private var uniqueUsername

    // Unique email that throws on collision
    @Unique<Self>(\.email, collisions: .throw)
    private var uniqueEmail

    // Custom collision handling for current user
    @Unique<Self>(\.isCurrent, collisions: .updateCurrentUser)
    private var currentUserIndex

    let id: String
    let username: String
    let email: String
    var isCurrent: Bool
}

// Custom collision resolver implementation
extension CollisionResolver where Entity == Member2 {
    fileprivate static var updateCurrentUser: Self {
        CollisionResolver { existingId, _, _, context in
            guard var user = try Query<Entity>(context: context, id: existingId).resolve(),
                user.isCurrent
            else {
                return
            }

            user.isCurrent = false
            try user.save(to: &context)
        }
    }
}

private struct Avatar: Codable, Equatable, Sendable {
    var url: String
}

@EntityModel
private struct Profiled: Codable, Equatable {
    let id: String
    private(set) var name: String?
    private(set) var avatar: Avatar?
    private(set) var profile: Profile?
    private(set) var arrayOfSomething: [Int] = []

    struct Profile: Codable, Equatable, Sendable {
        var about: String
    }
}

extension Profiled {
    /// The description's advanced strategies, under other names.
    fileprivate static var patchingProfile: MergeStrategy<Profiled> {
        MergeStrategy(
            .patch(\.profile)
        )
    }

    fileprivate static var patchingAll: MergeStrategy<Profiled> {
        MergeStrategy(
            .patch(\.name),
            .patch(\.profile),
            .patch(\.avatar)
        )
    }

    fileprivate static var keepingProfile: MergeStrategy<Profiled> { .keep(\.profile) }

    fileprivate static var appending: MergeStrategy<Profiled> {
        MergeStrategy(
            .append(\.arrayOfSomething)
        )
    }
}

extension MergeStrategy {
    fileprivate static func keep<Kept, Value>(
        _ keyPath: WritableKeyPath<Kept, Value?>
    ) -> MergeStrategy<Kept> {
        MergeStrategy<Kept> { old, new in
            var new = new
            new[keyPath: keyPath] = new[keyPath: keyPath] ?? old[keyPath: keyPath]
            return new
        }
    }
}

@Suite("The description's blocks on queries and indexes")
struct DescribedQueriesTests {
    private typealias User = Person2
    private typealias Article = Note2

    private static let firstNames = ["Ann", "Bob", "Cid"]
    private static let lastNames = ["Young", "Old", "Ash", "Elm"]

    private let people = (1...40).map(Self.person)

    private static func person(_ number: Int) -> Person2 {
        let login = Date(timeIntervalSinceReferenceDate: Double(number) * 86_400)
        return Person2(
            id: "\(number)", firstName: firstNames[number % 3], lastName: lastNames[number % 4],
            age: 10 + number * 7 % 31, status: number % 2 == 0 ? .active : .away, level: number % 6,
            role: number % 13 == 0 ? .admin : .guest, lastLogin: login)
    }

    private func context() throws -> Context {
        var context = Context()
        for person in people { try person.save(to: &context) }
        return context
    }

    private func expect(
        _ found: [Person2], _ wanted: [Person2], _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(found.map(\.id) == wanted.map(\.id), sourceLocation: location)
    }

    /// Compares the found entities in any order.
    private func expect(
        _ found: [Person2], where test: (Person2) -> Bool, _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(Set(found.map(\.id)) == Set(people.filter(test).map(\.id)), sourceLocation: location)
        #expect(found.count == people.count(where: test), sourceLocation: location)
    }

    @Test("Single Property Sorting, Multi-Property Sorting")
    func sorting() throws {
        let context = try context()

        // Ascending sort (default)
        let up = try User.query(in: context)
            .sorted(by: \.age)
            .resolve()
        expect(up, people.sorted { $0.age < $1.age })

        // Descending sort
        let down = try User.query(in: context)
            .sorted(by: \.age.desc)
            .resolve()
        expect(down, people.sorted { $0.age > $1.age })

        // Sort by multiple properties
        let names = try User.query(in: context)
            .sorted(by: \.lastName, \.firstName)
            .resolve()
        expect(names, people.sorted { ($0.lastName, $0.firstName) < ($1.lastName, $1.firstName) })

        // Mixed ascending/descending
        let mixed = try User.query(in: context)
            .sorted(by: \.age.desc, \.lastName)
            .resolve()
        expect(mixed, people.sorted { (-$0.age, $0.lastName) < (-$1.age, $1.lastName) })
    }

    @Test("Using Indexes for Sorting: also where the description says that an index isn't used")
    func sortingByIndex() throws {
        let context = try context()

        // This sort will use the index
        let byAge = User.query(in: context)
            .sorted(by: \.age)
        #expect(
            try byAge.limit(5).explain(in: context).access
                == .index(name: "ageIndex", ranges: 1, entries: 40, reversed: false))

        // Not indexed property sort
        let byName = try User.query(in: context)
            .sorted(by: \.name)
            .resolve()
        expect(byName, people.sorted { $0.name < $1.name })

        // This sort will use the compound index
        let compound = User.query(in: context)
            .sorted(by: \.lastName, \.firstName)
        #expect(try compound.limit(5).explain(in: context).order == .byAccess)

        // In the description the compound index isn't used for its first property; here it is.
        let first = User.query(in: context)
            .sorted(by: \.lastName)
        #expect(try first.limit(5).explain(in: context).order == .byAccess)
        expect(try first.resolve(), people.sorted { $0.lastName < $1.lastName })

        // Nor is descending order slower: the same index, backwards.
        let backwards = User.query(in: context).sorted(by: \.age.desc).limit(5)
        #expect(
            try backwards.explain(in: context).access
                == .index(name: "ageIndex", ranges: 1, entries: 40, reversed: true))

        // Not indexed property sort. Compound index won't be used:
        let sortedUsers = try User.query(in: context)
            .sorted(by: \.lastName, \.age)
            .resolve()
        expect(sortedUsers, people.sorted { ($0.lastName, $0.age) < ($1.lastName, $1.age) })
    }

    @Test("Combining Sort and Filter")
    func sortAndFilter() throws {
        let context = try context()

        let adults = try User.query(in: context)
            .filter(\.age > 18)
            .sorted(by: \.lastName, \.firstName)
            .resolve()
        expect(
            adults, people.filter { $0.age > 18 }.sorted { ($0.lastName, $0.firstName) < ($1.lastName, $1.firstName) })

        // Complex sorting with filters
        let results = try User.query(in: context)
            .filter(\.status == .active)
            .sorted(by: \.age.desc, \.lastName)
            .resolve()
        expect(
            results, people.filter { $0.status == .active }.sorted { (-$0.age, $0.lastName) < (-$1.age, $1.lastName) })
    }

    @Test("Equality Filters, Comparison Filters")
    func comparisons() throws {
        let context = try context()

        // Single property equality
        let users =
            try User
            .filter(\.age == 25, in: context)
            .resolve()
        expect(users) { $0.age == 25 }

        // Multiple property equality chain.
        let results =
            try User
            .filter(\.age == 25, in: context)
            .filter(\.status == .active)
            .resolve()
        expect(results) { $0.age == 25 && $0.status == .active }

        // Greater than
        let adults =
            try User
            .filter(\.age > 18, in: context)
            .resolve()
        expect(adults) { $0.age > 18 }

        // Less than or equal
        let juniors =
            try User
            .filter(\.age <= 21, in: context)
            .resolve()
        expect(juniors) { $0.age <= 21 }

        // Range combination
        let youngAdults =
            try User
            .filter(\.age >= 18, in: context)
            .filter(\.age < 30)
            .resolve()
        expect(youngAdults) { $0.age >= 18 && $0.age < 30 }
    }

    @Test("Logical Operators")
    func logic() throws {
        let context = try context()

        // OR operation
        let either = try User.filter(\.age == 25, in: context)
            .or(.filter(\.age == 30, in: context))
            .resolve()
        expect(either) { $0.age == 25 || $0.age == 30 }

        // AND operation
        let both = try User.filter(\.age > 18, in: context)
            .and(\.status == .active)
            .resolve()
        expect(both) { $0.age > 18 && $0.status == .active }

        // Complex combinations
        let results = try User.filter(\.age == 25, in: context)
            .or(.filter(\.status == .active, in: context))
            .or(.filter(\.age > 30, in: context).and(\.level <= 4))
            .resolve()
        expect(results) { $0.age == 25 || $0.status == .active || $0.age > 30 && $0.level <= 4 }

        // Complex filter combining multiple conditions
        let oneWeekAgo = Date(timeIntervalSinceReferenceDate: 20 * 86_400)
        let chained =
            try User
            .filter(\.age >= 18, in: context)
            .and(\.status == .active)
            .or(.filter(\.role == .admin, in: context))
            .and(\.lastLogin > oneWeekAgo)
            .resolve()
        expect(chained) { ($0.age >= 18 && $0.status == .active || $0.role == .admin) && $0.lastLogin > oneWeekAgo }
    }

    @Test("String Operations, Full-Text Search")
    func text() throws {
        var context = Context()
        for (id, title, content) in [
            ("1", "Greeting", "Re: hello there"), ("2", "Search terms", "Hello, with best regards"),
            ("3", "Other", "search for swift and a database"),
        ] { try Article(id: id, title: title, content: content).save(to: &context) }
        try Article(id: "4", title: "swift database", content: "", status: .draft).save(to: &context)
        func ids(_ list: QueryList<Article>) throws -> Set<String> { Set(try list.resolve().map(\.id)) }

        // Contains
        #expect(
            try ids(
                Article
                    .filter(.string(\.content, contains: "hello"), in: context)) == ["1", "2"])

        // Prefix/Suffix
        #expect(
            try ids(
                Article
                    .filter(.string(\.content, hasPrefix: "Re:"), in: context)) == ["1"])
        #expect(
            try ids(
                Article
                    .filter(.string(\.content, hasSuffix: "regards"), in: context)) == ["2"])

        // Case sensitivity
        #expect(
            try ids(
                Article
                    .filter(.string(\.content, contains: "Hello", caseSensitive: true), in: context)) == ["2"])

        // Fuzzy matching
        let fuzzy = Article.filter(.string(\.content, matches: "search terms"), in: context)
        #expect(try ids(fuzzy) == ["3"])

        // Multiple field search
        let results =
            Article
            .filter(.string(\.title, \.content, matches: "search terms"), in: context)
        #expect(try results.resolve().map(\.id) == ["2", "3"])

        // Text search with multiple fields
        let articles =
            Article
            .filter(.string(\.title, \.content, matches: "swift database"), in: context)
            .filter(\.status == .published)
        #expect(try ids(articles) == ["3"])
    }

    @Test("Index Usage")
    func indexUsage() throws {
        let context = try context()

        // This query will use the age index
        let older =
            User
            .filter(\.age > 39, in: context)
        #expect(try older.explain(in: context).access.description.contains("ageIndex"))

        // This query will use both the age and status indexes
        let results =
            User
            .filter(\.status == .active, in: context)
            .filter(\.level == 3)
        expect(try results.resolve()) { $0.status == .active && $0.level == 3 }
    }

    @Test("Default, Fragment and Advanced Merge Strategies")
    func merging() throws {
        var context = Context()
        let user = Profiled(
            id: "1",
            name: "Bob",
            avatar: Avatar(url: "a"),
            profile: Profiled.Profile(about: "x"),
            arrayOfSomething: [1]
        )
        try user.save(to: &context)

        let fragment = Profiled(
            id: "1",
            name: "Bobby",
            avatar: Avatar(url: "b")
        )
        try fragment.save(to: &context, options: .fragment)
        #expect(try Profiled.query("1").resolve(in: context)?.profile?.about == "x")
        #expect(try Profiled.query("1").resolve(in: context)?.name == "Bobby")

        try Profiled(id: "1").save(to: &context, options: Profiled.patchingAll)
        #expect(try Profiled.query("1").resolve(in: context)?.avatar?.url == "b")
        try Profiled(id: "1", arrayOfSomething: [2]).save(to: &context, options: Profiled.appending)
        let appended = try #require(try Profiled.query("1").resolve(in: context))
        #expect(appended.arrayOfSomething == [2] && appended.name == nil)
        try Profiled(id: "1", arrayOfSomething: [3]).save(to: &context, options: Profiled.appending)
        #expect(try Profiled.query("1").resolve(in: context)?.arrayOfSomething == [2, 3])
        try user.save(to: &context)
        try Profiled(id: "1").save(to: &context, options: Profiled.keepingProfile)
        #expect(try Profiled.query("1").resolve(in: context)?.profile?.about == "x")
        #expect(try Profiled.query("1").resolve(in: context)?.name == nil)
        try Profiled(id: "1").save(to: &context, options: Profiled.patchingProfile)
        #expect(try Profiled.query("1").resolve(in: context)?.profile?.about == "x")
    }

    @Test("Unique: three rules for collisions")
    func unique() throws {
        var context = Context()
        try Member2(id: "1", username: "a", email: "a@x", isCurrent: true).save(to: &context)
        try Member2(id: "2", username: "a", email: "b@x", isCurrent: false).save(to: &context)
        #expect(try context.ids(Member2.self) == ["2"])
        #expect(throws: HornbeamError.self) {
            try Member2(id: "3", username: "c", email: "b@x", isCurrent: false).save(to: &context)
        }
        try Member2(id: "4", username: "d", email: "d@x", isCurrent: true).save(to: &context)
        try Member2(id: "5", username: "e", email: "e@x", isCurrent: true).save(to: &context)
        #expect(try Member2.filter(\.isCurrent == true).ids(in: context) == ["5"])
    }
}
