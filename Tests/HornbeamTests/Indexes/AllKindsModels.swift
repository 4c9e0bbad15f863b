// SPDX-License-Identifier: Apache-2.0
// An entity type with an index of each kind, and the answers of each index beside those of the entities themselves.

import HornbeamHandKept
import HornbeamPages
import HornbeamSecondaryIndexes
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce

@EntityModel
struct Release: Equatable {
    let id: Int
    @Relationship(deleteRule: .cascade, inverse: \.release) var tracks: [Recording]?

    static func == (left: Self, right: Self) -> Bool { left.id == right.id }
}

@EntityModel
struct Recording: Equatable {
    @Index<Self>(\.rating) private var byRating
    @Index<Self>(\.genre, \.seconds.desc) private var byGenreAndLength
    @Unique<Self>(\.code, collisions: .throw) private var byCode
    @HashIndex<Self>(\.genre) private var byGenre
    @FullTextIndex<Self>(\.title) private var search

    let id: Int
    var title = ""
    var genre = ""
    var rating: Double?
    var code = ""
    var seconds = 0
    var tags: [String] = []
    @Relationship(inverse: \.tracks) var release: Release?

    static func == (left: Self, right: Self) -> Bool { left.id == right.id && left.title == right.title }
}

struct RecordingLists: IndexesType {
    let added = OrderedIDIndex<Recording>("added")
    let grouped = GroupByKeyIndex<String, Recording>("grouped")
    let ofAlbum = GroupByEntityIndex<Release, Recording>("ofAlbum")
    let coded = HashIDIndex<String, Recording>("coded")
    let starred = SetIndex<Recording>("starred")
}

extension Context {
    fileprivate var lists: HandKeptIndexes<RecordingLists> { indexes(of: RecordingLists.self) }
}

/// A registered index of each kind.
struct RecordingIndexes: Sendable {
    static let rating = IndexColumn<Double>("rating")
    static let genre = IndexColumn<String>("genre")

    let byTag: MapIndex<Recording, Int, IntegerSumReducer<Int>>
    let lengths: ValueIndex<Recording>
    let tags: ArrayIndex<Recording>
    let charts: SecondaryIndex<Recording>
    let shelves: View<Recording, String>

    init(version: String) {
        let (genre, rating) = (Self.genre, Self.rating)
        byTag = MapIndex("byTag", version: version, reducer: .sum()) {
            (track: Recording, emit: inout MapEmitter<Int>) in
            for tag in track.tags { emit(key: .string(tag), value: track.seconds) }
        }
        lengths = ValueIndex("lengths", \Recording.seconds, where: \Recording.rating != nil, version: version)
        tags = ArrayIndex("tags", \Recording.tags, version: version)
        charts = SecondaryIndex("charts", version: version, columns: [genre, rating], orders: [[genre, rating]]) {
            (track: Recording, row: inout IndexRowWriter) in
            guard track.seconds > 0 else { return }
            row[genre] = track.genre
            row[rating] = track.rating
        }
        shelves = View(
            "shelves", version: version, groupedBy: \.genre, sortedBy: .descending(\.seconds),
            where: { $0.rating != nil })
    }

    var all: [any RegisteredIndex] { [byTag, lengths, tags, charts, shelves] }

    static let names: Set = ["byTag", "lengths", "tags", "charts", "shelves"]

    func named(_ name: String) -> any RegisteredIndex { all.first { $0.registration.name == name } ?? byTag }
}

enum AllKinds {
    static let first = RecordingIndexes(version: "1")

    /// Opens the file with the entities alone.
    static func openBare(_ disk: SimulatedDisk) throws -> Database {
        try MigratedFile.open(disk, [Release.self, Recording.self], [])
    }

    static func open(_ disk: SimulatedDisk) throws -> Database {
        let database = try openBare(disk)
        for index in first.all { try database.register(index) }
        try database.register(RecordingLists())
        keep(database)
        return database
    }

    static func inMemory() throws -> Database {
        let database = try Database.inMemory(models: Release.self, Recording.self, handKept: RecordingLists())
        for index in first.all { try database.register(index) }
        keep(database)
        return database
    }

    /// Keeps the lists by rules.
    static func keep(_ database: Database) {
        let lists = RecordingLists()
        // Entities that were deleted and saved again in one write count as changed, not as inserted.
        database.keep(lists.added, where: { _ in true })
        database.keep(lists.grouped, by: \.genre)
        database.keep(lists.coded) { $0.code }
        database.keep(lists.starred) { $0.rating == 5 }
    }

    /// Returns the answers of each kind of index.
    /// - Parameters:
    ///   - ready: the registered indexes that can be used; those that the planner chooses need not be ready.
    /// - lists: whether there are hand-kept indexes.
    static func answers(
        _ context: Context, of indexes: RecordingIndexes = first, ready: Set<String> = RecordingIndexes.names,
        lists: Bool = true
    ) throws -> [String: [Int]] {
        let (rating, genre) = (RecordingIndexes.rating, RecordingIndexes.genre)
        var answers: [String: [Int]] = [:]
        answers["index"] = try Recording.filter(\.rating > 2.5).sorted(by: \.rating.desc).ids(in: context)
        answers["compound"] = try Recording.filter(\.genre == "rock").sorted(by: \.seconds.desc).ids(in: context)
        answers["unique"] = try (0..<24).flatMap { try Recording.filter(\.code == "c\($0)").ids(in: context) }
        answers["hash"] = try Recording.filter(\.genre == "folk").sorted(by: \.id).ids(in: context)
        answers["text"] = try Recording.filter(.string(\.title, matches: "blue")).sorted(by: \.id).ids(in: context)
        answers["value"] = try Recording.filter(\.rating != nil && \.seconds > 40).sorted(by: \.seconds, \.id)
            .ids(in: context)
        answers["array"] = try Recording.filter(.any(\.tags) { $0 == "live" }).sorted(by: \.id).ids(in: context)
        answers["elements"] = [
            try Recording.query().unnest(\.tags).filter { $0 == "live" }.count(in: context)
        ]
        if ready.contains("byTag") {
            answers["map"] = [try indexes.byTag.query().key("live").reduced().resolve(in: context)]
            answers["map rows"] = try indexes.byTag.query().key("live").resolve(in: context).map(\.source)
        }
        if ready.contains("charts") {
            answers["secondary"] = try indexes.charts.query(genre == "rock" && rating > 1.0)
                .sorted(by: rating.descending).ids(in: context)
        }
        if ready.contains("shelves") { answers["view"] = try indexes.shelves["rock"].ids(in: context) }
        if lists {
            answers["list"] = try context.lists.added.entities().map(\.id).sorted()
            answers["groups"] = try context.lists.grouped.entities(in: "folk").map(\.id).sorted()
            answers["hashed"] = try (0..<24).compactMap { try context.lists.coded["c\($0)"] }
            answers["set"] = try context.lists.starred.entities().map(\.id).sorted()
        }
        if try Release.query(1).resolve(in: context) != nil {
            answers["links"] = try Release.query(1).related(\.$tracks).ids(in: context).sorted()
        }
        return answers
    }

    /// The right answers.
    static func model(_ tracks: [Recording], ofRelease: [Int]?) -> [String: [Int]] {
        func ids(_ holds: (Recording) -> Bool, _ precedes: (Recording, Recording) -> Bool = { _, _ in false }) -> [Int]
        {
            tracks.filter(holds).sorted { left, right in
                if precedes(left, right) { return true }
                return !precedes(right, left) && left.id < right.id
            }.map(\.id)
        }
        let rated = { (left: Recording, right: Recording) in left.rating ?? -1 > right.rating ?? -1 }
        let live = tracks.filter { $0.tags.contains("live") }
        let occurrences = live.flatMap { track in track.tags.filter { $0 == "live" }.map { _ in track } }
        var model: [String: [Int]] = [:]
        model["index"] = ids({ $0.rating.map { $0 > 2.5 } ?? false }, rated)
        model["compound"] = ids({ $0.genre == "rock" }, { $0.seconds > $1.seconds })
        model["unique"] = (0..<24).flatMap { code in ids { $0.code == "c\(code)" } }
        model["hash"] = ids { $0.genre == "folk" }
        model["text"] = ids { $0.title.split(separator: " ").contains("blue") }
        model["value"] = ids({ $0.rating != nil && $0.seconds > 40 }, { $0.seconds < $1.seconds })
        model["array"] = live.map(\.id).sorted()
        model["elements"] = [occurrences.count]
        model["map"] = [occurrences.reduce(0) { $0 + $1.seconds }]
        model["map rows"] = occurrences.map(\.id).sorted()
        model["secondary"] = ids(
            { $0.seconds > 0 && $0.genre == "rock" && $0.rating.map { $0 > 1 } ?? false }, rated)
        model["view"] = ids({ $0.genre == "rock" && $0.rating != nil }, { $0.seconds > $1.seconds })
        model["list"] = ids { _ in true }
        model["groups"] = ids { $0.genre == "folk" }
        model["hashed"] = model["unique"]
        model["set"] = ids { $0.rating == 5 }
        model["links"] = ofRelease?.sorted()
        return model
    }

    /// Returns the answers that disagree with the entities.
    static func differences(_ answers: [String: [Int]], _ context: Context) throws -> [String] {
        let tracks: [Recording] = try context.all()
        // The other side of the relation.
        let ofRelease = try Release.query(1).resolve(in: context).map { _ in
            try Recording.query().id(\.$release).resolve(in: context).filter { $0.$release.id == 1 }.map(\.id)
        }
        let model = model(tracks, ofRelease: ofRelease)
        return answers.keys.filter { answers[$0] != model[$0] }.sorted()
    }

    /// Makes a random edit to one of the first `count` entities.
    static func edit(_ context: inout Context, _ random: inout SeededGenerator, of count: Int = 24) throws {
        let id = Int.random(in: 0..<count, using: &random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0: _ = try Recording.query(id).delete(from: &context)
        case 1 where id < 3: _ = try Release.query(id).delete(from: &context)
        default:
            let words = ["blue", "red", "train", "night"]
            var track = Recording(id: id, code: "c\(id)")
            track.title = (0..<3).map { _ in words.randomElement(using: &random) ?? "" }.joined(separator: " ")
            track.genre = ["rock", "folk", "jazz"].randomElement(using: &random) ?? ""
            track.rating = [nil, 1, 2.5, 4, 5].randomElement(using: &random) ?? nil
            track.seconds = Int.random(in: 0..<100, using: &random)
            track.tags = (0..<Int.random(in: 0..<4, using: &random)).map { _ in
                ["live", "demo", "new"].randomElement(using: &random) ?? ""
            }
            track.$release = .relation(Release(id: Int.random(in: 0..<3, using: &random)))
            try track.save(to: &context)
        }
    }
}
