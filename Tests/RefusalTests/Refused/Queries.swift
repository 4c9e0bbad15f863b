// SPDX-License-Identifier: Apache-2.0
// Queries that make no sense for the types in them.

import Hornbeam

func onlyWhatHasAnOrderIsCompared() {
    #if REFUSED
        // refused: 'nil' is not compatible with expected argument type 'String'
        _ = User.filter(\.nick < nil)
        // refused: operator function '<' requires that 'Profile' conform to 'Comparable'
        _ = User.filter(\.profile < Profile())
        // refused: binary operator '>' cannot be applied to operands of type
        _ = User.filter(\.tags > ["a"])
        // refused: requires that 'Array<String>' conform to 'Comparable'
        _ = User.filter(.value(\.tags, in: ["a"]...["b"]))
    #else
        _ = User.filter(\.nick == nil)
        _ = User.filter(\.nick < "n")
        _ = User.filter(\.profile == Profile())
        _ = User.filter(\.tags == ["a"])
        _ = User.filter(.value(\.age, in: 1...2))
    #endif
}

func onlyWhatHasAnOrderIsSortedBy() {
    #if REFUSED
        // refused: 'sorted(by:)' is unavailable: a sort needs properties with an order: make the type Comparable
        _ = User.query().sorted(by: \.profile)
        // refused: 'sorted(by:)' is unavailable: a sort needs properties with an order: make the type Comparable
        _ = User.query().sorted(by: \.tags)
        // refused: 'sorted(by:)' is unavailable: a sort needs properties with an order: make the type Comparable
        _ = User.filter(\.age > 3).sorted(by: \.mood).limit(3)
        // refused: 'sorted(by:)' is unavailable: a sort needs properties with an order: make the type Comparable
        _ = User.query().sorted(by: \.age, \.formerMood)
        // refused: a Bool is sorted by '.asc' or '.desc'
        _ = User.query().sorted(by: \.isActive)
        // refused: static method 'by' requires that 'Mood' conform to 'Comparable'
        _ = User.query().sorted(by: .by(\.mood))
        // refused: 'desc' is unavailable: a sort needs properties with an order: make the type Comparable
        _ = User.query().sorted(by: \.mood.desc)
        // refused: 'asc' is unavailable: a sort needs properties with an order: make the type Comparable
        _ = User.query().sorted(by: \.age, \.profile.asc)
        // refused: a query is sorted by key paths, as in 'sorted(by: \.name, \.age.desc)'
        _ = User.query().sorted { $0.age < $1.age }
        // refused: a query is sorted by properties of its own entities, or '\.$books.count'
        _ = User.query().sorted(by: \.messages)
        // refused: a query is sorted by properties of its own entities: sort what it resolves to
        _ = Message.query().sorted(by: \.author)
    #else
        _ = User.query().sorted(by: \.age.asc, \.id.desc, \.nick.asc)
        _ = User.query().sorted(by: \.$messages.count.desc)
        _ = User.query().sorted(by: \.isActive.desc, \.age)
        _ = User.query().sorted(by: \.profile.about)
        _ = User.query().sorted(by: \.nick)
    #endif
}

func onlyWhatHasAnOrderHasALeastValueAndRanges(_ context: Context) throws {
    #if REFUSED
        // refused: instance method 'min(_:in:)' requires that 'Mood' conform to 'Comparable'
        _ = try User.query().min(\.mood, in: context)
        // refused: instance method 'max(_:in:)' requires that 'Bool' conform to 'Comparable'
        _ = try User.query().max(\.isActive, in: context)
        // refused: static method 'max' requires that 'Mood' conform to 'Comparable'
        _ = User.query().grouped(by: \.age).aggregate(.max(\.mood))
        // refused: static method 'value(_:between:and:)' requires that 'Mood' conform to 'Comparable'
        _ = User.filter(.value(\.mood, between: .calm, and: .wild))
        // refused: operator function '<' requires that 'Mood' conform to 'Comparable'
        _ = User.filter(\.mood < .wild)
        // refused: instance method 'first(ofEach:)' requires that 'Profile' conform to 'Hashable'
        _ = User.query().first(ofEach: \.profile)
        // refused: groups need properties that can be told apart: make the type Hashable
        _ = User.query().grouped(by: \.profile)
    #else
        _ = try User.query().min(\.age, in: context)
        _ = User.query().grouped(by: \.mood).aggregate(.max(\.age))
        _ = User.filter(.value(\.age, between: 1, and: 2))
        _ = User.query().first(ofEach: \.mood)
    #endif
}

func oneGroupAndOneAggregateAreNoTuples(_ context: Context) throws {
    #if REFUSED
        // refused: value of type 'Int' has no member '0'
        _ = try User.query().grouped(by: \.age).aggregate(.count).resolve(in: context)[0].values.0
    #else
        _ = try User.query().grouped(by: \.age).aggregate(.count).resolve(in: context).count
        _ = try User.query().grouped(by: \.age).aggregate(.count).resolve(in: context).map { $0.values + 1 }
        _ = try User.query().grouped(by: \.age).aggregate(.max(\.age)).resolve(in: context).first?.values ?? 0
        _ = try User.query().aggregate(.max(\.age), in: context) ?? 0
    #endif
}

func aContextIsToldWhatToFind(_ context: Context) throws {
    #if REFUSED
        // refused: say what to find: 'find(Book.self, 1)', or 'let book: Book? = …'
        let user = try context.find("1")
        // refused: say what to find: 'all(Book.self)', or 'let books: [Book] = …'
        let users = try context.all()
        // refused: say what to find: 'findAll(Book.self, [1, 2])'
        let found = try context.findAll(["1"])
        // refused: say what to find: 'findAllExisting(Book.self, [1, 2])'
        let existing = try context.findAllExisting(["1"])
    #else
        let user = try context.find(User.self, "1")
        let users = try context.all(User.self)
        let found: [User?] = try context.findAll(["1"])
        let existing = try context.findAllExisting(User.self, ["1"])
    #endif
    print(user as Any, users, found, existing)
}

func aRelationIsNamedByItsDollarForm() {
    #if REFUSED
        // refused: a relation is named by its '$' form, as in 'with(\.$author)'
        _ = Message.query().with(\.author)
        // refused: a relation is named by its '$' form, as in 'with(\.$author)'
        _ = Message.query("1").with(\.author, \.seenBy)
        // refused: a relation is named by its '$' form, as in 'with(\.$author) { … }'
        _ = User.query().with(\.messages) { $0.limit(3) }
        // refused: a relation is named by its '$' form, as in 'id(\.$author)'
        _ = Message.query().id(\.author)
        // refused: a relation is named by its '$' form, as in 'id(\.$author)'
        _ = Message.query("1").id(\.author)
        // refused: a relation is named by its '$' form, as in 'with(\.$author) { … }'
        _ = User.query("1").with(\.messages) { $0.limit(3) }
        // refused: a relation is named by its '$' form, as in 'related(\.$author)'
        _ = Message.query("1").related(\.author)
        // refused: a relation is named by its '$' form, as in 'related(\.$author)'
        _ = Message.query().related(\.author)
        // refused: a relation is named by its '$' form, as in 'related(\.$books)'
        _ = User.query("1").related(\.messages)
        // refused: a relation is named by its '$' form, as in '.all(\.$books, where: …)'
        _ = User.filter(.all(\.messages, where: \.text == "a"))
        // refused: a relation is named by its '$' form, as in '.none(\.$books, where: …)'
        _ = User.filter(.none(\.messages, where: \.text == "a"))
        // refused: a relation is named by its '$' form, as in 'related(\.$books)'
        _ = User.query().related(\.messages)
        // refused: a relation is named by its '$' form, as in '.any(\.$books, where: …)'
        _ = User.filter(.any(\.messages, where: \.text == "a"))
        // refused: a relation is named by its '$' form, as in '.has(\.$author, …)'
        _ = Message.filter(.has(\.author, \.age == 3))
    #else
        _ = Message.query().with(\.$author)
        _ = Message.query("1").with(\.$author, \.$seenBy)
        _ = User.query().with(\.$messages) { $0.limit(3) }
        _ = Message.query().id(\.$author, \.$seenBy)
        _ = Message.query("1").related(\.$author)
        _ = User.query().related(\.$messages)
        _ = User.filter(.any(\.$messages, where: \.text == "a"))
        _ = Message.filter(.has(\.$author, \.age == 3))
        _ = Message.filter(\.author?.id == "1" || \.$author == "2" || \.$replyTo == nil)
    #endif
}

func conditionsAreAboutTheEntityAsked() {
    #if REFUSED
        // refused: 'Predicate<Message>' to expected argument type 'Predicate<User>'
        _ = User.filter(\Message.text == "a")
        // refused: to expected argument type 'KeyPath<User, String>'
        _ = User.query().sorted(by: \Message.text)
        // refused: cannot convert value of type 'WritableKeyPath<Message,
        _ = User.query().with(\Message.$author)
    #else
        _ = User.filter(\User.age == 3)
        _ = User.query().sorted(by: \User.age)
        _ = User.query().with(\User.$messages)
    #endif
}

func literalsHaveTheTypeOfTheProperty() {
    #if REFUSED
        // refused: cannot convert value of type 'String' to expected argument type 'Int'
        _ = User.filter(\.age == "3")
        // refused: no exact matches in call to static method 'query'
        _ = User.query(5)
        // refused: cannot convert value of type 'Int' to expected element type 'String'
        _ = User.query([5])
    #else
        _ = User.filter(\.age == 3)
        _ = User.query("5")
        _ = User.query(["5"])
    #endif
}

func aToOneRelationIsNoList() {
    #if REFUSED
        // refused: 'WritableKeyPath<Message, Relation<User, Relations.Mutual, Relations.ToMany<User>
        _ = Message.query().with(slice: \.$author)
        // refused: 'WritableKeyPath<Message, Relation<User, Relations.Mutual, Relations.ToMany<User>
        _ = Message.query().id(slice: \.$author)
        // refused: 'WritableKeyPath<Message, Relation<Message, Relations.OneWay, Relations.ToMany<Message>
        _ = Message.query("1").fragment(slice: \.$replyTo)
        // refused: 'WritableKeyPath<Message, Relation<User, Relations.Mutual, Relations.ToMany<User>
        _ = Message.query().with(\.$author) { $0.limit(3) }
        // refused: 'WritableKeyPath<Message, Relation<User, Relations.Mutual, Relations.ToMany<User>
        _ = Message.query().with(\.$author) { $0.sorted(by: \.age) }
        // refused: 'WritableKeyPath<Message, Relation<User, Relations.Mutual, Relations.ToMany<User>
        _ = Message.query("1").with(\.$author) { $0.or(.filter(\.age > 3)) }
    #else
        _ = Message.query().with(\.$author)
        _ = User.query().with(slice: \.$messages)
        _ = User.query().id(slice: \.$messages)
        _ = User.query("1").fragment(slice: \.$messages)
        _ = User.query().with(\.$messages) { $0.limit(3) }
        _ = User.query().with(\.$messages) { $0.sorted(by: \.text).or(.filter(\.text == "a")) }
        _ = Message.query().with(\.$author) { $0.filter(\.age > 3) }
    #endif
}
