// SPDX-License-Identifier: Apache-2.0
// Every query with a negative limit, offset or number of words returns nothing.

import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamMapReduce

@EntityModel
private struct Leaflet {
    @FullTextIndex<Self>(\.text) private var words

    let id: Int
    var text: String
    var tags: [String] = ["a", "b"]
    var until: Double?

    @Relationship(inverse: \.parent) var parts: [Leaflet]?
    @Relationship(inverse: \.parts) var parent: Leaflet?
}

@Suite("Negative limits")
struct NegativeNumbersTests {
    @Test("every limit, offset and number of words that is negative gives nothing")
    func table() throws {
        let view = View<Leaflet, SoleGroup>("leaflets", version: "1", sortedBy: .ascending(\.id))
        let map = MapIndex("map", version: "1", reducer: .sum()) { (leaflet: Leaflet, emit: inout MapEmitter<Int>) in
            emit(key: .int(leaflet.id), value: leaflet.id)
        }
        let database = try Database.inMemory(models: Leaflet.self, indexes: [view, map])
        try database.write { context in
            for id in 0..<9 {
                try Leaflet(id: id, text: "some words w\(id)", parent: id == 0 ? .null : .id(0)).save(to: &context)
            }
        }
        let all = Leaflet.query()
        let match = Leaflet.filter(.string(\.text, matches: "words"))
        let index = SearchIndex<Leaflet>(\.text)
        try database.read { context in
            let leaflet = try #require(try context.find(1) as Leaflet?)
            let hit = try #require(try match.ranked(in: context).first)
            func nested(_ limit: Int, _ offset: Int) throws -> Int {
                let list = try Leaflet.query(0).with(\.$parts) { $0.limit(limit, offset: offset) }.resolve(in: context)
                return list?.parts?.count ?? -1
            }
            func shown(_ window: ViewWindow) throws -> Int {
                var mappings = ViewMappings(view)
                mappings.setWindow(window, of: .all)
                try mappings.load(in: context)
                return mappings.rowCount
            }
            let asked: [(String, (_ limit: Int, _ offset: Int) throws -> Int)] = [
                ("list", { try all.limit($0, offset: $1).resolve(in: context).count }),
                ("count", { try all.limit($0, offset: $1).count(in: context) }),
                ("sorted", { try all.sorted(by: \.text.desc).limit($0, offset: $1).ids(in: context).count }),
                ("behind a limit", { try all.limit(8).limit($0, offset: $1).resolve(in: context).count }),
                ("ids", { try Leaflet.query([3, 1, 2, 5]).limit($0, offset: $1).resolve(in: context).count }),
                (
                    "related",
                    {
                        try Leaflet.query(0).related(\.$parts).limit($0, offset: $1).resolve(in: context).count
                    }
                ),
                ("nested", nested),
                (
                    "nested behind a sort",
                    { limit, offset in
                        let parent = try Leaflet.query(0).with(\.$parts) {
                            $0.sorted(by: \.text).limit(limit, offset: offset).sorted(by: \.id)
                        }.resolve(in: context)
                        return parent?.parts?.count ?? -1
                    }
                ),
                ("search", { try match.limit($0, offset: $1).ranked(in: context).count }),
                (
                    "groups",
                    { try all.grouped(by: \.text).aggregate(.count).limit($0, offset: $1).resolve(in: context).count }
                ),
                ("elements", { try all.unnest(\.tags).limit($0, offset: $1).resolve(in: context).count }),
                ("map", { try map.query().limit($0).offset($1).resolve(in: context).count }),
                ("map, the other way", { try map.query().offset($1).limit($0).resolve(in: context).count }),
                ("groups of a map", { try map.query().grouped().limit($0).offset($1).resolve(in: context).count }),
                ("fixed window", { try shown(.fixed(limit: $0, offset: $1)) }),
                ("growing window from the end", { try shown(.growing(limit: $0, offset: $1, from: .end)) }),
            ]
            for (name, ask) in asked {
                #expect(try ask(2, 1) == 2, "\(name)")
                for (limit, offset) in [(-1, 0), (.min, 0), (2, -1), (2, .min), (-1, -1), (0, 0)] {
                    #expect(try ask(limit, offset) == 0, "\(name): \(limit), \(offset)")
                }
            }
            for count in [-1, .min, 0] {
                #expect(try index.completions(of: "w", limit: count, in: context).isEmpty)
                #expect(try index.corrections(of: "wirds", limit: count, in: context).isEmpty)
                let like = try index.query(like: leaflet, words: count, in: context)
                #expect(try Leaflet.filter(.string(\.text, matches: like)).count(in: context) == 0)
                #expect(try hit.snippet(\.text, words: count) == nil)
                #expect(try SearchQuery<Leaflet>.words("words").snippet(\.text, of: leaflet, words: count) == nil)
            }
            #expect(try index.completions(of: "w", limit: 2, in: context).count == 2)
            #expect(try hit.snippet(\.text, words: 2) != nil)
        }
    }
}
