// SPDX-License-Identifier: Apache-2.0
// The code of the guide “Choosing indexes”.

import Hornbeam
import HornbeamHandKept
import HornbeamMapReduce
import HornbeamSecondaryIndexes
import Testing

@EntityModel
private struct Track {
    @Index<Self>(\.artist, \.year.desc) private var byArtist
    @HashIndex<Self>(\.url) private var byURL
    @Unique<Self>(\.isrc) private var byISRC
    @FullTextIndex<Self>(\.title, \.notes) private var search

    let id: Int
    var isrc: String
    var url: String
    var title: String
    var artist: String
    var year: Int
    var notes = ""
    var seconds = 200
    var tags: [String] = []
    var isLive = false
    var sortTitle: String { title.lowercased() }
}

private let lengths = MapIndex("lengths", version: "1", reducer: .sum()) {
    (track: Track, emit: inout MapEmitter<Int>) in
    for tag in track.tags { emit(key: .string(tag), value: track.seconds) }
}

private let shelves = View<Track, String>("shelves", version: "1", groupedBy: \.artist, sortedBy: .ascending(\.title))

private let decade = IndexColumn<Int>("decade")
private let decades = SecondaryIndex("decades", version: "1", columns: [decade]) {
    (track: Track, row: inout IndexRowWriter) in
    row[decade] = track.year / 10 * 10
}

private struct Playlists: IndexesType {
    let favourites = OrderedIDIndex<Track>("favourites")
}

@Suite("The guide “Choosing indexes”")
struct ChoosingIndexesTests {
    private func tracks() throws -> Database {
        let database = try Database.inMemory(
            models: Track.self, indexes: [lengths, shelves, decades], handKept: Playlists())
        try database.write { context in
            for id in 1...200 {
                var track = Track(
                    id: id, isrc: "I\(id)", url: "https://x/\(id)", title: "Title \(id)", artist: "Nina",
                    year: 1960 + id % 60)
                if id % 20 != 3 { track.artist = "Artist \(id % 20)" }
                track.notes = id % 3 == 0 ? "blue guitar" : "red"
                track.tags = id % 10 == 0 ? ["jazz", "slow"] : ["pop"]
                track.isLive = id % 7 == 0
                try track.save(to: &context)
            }
        }
        return database
    }

    private func plan(_ query: QueryList<Track>, _ database: Database) throws -> String {
        try database.read { context in "\(try query.explain(in: context))" }
    }

    @Test("Declared indexes answer their queries")
    func declared() throws {
        let database = try tracks()
        let newest = Track.filter(\.artist == "Nina").sorted(by: \.year.desc).limit(3)
        let text = """
            Track: index byArtist, one range of 10 entries
              limit 3 within the access
              count known without reading
            """
        #expect(try plan(newest, database) == text)
        try database.read { context in
            print(try newest.explain(in: context))
        }
        let byURL = try plan(Track.filter(\.url == "https://x/9"), database)
        #expect(byURL.hasPrefix("Track: index byURL"))
        let byISRC = try plan(Track.filter(\.isrc == "I9"), database)
        #expect(byISRC.hasPrefix("Track: index byISRC"))
        let words = try plan(Track.filter(.string(\.title, \.notes, matches: "blue guitar")).limit(3), database)
        #expect(words.hasPrefix("Track: ranked search of index search"))
    }

    @Test("A scan is an error where an index is required")
    func requiring() throws {
        let error = #expect(throws: HornbeamError.self) {
            try tracks().read { context in
                _ = try Track.filter(\.seconds > 100).requiringIndex().resolve(in: context)  // throws .needsIndex
            }
        }
        #expect(error?.code == .needsIndex)
        let range = try plan(Track.filter(\.year > 2000), try tracks())
        #expect(range.hasPrefix("Track: scan of 200 rows"))
    }

    @Test("Queries use indexes that are made at run time")
    func atRunTime() throws {
        let database = try tracks()
        try database.createIndex(ValueIndex("live", \Track.year, where: \Track.isLive == true))
        try database.createIndex(ValueIndex("sortTitle", \Track.sortTitle, version: "1"))
        try database.createIndex(ArrayIndex("tags", \Track.tags))
        let live = try plan(Track.filter(\.isLive == true && \.year > 2000), database)
        #expect(live.hasPrefix("Track: index live, one range of 9 entries"))
        let title = try plan(Track.filter(\.sortTitle == "title 7"), database)
        #expect(title.hasPrefix("Track: index sortTitle, one range of 1 entries"))
        let tags = try plan(Track.filter(.array(\.tags, contains: "jazz")), database)
        #expect(tags.hasPrefix("Track: index tags, one range of 20 entries"))
        #expect(try database.deleteIndex(withName: "live"))
        #expect(try database.check())
    }

    @Test("Registered indexes answer their own queries")
    func registered() throws {
        let database = try tracks()
        try database.read { context in
            let seconds = try lengths.query().key("jazz").reduced().resolve(in: context)
            #expect(seconds == 4000)
            let tenth = try shelves["Nina"].entity(at: 9, in: context)
            let position = try shelves.position(of: 7, in: context)
            #expect(tenth?.title == "Title 83" && position?.group == "Artist 7")
            let seventies = try decades.query(decade == 1970).ids(in: context)
            #expect(seventies.count == 40)
        }
    }

    @Test("A hand-kept list is a query, and forgets what is deleted")
    func handKept() throws {
        let database = try tracks()
        try database.write { context in
            try context.indexes(of: Playlists.self).favourites.append(5)
        }
        let favourites = Track.query(in: Playlists().favourites)
        #expect(try database.read { try favourites.ids(in: $0) } == [5])
        try database.write { try Track.delete(id: 5, from: &$0) }
        #expect(try database.read { try favourites.ids(in: $0) } == [])
    }
}
