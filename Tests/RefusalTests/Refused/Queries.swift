// SPDX-License-Identifier: Apache-2.0
// Questions that make no sense for the types in them.

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
    #else
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
        // refused: instance method 'grouped(by:)' requires that 'Profile' conform to 'Hashable'
        _ = User.query().grouped(by: \.profile)
    #else
        _ = try User.query().min(\.age, in: context)
        _ = User.query().grouped(by: \.mood).aggregate(.max(\.age))
        _ = User.filter(.value(\.age, between: 1, and: 2))
        _ = User.query().first(ofEach: \.mood)
    #endif
}

func conditionsAreAboutTheEntityAsked() {
    #if REFUSED
        // refused: 'KeyPath<Message, String>' to expected argument type 'KeyPath<User, String>'
        _ = User.filter(\Message.text == "a")
        // refused: to expected argument type 'any KeyPath<User, String> & Sendable'
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
