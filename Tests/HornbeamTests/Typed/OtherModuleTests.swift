// SPDX-License-Identifier: Apache-2.0
// Entities that another module declares.

import Foundation
import Hornbeam
import PublicModels
import Testing

@Suite("Entities of another module")
struct OtherModuleTests {
    @Test("are made by initialisers of their own, related, queried by key paths and relations, and deleted")
    func used() throws {
        let database = try Database.inMemory(
            models: Podcast.self, Episode.self, Guest.self, Cover.self, Place.self)
        let cover = UUID()
        try database.write { context in
            try Place(id: 1).save(to: &context)
            try Podcast(
                id: 1, title: "Engines", cover: .relation(Cover(id: cover, origin: .id(1), places: .ids([1])))
            ).save(to: &context)
            for number in 1...5 {
                try Episode(
                    id: TypedID(number), number: number, published: Date(timeIntervalSince1970: Double(number)),
                    podcast: .id(1), guests: .appending(ids: ["ann"])
                ).save(to: &context)
            }
            try Guest(id: "ann", portrait: .id(cover)).save(to: &context)
            #expect(throws: HornbeamError.self) {
                try Episode(id: 9, number: 3, published: .now, podcast: .id(1)).save(to: &context)
            }
        }
        try database.read { context in
            let newest = Episode.filter(\.$podcast.id == 1).sorted(by: \.published.desc).limit(2)
            #expect(try newest.requiringIndex().resolve(in: context).map(\.number) == [5, 4])
            let podcast = try #require(
                try Podcast.query(1).with(\.$episodes) { $0.sorted(by: \.number) }.with(\.$cover).resolve(in: context))
            #expect(podcast.episodes?.map(\.number) == [1, 2, 3, 4, 5])
            #expect(podcast.cover?.id == cover)
            #expect(try Guest.query("ann").related(\.$episodes).count(in: context) == 5)
            #expect(try Cover.query(cover).related(\.$guest).resolve(in: context)?.id == "ann")
            #expect(try Cover.query(cover).related(\.$origin).resolve(in: context)?.id == 1)
        }
        try database.write { context in
            try Podcast.delete(id: 1, from: &context)
            #expect(try Episode.query().count(in: context) == 0)
        }
        #expect(try database.check { Issue.record("\($0)") })
    }
}
