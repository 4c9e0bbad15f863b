// SPDX-License-Identifier: Apache-2.0
// The words of other stores: each message has the word to use here.

import Hornbeam

func whatAPropertyContainsIsACondition() {
    #if REFUSED
        // refused: write 'filter(.array(\.tags, contains: …))', or '.string(…)' for a text property
        _ = User.filter(\.tags, contains: "a")
        // refused: write 'filter(.array(\.tags, contains: …))', or '.string(…)' for a text property
        _ = User.query().filter(\.nick, contains: "a")
        // refused: a Set is stored as JSON, which no condition looks into: declare an array
        _ = User.filter(.array(\.groups, contains: "a"))
    #else
        _ = User.filter(.array(\.tags, contains: "a"))
        _ = User.query().filter(.string(\.nick, contains: "a"))
    #endif
}

func aRelationWithoutEntitiesIsACondition() {
    #if REFUSED
        // refused: write '.none(\.$books)' or '.any(\.$books)'
        _ = User.filter(\.$messages.isEmpty)
    #else
        _ = User.filter(.any(\.$messages))
        _ = User.filter(.none(\.$messages))
    #endif
}

func ordersAndResultsHaveOneName(_ context: Context, _ database: Database) throws {
    #if REFUSED
        // refused: write 'sorted(by: \.name, \.age.desc)'
        _ = User.query().order(\.age)
        // refused: write 'sorted(by: \.name, \.age.desc)'
        _ = User.query().order(by: \.age.desc, \.id)
        // refused: write 'sorted(by: \.name.desc)' for the other direction
        _ = User.query().sorted(by: \.age, order: .reverse)
        // refused: write 'limit(10, offset: 20)'
        _ = User.query().limit(10).offset(20)
        // refused: write 'distinct(\.room, in: context)'
        _ = try User.query().distinct(\.age).resolve(in: context)
        // refused: write 'aggregate(.count).resolve(in: context)'
        _ = try User.query().grouped(by: \.age).count(in: context)
        // refused: write 'for try await books in database.observe(query) { … }'
        _ = User.query().values(in: database)
        // refused: write 'for try await book in database.observe(query) { … }'
        _ = User.query("1").values(in: database)
        // refused: write 'for try await books in database.observe(query) { … }'
        database.observe(User.query()) { users in print(users) }
        // refused: write 'resolve(in: context)'
        _ = try Statement("SELECT id FROM User").rows(in: context)
        // refused: write 'read { try query.resolve(in: $0) }'
        _ = try database.read(User.query())
        // refused: write 'read { try query.resolve(in: $0) }'
        _ = try database.read(User.query("1"))
    #else
        _ = User.query().sorted(by: \.age)
        _ = User.query().sorted(by: \.age.desc, \.id)
        _ = User.query().limit(10, offset: 20)
        _ = try User.query().distinct(\.age, in: context)
        _ = try User.query().grouped(by: \.age).aggregate(.count).resolve(in: context)
        _ = database.observe(User.query())
        _ = database.observe(User.query("1"))
        _ = try Statement("SELECT id FROM User").resolve(in: context)
        _ = try database.read { try User.query().resolve(in: $0) }
    #endif
}

func queriesOfATypeHaveABeginning(_ context: inout Context) throws {
    #if REFUSED
        // refused: write 'Book.query().resolve(in: context)'
        _ = try User.all(in: context)
        // refused: write 'Book.query().count(in: context)'
        _ = try User.count(in: context)
        // refused: write 'Book.query().first(in: context)'
        _ = try User.first(in: context)
        // refused: write 'Book.query().sorted(by: …)'
        _ = try User.sorted(by: \.age).resolve(in: context)
        // refused: write 'Book.query().sorted(by: …)'
        _ = try User.order(by: \.age.desc).resolve(in: context)
        // refused: write 'Book.query().limit(…)'
        _ = try User.limit(3).resolve(in: context)
        // refused: write 'context.find(Book.self, 1)', or 'Book.query(1).resolve(in: context)'
        _ = try User.find("1", in: context)
        // refused: write 'context.find(Book.self, 1)', or 'Book.query(1).resolve(in: context)'
        _ = try User.find(id: "1", in: context)
        // refused: write 'context.find(Book.self, 1) != nil'
        _ = try User.exists("1", in: context)
        // refused: write 'Book.query().delete(from: &context)'
        try User.deleteAll(in: &context)
        // refused: write 'Book.query().delete(from: &context)'
        try User.deleteAll(from: &context)
    #else
        _ = try User.query().resolve(in: context)
        _ = try User.query().count(in: context)
        _ = try User.query().first(in: context)
        _ = try User.query().sorted(by: \.age).limit(3).resolve(in: context)
        _ = try context.find(User.self, "1") != nil
        try User.query().delete(from: &context)
    #endif
}

func entitiesSaveAndDeleteThemselves(_ user: User, _ context: inout Context) throws {
    #if REFUSED
        // refused: write 'book.save(to: &context)', which replaces what is stored under the id
        try user.insert(into: &context)
        // refused: write 'book.save(to: &context)', which replaces what is stored under the id
        try user.update(in: &context)
        // refused: write 'book.save(to: &context)'
        try context.save(user)
        // refused: write 'book.delete(from: &context)'
        try context.delete(user)
        // refused: write 'Book.delete(id: 1, from: &context)'
        try context.delete(User.self, id: "1")
        // refused: write 'query.resolve(in: context)'
        _ = try context.fetch(User.query())
    #else
        try user.save(to: &context)
        try user.delete(from: &context)
        try User.delete(id: "1", from: &context)
        _ = try User.query().resolve(in: context)
    #endif
}
