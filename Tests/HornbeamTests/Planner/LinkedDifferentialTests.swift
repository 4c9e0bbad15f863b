// SPDX-License-Identifier: Apache-2.0
// Random conditions on more than a column: on links and their numbers, along one entity's relation, on computed
// values and on elements of arrays; with indexes, without them, and in plain Swift.

import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
private struct Film {
    @Index<Self>(\.year) private var byYear

    let id: Int
    var title: String
    var year: Int
    var tags: [String]
    @Relationship(inverse: \.films) var cast: [Actor]?
    @Relationship(inverse: \.directed) var director: Actor?
    @Relationship() var sequels: [Film]?

    var age: Int { 2000 - year }
}

@EntityModel
private struct Actor {
    @Index<Self>(\.born) private var byBorn

    let id: String
    var born: Int
    @Relationship(inverse: \.cast) var films: [Film]?
    @Relationship(inverse: \.director) var directed: [Film]?
}

/// The test's data in dictionaries.
private struct Studio {
    struct Entry {
        var film: Film
        var cast: [String]
        var director: String?
        var sequels: [Int]
    }

    var films: [Int: Entry] = [:]
    var actors: [String: Int] = [:]

    func cast(_ id: Int) -> [String] { (films[id]?.cast ?? []).filter { actors[$0] != nil } }
    func director(_ id: Int) -> String? { films[id]?.director.flatMap { actors[$0] == nil ? nil : $0 } }
    func sequels(_ id: Int) -> [Int] { (films[id]?.sequels ?? []).filter { films[$0] != nil } }

    /// Adds, changes and deletes entities. Some entities of both types are linked and never stored.
    mutating func change(_ context: inout Context, _ random: inout SeededGenerator) throws {
        let actor = "a\(random.below(30))"
        switch random.below(6) {
        case 0:
            try Actor.delete(id: actor, from: &context)
            if actors.removeValue(forKey: actor) != nil { forget(actor) }
        case 1, 2:
            actors[actor] = random.below(40)
            try Actor(id: actor, born: actors[actor] ?? 0).save(to: &context)
        case 3 where films.count > 40:
            guard let id = films.keys.sorted().randomElement(using: &random) else { return }
            try Film.delete(id: id, from: &context)
            films[id] = nil
            for other in films.keys { films[other]?.sequels.removeAll { $0 == id } }
        default:
            let id = random.below(70)
            let film = Film(
                id: id, title: "t\(random.below(9))", year: 1950 + random.below(40),
                tags: (0..<random.below(4)).map { _ in ["war", "love", "space", "noir"][random.below(4)] })
            let entry = Entry(
                film: film, cast: Array((0..<32).map { "a\($0)" }.shuffled(using: &random).prefix(random.below(8))),
                director: random.oneIn(4) ? nil : "a\(random.below(32))",
                sequels: Array((0..<72).shuffled(using: &random).prefix(random.below(4))))
            films[id] = entry
            try Film(
                id: id, title: film.title, year: film.year, tags: film.tags, cast: .ids(entry.cast),
                director: entry.director.map { .id($0) } ?? .null, sequels: .ids(entry.sequels)
            ).save(to: &context)
        }
    }

    private mutating func forget(_ actor: String) {
        for id in films.keys {
            films[id]?.cast.removeAll { $0 == actor }
            if films[id]?.director == actor { films[id]?.director = nil }
        }
    }
}

private typealias Condition = (predicate: Predicate<Film>, label: String, holds: (Studio.Entry, Studio) -> Bool)

private func condition(_ random: inout SeededGenerator, _ depth: Int = 0) -> Condition {
    let (born, count, year) = (random.below(40), random.below(6), 1950 + random.below(40))
    let tag = ["war", "love", "space", "noir", "opera"][random.below(5)]
    let actor = "a\(random.below(33))"
    func older(_ studio: Studio) -> (String) -> Bool { { (studio.actors[$0] ?? .max) < born } }
    switch random.below(depth < 2 ? 17 : 13) {
    case 0:
        return (.any(\.$cast, where: \.born < born), "any", { $1.cast($0.film.id).contains(where: older($1)) })
    case 1:
        return (.all(\.$cast, where: \.born < born), "all", { $1.cast($0.film.id).allSatisfy(older($1)) })
    case 2:
        return (.none(\.$cast, where: \.born < born), "none", { !$1.cast($0.film.id).contains(where: older($1)) })
    case 3: return (.any(\.$director), "directed", { $1.director($0.film.id) != nil })
    case 4:
        return (
            .has(\.$director, \.born == born), "director",
            { entry, studio in
                studio.director(entry.film.id).map { studio.actors[$0] == born } ?? false
            }
        )
    case 5: return (\.$cast.count > count, "count >", { $1.cast($0.film.id).count > count })
    case 6: return (\.$sequels.count == count / 2, "count ==", { $1.sequels($0.film.id).count == count / 2 })
    case 7:
        return (
            .any(\.$cast, where: .any(\.$directed, where: \.year == year)), "deep",
            { entry, studio in
                studio.cast(entry.film.id).contains { actor in
                    studio.films.values.contains { $0.film.year == year && $0.director == actor }
                }
            }
        )
    case 8: return (\.age > 2000 - year, "computed >", { entry, _ in entry.film.age > 2000 - year })
    case 9: return (\.age == 2000 - year, "computed ==", { entry, _ in entry.film.age == 2000 - year })
    case 10: return (.any(\.tags) { $0 == tag }, "element", { entry, _ in entry.film.tags.contains(tag) })
    case 11: return (.every(\.tags) { $0 == tag }, "every", { entry, _ in entry.film.tags.allSatisfy { $0 == tag } })
    case 12:
        return (\.$director.id == actor, "director id", { entry, studio in studio.director(entry.film.id) == actor })
    case 13:
        let part = condition(&random, depth + 1)
        return (!part.predicate, "!(\(part.label))", { !part.holds($0, $1) })
    case 14, 15:
        let (left, right) = (condition(&random, depth + 1), condition(&random, depth + 1))
        return (
            left.predicate && right.predicate, "(\(left.label) && \(right.label))",
            {
                left.holds($0, $1) && right.holds($0, $1)
            }
        )
    default:
        let (left, right) = (condition(&random, depth + 1), condition(&random, depth + 1))
        return (
            left.predicate || right.predicate, "(\(left.label) || \(right.label))",
            {
                left.holds($0, $1) || right.holds($0, $1)
            }
        )
    }
}

@Suite("Conditions on links, computed values and elements")
struct LinkedDifferentialTests {
    @Test("have the same answers with indexes, without, and by hand, while entities change", .seeded)
    func differential() throws {
        var random = SeededGenerator()
        let plain = try Database.inMemory(models: Film.self, Actor.self)
        let indexed = try Database.inMemory(models: Film.self, Actor.self)
        try indexed.createIndex(ValueIndex("age", \Film.age))
        try indexed.createIndex(ArrayIndex("tags", \Film.tags))
        var studio = Studio()
        var accesses: Set<String> = []
        for _ in 0..<5 {
            var (former, replay) = (studio, random)
            try plain.write { context in for _ in 0..<50 { try former.change(&context, &replay) } }
            try indexed.write { context in for _ in 0..<50 { try studio.change(&context, &random) } }
            for _ in 0..<50 {
                let condition = condition(&random)
                let isByYear = random.oneIn(3)
                let entries = studio.films.values.filter { condition.holds($0, studio) }
                    .sorted { (isByYear ? $0.film.year : 0, $0.film.id) < (isByYear ? $1.film.year : 0, $1.film.id) }
                var query = Film.filter(condition.predicate)
                if isByYear { query = query.sorted(by: \.year) }
                let (limit, offset) = (random.oneIn(2) ? 100 : random.below(9), random.below(3))
                let part = query.limit(limit, offset: offset)
                let wanted = Array(entries.dropFirst(offset).prefix(limit)).map(\.film.id)
                for database in [plain, indexed] {
                    try database.read { context in
                        let plan = try query.explain(in: context)
                        if database === indexed { accesses.insert(String(plan.access.description.prefix(6))) }
                        let message: Comment = "\(condition.label): \(plan)"
                        #expect(try part.ids(in: context) == wanted, message)
                        #expect(try query.count(in: context) == entries.count, message)
                        #expect(try query.last().resolve(in: context)?.id == entries.last?.film.id, message)
                    }
                }
                try related(condition, studio, indexed, &random)
            }
        }
        #expect(accesses.isSuperset(of: ["join a", "index ", "scan o"]), "\(accesses)")
    }

    /// Checks queries along the relations of one entity, in the order of linking.
    private func related(
        _ condition: Condition, _ studio: Studio, _ database: Database, _ random: inout SeededGenerator
    ) throws {
        guard let source = studio.films.keys.sorted().randomElement(using: &random) else { return }
        let expected = studio.sequels(source).filter { id in
            studio.films[id].map { condition.holds($0, studio) } ?? false
        }
        let list = Film.query(source).related(\.$sequels).filter(condition.predicate)
        try database.read { context in
            let plan = try list.explain(in: context)
            #expect(try list.ids(in: context) == expected, "\(condition.label): \(plan)")
            #expect(try list.count(in: context) == expected.count)
            let sorted = try list.sorted(by: \.year.desc).ids(in: context)
            let years = studio.films.mapValues(\.film.year)
            #expect(sorted == expected.sorted { (years[$1] ?? 0, $0) < (years[$0] ?? 0, $1) })
        }
    }
}
