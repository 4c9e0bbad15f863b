// SPDX-License-Identifier: Apache-2.0
// Ids that belong to an entity type.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Novel: Codable {
    @Index<Self>(\.sequelOf) private var bySequel

    let id: TypedID<Novel, Int>
    var title: String
    var sequelOf: TypedID<Novel, Int>?

    @Relationship(inverse: \.novels) var writer: Writer?
}

@EntityModel
private struct Writer: Codable {
    let id: TypedID<Writer, String>
    var name: String

    @Relationship(inverse: \.writer) var novels: [Novel]?
}

/// `Novel` when its ids were plain values.
private enum Plain {
    @EntityModel
    struct Novel {
        let id: Int
        var title: String
        var sequelOf: Int?
    }
}

@Suite("Typed ids")
struct TypedIDTests {
    @Test("behave like their values in look-ups, comparisons, relations and sorts; literals can be written for them")
    func used() throws {
        let database = try Database.inMemory(models: Novel.self, Writer.self)
        try database.write { context in
            try Writer(id: "w-1", name: "Ann", novels: .ids([1, 2])).save(to: &context)
            for number in 1...3 {
                try Novel(
                    id: TypedID(number), title: "\(number)", sequelOf: number > 1 ? Novel.ID(number - 1) : nil
                ).save(to: &context)
            }
            let id: Novel.ID = 2
            #expect(try (context.find(id) as Novel?)?.title == "2")
            #expect(try Novel.query(3).resolve(in: context)?.sequelOf == id)
            #expect(try Novel.filter(\.id >= 2).sorted(by: \.id.desc).ids(in: context).map(\.rawValue) == [3, 2])
            #expect(try Novel.filter(\.sequelOf == id).requiringIndex().resolve(in: context).map(\.id) == [3])
            #expect(try Novel.filter(\.$writer.id == "w-1").resolve(in: context).map(\.id) == [1, 2])
            #expect(try Writer.query("w-1").related(\.$novels).resolve(in: context).count == 2)
        }
        #expect(try database.check { Issue.record("\($0)") })
    }

    @Test("are coded as their values")
    func coded() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let novel = Novel(id: 7, title: "Seven", sequelOf: 6, writer: .id("w"))
        let text = String(decoding: try encoder.encode(novel), as: UTF8.self)
        #expect(text.contains(#""id":7"#) && text.contains(#""sequelOf":6"#), "\(text)")
        let back = try JSONDecoder().decode(Novel.self, from: Data(text.utf8))
        #expect(back.id == 7 && back.sequelOf == 6 && back.$writer.id == "w")
        #expect("\(novel.id)" == "7")
    }

    @Test("are stored as their values: a file of plain ids is opened with typed ones")
    func stored() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("store")
        do {
            let database = try Database(at: path, models: Plain.Novel.self)
            try database.write { try Plain.Novel(id: 4, title: "Four", sequelOf: 3).save(to: &$0) }
            try database.close()
        }
        let database = try Database(
            at: path, models: Novel.self, Writer.self, migrations: [.rename("Plain.Novel", to: Novel.self)])
        let novel = try database.read { try $0.find(4) as Novel? }
        #expect(novel?.title == "Four" && novel?.sequelOf == 3)
    }
}
