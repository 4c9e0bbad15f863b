// SPDX-License-Identifier: Apache-2.0
// The promise of live queries: the old result and its change-set give the new result, which agrees with the query
// itself. Thousands of random commits, with queries of every kind; some consumers read seldom.

import HornbeamTestSupport
import Synchronization
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

/// A live query with its result so far.
private protocol Follower: AnyObject {
    func follow(_ database: Database, _ message: String) throws
    var elements: Int { get }
}

private final class Followed<Result: LiveResult>: Follower {
    private let observation: Observation<Result>
    private let check: (Result.Element?, Database, String) throws -> Void
    private(set) var elements = 0

    init(
        _ result: Result, _ database: Database, check: @escaping (Result.Element?, Database, String) throws -> Void
    ) {
        observation = Observation(result, of: database)
        observation.start()
        self.check = check
    }

    deinit { observation.finish() }

    func follow(_ database: Database, _ message: String) throws {
        let element = try observation.poll()
        if element != nil { elements += 1 }
        try check(element, database, message)
    }
}

/// Returns the former position of each element of the new list, by the change-set; nil for inserted ones.
private func origins(_ changes: ListChanges, _ count: Int) -> [Int?] {
    changes.applied(to: Array(0..<count).map { $0 as Int? }) { position in
        changes.insertions.contains(position) ? nil : -1 - position
    }
}

/// Checks the properties that every query's change-sets have.
private func expectSound(_ changes: ListChanges, _ old: [String], _ new: [String], _ message: String) {
    #expect(changes.applied(to: old) { new[$0] } == new, "\(message): \(changes)")
    #expect(!changes.isEmpty, "\(message)")
    #expect(changes.deletions == changes.deletions.sorted() && changes.insertions == changes.insertions.sorted())
    #expect(Set(changes.moves.map(\.to)).isDisjoint(with: changes.insertions), "\(message)")
    #expect(Set(changes.moves.map(\.from)).isDisjoint(with: changes.deletions), "\(message)")
    #expect(Set(changes.updates).isDisjoint(with: changes.insertions), "\(message)")
}

private func list<Entity: LiveText>(_ query: QueryList<Entity>, _ database: Database) -> any Follower {
    var last: [String] = []
    return Followed(ListResult(query), database) { element, database, message in
        let now = try database.read { try query.resolve(in: $0).map(\.line) }
        if let element {
            let lines = element.entities.map(\.line)
            if let changes = element.changes {
                expectSound(changes, last, lines, message)
                // An update means that the content has changed.
                let unchanged = changes.updates.filter { new in last.contains(lines[new]) }
                #expect(unchanged.isEmpty, "\(message): \(changes) \(last) \(lines)")
            }
            last = lines
        }
        #expect(last == now, "\(message)")
    }
}

private func changes<Entity: LiveText>(of query: QueryList<Entity>, _ database: Database) -> any Follower {
    var last: [String]?
    return Followed(ChangesResult(query), database) { element, database, message in
        let now = try database.read { try query.resolve(in: $0).map(\.line) }
        if let element {
            #expect(element.count == now.count, "\(message)")
            if let changes = element.changes {
                var new: [Int: String] = [:]
                for (place, entity) in zip(changes.insertions, element.inserted) { new[place] = entity.line }
                for (place, entity) in zip(changes.updates, element.updated) { new[place] = entity.line }
                last = changes.applied(to: last ?? []) { new[$0] ?? "missing" }
            } else {
                last = now
            }
        }
        #expect(last == now, "\(message)")
    }
}

private func count<Entity>(_ query: QueryList<Entity>, _ database: Database) -> any Follower {
    var last = -1
    return Followed(CountResult(query), database) { element, database, message in
        if let element {
            #expect(element != last, "\(message): a count that is the same")
            last = element
        }
        let now = try database.read { try query.count(in: $0) }
        #expect(last == now, "\(message)")
    }
}

private func one<Entity: LiveText>(_ query: Query<Entity>, _ database: Database) -> any Follower {
    var last: (line: String?, isLive: Bool)?
    return Followed(EntityResult(query), database) { element, database, message in
        let now = try database.read { try query.resolve(in: $0)?.line }
        if let element {
            if !element.isLive, let last { #expect(element.entity?.line == last.line, "\(message): the last value") }
            #expect(last?.isLive != element.isLive || last?.line != element.entity?.line, "\(message)")
            last = (element.entity?.line, element.isLive)
        }
        #expect(last?.isLive == (now != nil), "\(message)")
        if let now { #expect(last?.line == now, "\(message)") }
    }
}

private func group<Entity: LiveText>(_ query: QueryGroup<Entity>, _ database: Database) -> any Follower {
    var last: [[String]] = []
    return Followed(GroupResult(query), database) { element, database, message in
        let now = try database.read { try query.resolve(in: $0).map { $0.map(\.line) } }
        if let element {
            let sections = element.sections.map { $0.map(\.line) }
            if let changes = element.changes {
                let places = ListChanges(
                    deletions: changes.deletions, insertions: changes.insertions, moves: changes.moves, updates: [])
                var new = places.applied(to: last) { sections[$0] }
                for section in changes.sections {
                    new[section.position] = section.changes.applied(to: new[section.position]) {
                        sections[section.position][$0]
                    }
                }
                #expect(new == sections, "\(message): \(changes)")
            }
            last = sections
        }
        #expect(last == now, "\(message)")
    }
}

private func aggregates<each Result: Sendable>(
    _ query: QueryList<LiveNote>, _ database: Database, _ aggregates: repeat Aggregate<LiveNote, each Result>
) -> any Follower {
    let maker = AggregateMaker<LiveNote, repeat each Result>(repeat each aggregates)
    var last = ""
    return Followed(AggregateResult(query, maker), database) { element, database, message in
        if let element {
            let text = "\(element)"
            #expect(text != last, "\(message): aggregates that are the same")
            last = text
        }
        let state = maker.begin()
        try database.read { context in
            for note in try query.resolve(in: context) {
                let bytes = try context.session.encode(note)
                try bytes.withUnsafeBytes {
                    var row = AggregatedRow<LiveNote>(
                        try RowReader($0, of: try context.session.store(LiveNote.self).type), in: context.session)
                    try state.add(&row)
                }
            }
        }
        #expect(try last == "\(state.results())", "\(message)")
    }
}

private func grouped<Key: Sendable, Values: Sendable>(
    _ query: GroupedQuery<LiveNote, Key, Values>, _ database: Database
) -> any Follower {
    var last: [String] = []
    return Followed(GroupedResult(query), database) { element, database, message in
        if let element {
            let rows = element.rows.map { "\($0)" }
            if let changes = element.changes { expectSound(changes, last, rows, message) }
            last = rows
        }
        let now = try database.read { try query.resolve(in: $0).map { "\($0)" } }
        #expect(last == now, "\(message)")
    }
}

/// Queries of every kind, with their names in messages.
private func followers(_ database: Database) -> [(name: String, follower: any Follower)] {
    let lists: [(String, QueryList<LiveNote>)] = [
        ("all", LiveNote.query()),
        ("filter", .filter(\.rank > 5)),
        ("sorted", .filter(\.rank < 9).sorted(by: \.rank.desc, \.text)),
        ("computed", .filter(\.half == 2 || \.name == nil).sorted(by: \.text)),
        ("prefix", .filter(.string(\.text, hasPrefix: "re"))),
        ("word", QueryList<LiveNote>.filter(\.rank > 2).filter(.string(\.text, matches: "red blue"))),
        ("limit", LiveNote.filter(\.rank < 4).sorted(by: \.rank).limit(5)),
        ("window", LiveNote.filter(\.rank > 6).sorted(by: \.rank.desc).limit(4, offset: 3)),
        ("first rows", LiveNote.filter(\.name == nil).limit(4)),
        ("none", LiveNote.query().limit(0)),
        ("by number", LiveNote.query().sorted(by: \.$tags.count.desc, \.rank)),
        ("few by number", LiveNote.filter(\.rank > 2).sorted(by: \.$tags.count).limit(4)),
        ("computed order", LiveNote.query().sorted(by: \.text.count)),
        ("ranked", .filter(.string(\.text, matches: "red tree"))),
        ("ids", LiveNote.query([7, 3, 40, 5])),
        ("nested", LiveNote.filter(\.rank > 3).with(\.$folder).with(\.$tags)),
        ("related", LiveFolder.query(1).related(\.$notes)),
        ("related sorted", LiveFolder.query(1).related(\.$notes).sorted(by: \.rank)),
        ("or", LiveFolder.query(2).related(\.$notes).or(.filter(\.rank == 1))),
        ("related filter", LiveFolder.query(1).related(\.$notes).filter(\.rank > 4)),
        ("related nested", LiveFolder.query(2).related(\.$notes).with(\.$tags) { $0.filter(\.weight > 0) }),
        ("related last", LiveFolder.query(1).related(\.$notes).sorted(by: \.rank.desc).limit(3)),
        ("related first", LiveFolder.query(1).related(\.$notes).limit(2)),
        ("any tag", .filter(.any(\.$tags, where: \.weight > 1))),
        ("all tags", LiveNote.filter(.all(\.$tags, where: \.weight < 2)).sorted(by: \.rank)),
        ("no tag, or few", .filter(.none(\.$tags) || \.rank < 3)),
        ("in a full folder", .filter(.has(\.$folder, \.$notes.count > 3))),
        ("in a folder with red", .filter(.has(\.$folder, .any(\.$notes, where: \.text == "red")))),
        ("many tags", LiveNote.filter(\.$tags.count > 1).limit(3)),
        ("tag ids", LiveNote.filter(\.rank > 3).id(\.$tags).sorted(by: \.rank)),
        ("twice nested", LiveNote.filter(\.rank > 5).with(\.$folder) { $0.with(\.$notes) { $0.filter(\.rank < 3) } }),
        ("all nested", LiveNote.filter(\.name == nil).with(.entities, .ids)),
        ("nested limit", LiveNote.query().sorted(by: \.rank).limit(4).with(\.$tags)),
        ("behind a limit", LiveNote.query().sorted(by: \.rank).limit(10).filter(\.name != nil)),
    ]
    var all: [(String, any Follower)] = []
    for (name, query) in lists {
        all.append(("list " + name, list(query, database)))
        all.append(("changes " + name, changes(of: query, database)))
        all.append(("count " + name, count(query, database)))
    }
    all.append(("folders", list(LiveFolder.query().with(\.$notes) { $0.sorted(by: \.rank).limit(2) }, database)))
    all.append(("tags", list(LiveTag.filter(\.weight > 0).sorted(by: \.id.desc), database)))
    all.append(("tags of notes", list(LiveNote.query([1, 2, 3]).related(\.$folder), database)))
    all.append(("one", one(LiveNote.query(3), database)))
    all.append(("one tag", one(LiveTag.query("t2"), database)))
    all.append(("one nested", one(LiveNote.query(4).with(\.$folder), database)))
    all.append(("first", one(LiveNote.filter(\.rank > 4).sorted(by: \.name).first(), database)))
    all.append(("one related", one(LiveNote.query(5).related(\.$folder), database)))
    all.append(("groups", group(LiveFolder.query().sorted(by: \.title).related(\.$notes), database)))
    all.append(("sorted groups", group(LiveFolder.filter(\.title > "f0").related(\.$notes), database)))
    all.append(("tag groups", group(LiveNote.filter(\.rank > 6).related(\.$tags), database)))
    addAggregates(to: &all, database)
    return all
}

private func addAggregates(to all: inout [(String, any Follower)], _ database: Database) {
    let some = LiveNote.filter(\.rank > 3)
    all.append(("sums", aggregates(some, database, .count, .sum(\.rank), .average(\.rank))))
    all.append(("extremes", aggregates(some, database, .min(\.rank), .max(\.half), .max(\.name))))
    all.append(("distinct", aggregates(LiveNote.query(), database, .countDistinct(\.name), .sum(\.half))))
    all.append(("joined", aggregates(some.sorted(by: \.rank), database, .groupConcat(\.text))))
    all.append(("tagged", aggregates(LiveNote.filter(.any(\.$tags)), database, .sum(\.rank), .count)))
    all.append(("cut", aggregates(LiveNote.query().sorted(by: \.rank).limit(5), database, .sum(\.rank))))
    all.append(("by name", grouped(some.grouped(by: \.name).aggregate(.count, .sum(\.rank), .min(\.text)), database)))
    all.append(("by half", grouped(LiveNote.query().grouped(by: \.half, \.rank).aggregate(.count), database)))
    let ranks = LiveNote.query().grouped(by: \.rank).aggregate(.count, .max(\.name)).having { count, _ in count > 2 }
    all.append(("having", grouped(ranks.sorted { $0.values.0 > $1.values.0 }.limit(3), database)))
    all.append(
        ("tagged groups", grouped(LiveNote.filter(.any(\.$tags)).grouped(by: \.rank).aggregate(.count), database)))
}

@Suite("Live queries compared with queries")
struct LiveDifferentialTests {
    @Test("change-sets lead from each result to the next, after any writes", arguments: SeededGenerator.seeds(3))
    func differential(_ seed: UInt64) throws {
        let database = try liveDatabase()
        var writes = LiveWrites(random: SeededGenerator(seed: seed))
        for _ in 0..<10 { try writes.write(to: database) }
        let all = followers(database)
        for (name, follower) in all { try follower.follow(database, "seed \(seed), \(name), at first") }
        var random = SeededGenerator(seed: seed &+ 1)
        for round in 0..<SeededGenerator.commits(700) {
            try writes.write(to: database)
            // Some read after each commit, some after several.
            for (place, (name, follower)) in all.enumerated() where random.oneIn(1 + place % 3 * 2) {
                try follower.follow(database, "seed \(seed), \(name), round \(round)")
            }
        }
        for (name, follower) in all {
            try follower.follow(database, "seed \(seed), \(name), at last")
            // A query that never changed would prove nothing. The number of some never changes.
            let isConstant = name.hasSuffix(" none") || ["count nested limit", "count few by number"].contains(name)
            // A single entity's relation changes seldom.
            let least = name == "one related" ? 2 : 3
            if !isConstant { #expect(follower.elements >= least, "\(name)") }
        }
        #expect(try database.check { Issue.record("\($0)") })
    }
}
