// SPDX-License-Identifier: Apache-2.0
// The code of Docs/entities.md.

import Foundation
import Hornbeam
import Testing

@EntityModel
struct Customer: Codable {
    @Unique<Self>(\.email, collisions: .throw) private var byEmail
    @Index<Self>(.updatedAt) private var byUpdate

    let id: Int
    var email: String
    var name: String?

    @Relationship(deleteRule: .deny, inverse: \.customer) var orders: [Order]?
}

@EntityModel
struct Manuscript {
    static let storedMetadata: [Metadata] = [.createdAt, .version]
    @Index<Self>(.version.desc) private var byVersion

    let id: Int
    var text: String
}

@EntityModel
struct Order: Codable {
    let id: Int
    var note: String?

    @Relationship(.required, inverse: \.orders) var customer: Customer?
    @Relationship(deleteRule: .cascade, inverse: \.order) var lines: [OrderLine]?
}

@EntityModel
struct OrderLine: Codable {
    let id: Int
    var article: String

    @Relationship(.required, inverse: \.lines) var order: Order?
}

/// All entities that are sent to another store, in one value.
@EntityModel
struct Everything: Codable {
    var id = "everything"

    @Relationship var customers: [Customer]? = nil
    @Relationship var orders: [Order]? = nil
    @Relationship var deletedOrders: [Deleted<Order>]? = nil
}

@EntityModel
struct Receipt {
    static let keepsDeleted = true  // this type, until it is purged

    let id: Int
}

@EntityModel
struct Feed {
    @Unique<Self>(\.url, collisions: .update) private var byURL

    let id: Int
    var url: String
    var title: String?
}

enum Level: Int, Comparable {
    case low = 1, high = 5
    static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
}

extension Level: IndexKey {}

@Suite("The life of an entity, as its page shows it")
struct EntitiesTests {
    private func shop() throws -> Context {
        var context = Context()
        try Customer(
            id: 1, email: "ann@example.org", name: "Ann",
            orders: .relation([Order(id: 10, lines: .relation([OrderLine(id: 100, article: "Tea")]))])
        ).save(to: &context)
        try Customer(id: 2, email: "bob@example.org").save(to: &context)
        return context
    }

    @Test("Saving merges by the given strategy")
    func merging() throws {
        var context = try shop()
        try Customer(id: 1, email: "ann@example.com").save(to: &context, options: .fragment)
        #expect(try Customer.query(1).resolve(in: context)?.name == "Ann")
        try Customer(id: 1, email: "ann@example.com").save(to: &context)
        #expect(try Customer.query(1).resolve(in: context)?.name == nil)
    }

    @Test("The store keeps when an entity was last saved")
    func metadata() throws {
        let context = try shop()
        let lastHour = Date.now.addingTimeInterval(-3600)...Date.now
        let changed = try Customer.filter(.updated(within: lastHour)).sorted(by: .updatedAt.desc).resolve(in: context)
        let saved = try changed.first?.updatedAt(in: context)
        #expect(changed.map(\.id) == [2, 1])
        #expect(saved.map { lastHour.contains($0) } == true)
        #expect(try changed.last?.updatedAt(in: context, withNested: .ids) == changed.last?.updatedAt(in: context))
    }

    @Test("A type may ask for creation times and numbers of changes")
    func storedMetadata() throws {
        let database = try Database.inMemory(models: Manuscript.self)
        for text in ["a", "b", "b", "c"] {
            try database.write { context in try Manuscript(id: 1, text: text).save(to: &context) }
        }
        try database.read { context in
            let worked = try Manuscript.filter(.version(in: 3...100)).sorted(by: .createdAt.desc).resolve(in: context)
            let count = try worked.first?.version(in: context)
            #expect(count == 3)
        }
    }

    @Test("Deleting is denied, cascades, and can be taken back")
    func deleting() throws {
        var context = try shop()
        do {
            try Customer.delete(id: 1, from: &context)
        } catch let error as HornbeamError where error.code == .deleteDenied {
            // Customer 1 can't be deleted: its relation “orders” denies it while it leads to stored entities, …
        }
        #expect(try context.find(1) as Customer? != nil)
        try Order.delete(id: 10, from: &context)
        #expect(try context.ids(OrderLine.self) == [])

        let deleted = try Deleted<Order>.query().sorted(by: .updatedAt.desc).resolve(in: context)
        try deleted.first?.restore(in: &context)
        for line in try Deleted<OrderLine>.query().resolve(in: context) { try line.restore(in: &context) }
        #expect(try OrderLine.query(100).with(\.$order).resolve(in: context)?.order?.id == 10)

        try OrderLine.delete(id: 100, from: &context)
        let lastMonth = Date.now.addingTimeInterval(-30 * 86_400)
        #expect(try Deleted<OrderLine>.purge(before: lastMonth, from: &context) == 0)
        #expect(try Deleted<OrderLine>.purge(before: nil, from: &context) == 1)

    }

    @Test("A database keeps deleted entities where the type or the options say so")
    func retention() throws {
        var options = Database.Options()
        options.keepsDeleted = .days(30)  // all types, each for 30 days; or .forever
        for retention in [Database.DeletedRetention.never, options.keepsDeleted] {
            let database = try Database.inMemory(models: Receipt.self, Customer.self, keepsDeleted: retention)
            try database.write { context in
                try Receipt(id: 1).save(to: &context)
                try Customer(id: 1, email: "ann@example.org").save(to: &context)
                try Receipt.delete(id: 1, from: &context)
                try Customer.delete(id: 1, from: &context)
                #expect(try Deleted<Receipt>.query().count(in: context) == 1)
                #expect(try Deleted<Customer>.query().count(in: context) == (retention == .never ? 0 : 1))
            }
        }
    }

    @Test("The store assigns ids, and saves into the entity that has the key")
    func ids() throws {
        let database = try Database.inMemory(models: Customer.self, Feed.self)
        let id = try database.write { context in
            let order = try Order(id: Order.nextID(in: &context), note: "call first", customer: .id(1))
            try order.save(to: &context)
            return order.id
        }
        #expect(id == 1)
        try database.write { context in
            try Feed(id: 1, url: "https://swift.org/atom.xml", title: nil).save(to: &context)
            // Fetched again, by somebody who doesn't know the id: feed 1 gets the title.
            try Feed(id: Feed.nextID(in: &context), url: "https://swift.org/atom.xml", title: "Swift").save(
                to: &context)
            #expect(try Feed.query().resolve(in: context).map(\.title) == ["Swift"])
            #expect(try context.ids(Feed.self) == [1])
        }
    }

    @Test("A strict database refuses entities without a required relation")
    func required() throws {
        let database = try Database.inMemory(models: Customer.self, requiresRelations: true)
        let error = #expect(throws: HornbeamError.self) {
            try database.write { try Order(id: 1).save(to: &$0) }
        }
        #expect(error?.code == .missingRelation)
    }

    @Test("Unique keys may change hands among entities that are saved together")
    func unique() throws {
        var context = try shop()
        let swapped = [
            Customer(id: 1, email: "bob@example.org"),
            Customer(id: 2, email: "ann@example.org"),
        ]
        try swapped.save(to: &context)
        #expect(try Customer.filter(\.email == "ann@example.org").ids(in: context) == [2])
    }

    @Test("All changes since a date are exported in one value")
    func changes() throws {
        var context = try shop()
        try Everything().save(to: &context)
        let since = Date.now.addingTimeInterval(-60)
        let changes =
            try Everything
            .queryAll(with: .schemaEntities(filter: .updated(within: since...Date.distantFuture)), .ids)
            .resolve(in: context)
        let data = try JSONEncoder().encode(changes)
        #expect(changes.first?.customers?.map(\.id) == [1, 2])
        #expect(changes.first?.customers?.first?.$orders.ids == [10])
        #expect(!data.isEmpty)
    }

    @Test("An enum declares that its order is that of its raw values")
    func order() {
        #expect(Level.columnType == .int64)
        #expect(Level(columnValue: .int(5)) == .high)
        #expect(Level.low < .high)
    }

    @Test("The raw functions keep indexes right and do nothing else")
    func raw() throws {
        var context = try shop()
        try context.insert(Customer(id: 3, email: "eve@example.org"))
        try context.remove(Customer.self, id: 1)
        #expect(try context.ids(Customer.self) == [2, 3])
    }
}
