// SPDX-License-Identifier: Apache-2.0
// Levels of nested queries that are large, share targets, or lack some, compared with separate queries for each
// entity.

import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Shelf {
    let id: Int

    @Relationship(inverse: \.shelf) var books: [Volume]?
    @Relationship() var guides: [Volume]?
}

@EntityModel
private struct Volume {
    let id: Int
    var title: String

    @Relationship(inverse: \.books) var shelf: Shelf?
    @Relationship(inverse: \.volumes) var writers: [Writer]?
    @Relationship() var owner: Writer?
}

@EntityModel
private struct Writer {
    let id: String
    var name: String

    @Relationship(inverse: \.writers) var volumes: [Volume]?
}

@Suite("Levels of nested queries")
struct NestedLevelTests {
    private struct Model {
        var shelves: [Int: [Int]] = [:]
        var guides: [Int: [Int]] = [:]
        var writers: [Int: [String]] = [:]
        var owners: [Int: String] = [:]
        var stored: (volumes: Set<Int>, writers: Set<String>) = ([], [])
    }

    /// Returns a model in which some volumes and writers aren't stored, and some ids are row ids.
    private func model(_ random: inout SeededGenerator, isWhole: Bool) -> Model {
        var model = Model()
        let sparse = Bool.random(using: &random)
        let volumes = (0..<120).map { sparse ? $0 * 1_000 - 9_000 : $0 - 5 }
        let writers = (0..<12).map { "w\($0)" }
        model.stored.volumes = Set(volumes.filter { _ in isWhole || random.below(8) > 0 })
        model.stored.writers = Set(writers.filter { _ in isWhole || random.below(4) > 0 })
        var rest = Bool.random(using: &random) ? volumes : volumes.shuffled(using: &random)
        for shelf in -3..<20 {
            model.shelves[shelf] = Array(rest.prefix(random.below(12)))
            rest.removeFirst(model.shelves[shelf]?.count ?? 0)
            model.guides[shelf] = Array(volumes.shuffled(using: &random).prefix(random.below(5)))
        }
        for volume in model.stored.volumes.sorted() {
            model.writers[volume] = Array(writers.shuffled(using: &random).prefix(random.below(4)))
            if random.below(3) > 0 { model.owners[volume] = writers.randomElement(using: &random) }
        }
        return model
    }

    private func context(_ model: Model) throws -> Context {
        var context = Context()
        for id in model.stored.writers.sorted() { try Writer(id: id, name: "named \(id)").save(to: &context) }
        for id in model.stored.volumes.sorted() {
            try Volume(
                id: id, title: "title \(id)", writers: .ids(model.writers[id] ?? []),
                owner: model.owners[id].map { .id($0) } ?? .null
            ).save(to: &context)
        }
        for (id, books) in model.shelves.sorted(by: { $0.key < $1.key }) {
            try Shelf(id: id, books: .ids(books), guides: .ids(model.guides[id] ?? [])).save(to: &context)
        }
        return context
    }

    @Test("entities with entities and ids in them", .seeded, arguments: [true, false])
    func entities(isWhole: Bool) throws {
        var random = SeededGenerator()
        for _ in 0..<4 {
            let model = model(&random, isWhole: isWhole)
            let context = try context(model)
            let shelves = try Shelf.query().with(\.$guides)
                .with(\.$books) { $0.with(\.$owner) { $0.id(\.$volumes) }.with(\.$writers).id(\.$shelf) }
                .resolve(in: context)
            #expect(Set(shelves.map(\.id)) == Set(model.shelves.keys))
            for shelf in shelves {
                let books = (model.shelves[shelf.id] ?? []).filter(model.stored.volumes.contains)
                #expect(shelf.books?.map(\.id) == books && !shelf.$books.isId)
                let guides = (model.guides[shelf.id] ?? []).filter(model.stored.volumes.contains)
                #expect(shelf.guides?.map(\.title) == guides.map { "title \($0)" })
                // Saving this keeps the links to entities that aren't stored.
                #expect(shelf.$guides.isSlice == (guides.count < model.guides[shelf.id]?.count ?? 0))
                for book in shelf.books ?? [] { try expect(book, on: shelf.id, model, context) }
            }
        }
    }

    private func expect(_ book: Volume, on shelf: Int, _ model: Model, _ context: Context) throws {
        #expect(book.title == "title \(book.id)" && book.$shelf.id == shelf && book.$shelf.isId)
        let writers = (model.writers[book.id] ?? []).filter(model.stored.writers.contains)
        #expect(book.writers?.map(\.name) == writers.map { "named \($0)" } && !book.$writers.isId)
        guard let owner = model.owners[book.id], model.stored.writers.contains(owner) else {
            #expect(book.owner == nil && book.$owner.isNone)
            return
        }
        #expect(book.owner?.name == "named \(owner)" && !book.$owner.isId)
        let alone = try Writer.query(owner).id(\.$volumes).resolve(in: context)
        #expect(book.owner?.$volumes.ids == alone?.$volumes.ids && book.owner?.$volumes.isId == true)
    }

    @Test("ids of all relations, of unstored entities too; an empty to-one relation stays unset", .seeded)
    func ids() throws {
        var random = SeededGenerator()
        let model = model(&random, isWhole: false)
        let context = try context(model)
        for shelf in try Shelf.queryAll(with: .ids).resolve(in: context) {
            #expect(shelf.$books.ids == model.shelves[shelf.id] && shelf.$books.isId)
            #expect(shelf.$guides.ids == model.guides[shelf.id] && shelf.$guides.isId)
        }
        for volume in try Volume.queryAll(with: .ids).resolve(in: context) {
            #expect(volume.$writers.ids == model.writers[volume.id] && volume.$writers.isId)
            #expect(volume.$owner.id == model.owners[volume.id])
            #expect(volume.$owner.isNone == (model.owners[volume.id] == nil))
            #expect(volume.$shelf.id == model.shelves.first { $0.value.contains(volume.id) }?.key)
        }
    }

    @Test("nested pages, filters and orders apply for each entity separately", .seeded)
    func parts() throws {
        var random = SeededGenerator()
        for isWhole in [true, false] {
            let model = model(&random, isWhole: isWhole)
            let context = try context(model)
            let pages = try Shelf.query().with(\.$books) { $0.limit(3, offset: 1) }.resolve(in: context)
            let chosen = try Shelf.query().with(slice: \.$guides) { $0.filter(\.id > 20).sorted(by: \.id.desc) }
                .resolve(in: context)
            for (page, choice) in zip(pages, chosen) {
                let books = (model.shelves[page.id] ?? []).filter(model.stored.volumes.contains)
                #expect(page.books?.map(\.id) == Array(books.dropFirst().prefix(3)))
                let guides = (model.guides[choice.id] ?? []).filter { model.stored.volumes.contains($0) && $0 > 20 }
                #expect(choice.guides?.map(\.id) == guides.sorted(by: >) && choice.$guides.isSlice)
            }
        }
    }
}
