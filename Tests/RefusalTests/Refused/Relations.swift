// SPDX-License-Identifier: Apache-2.0
// Impossible declarations and uses of relations.

import Hornbeam

func aRequiredRelationIsNotNull(_ message: inout Message) {
    #if REFUSED
        // refused: 'null' requires the types 'Relations.Required' and 'Relations.Optional'
        message.$author = .null
        // refused: 'null' requires the types 'Relations.Required' and 'Relations.Optional'
        message = Message(id: "1", author: .null)
    #else
        message.$replyTo = .null
        message = Message(id: "1", author: .none)
    #endif
}

func oneIsNotMany(_ message: inout Message, _ user: User) {
    #if REFUSED
        // refused: 'ids' on 'Relation' requires the types 'Relations.ToOne<User>' and 'Relations.ToMany<User>'
        message.$author = .ids(["1"])
        // refused: cannot convert value of type '[User]' to expected argument type 'User'
        message.$author = .relation([user])
        // refused: 'appending(ids:)' on 'Relation' requires the types 'Relations.ToOne<User>'
        message.$author = .appending(ids: ["1"])
        // refused: property 'ids' requires the types 'Relations.ToOne<User>' and 'Relations.ToMany<User>'
        _ = message.$author.ids
        // refused: 'ids' on 'Relationship' requires the types 'Relations.ToOne<User>' and 'Relations.ToMany<User>'
        message = Message(id: "1", author: .ids(["1"]))
    #else
        message.$author = .id("1")
        message.$author = .relation(user)
        _ = message.$author.id
        message = Message(id: "1", author: .id("1"))
    #endif
}

func manyAreNotOne(_ user: inout User, _ message: Message) {
    #if REFUSED
        // refused: 'id' on 'Relation' requires the types 'Relations.ToMany<Message>' and 'Relations.ToOne<Message>'
        user.$messages = .id("1")
        // refused: cannot convert value of type 'Message' to expected argument type '[Message]'
        user.$messages = .relation(message)
        // refused: 'null' requires the types 'Relations.ToMany<Message>' and 'Relations.ToOne<Message>'
        user.$messages = .null
        // refused: property 'id' requires the types 'Relations.ToMany<Message>' and 'Relations.ToOne<Message>'
        _ = user.$messages.id
    #else
        user.$messages = .ids(["1"])
        user.$messages = .relation([message])
        user.$messages = .appending(fragment: [message])
        user.$messages = .ids([])
        _ = user.$messages.ids
    #endif
}

func thePropertyOnlyShows(_ message: inout Message, _ user: User) {
    #if REFUSED
        // refused: set a relation by its '$' form: 'book.$author = .relation(author)', 'author.$books = .ids([1])'
        message.author = user
        // refused: set a relation by its '$' form: 'book.$author = .relation(author)', 'author.$books = .ids([1])'
        message.seenBy = [user]
        // refused: set a relation by its '$' form: 'book.$author = .relation(author)', 'author.$books = .ids([1])'
        message.seenBy?.append(user)
    #else
        message.$author = .relation(user)
        message.$seenBy = .relation([user])
        message.$seenBy = .appending(relation: [user])
    #endif
}

func aRelationIsSetToARelation(_ message: inout Message, _ user: inout User) {
    #if REFUSED
        // refused: write '.relation([…])', or '.ids([…])' for ids
        user.$messages = [message]
        // refused: write '.relation([…])', or '.ids([…])' for ids
        user.$messages = []
        // refused: write '.relation([…])', or '.ids([…])' for ids
        user = User(id: "1", messages: [message])
        // refused: write '.null' for no link, '.none' to leave it as it is
        message.$replyTo = nil
        // refused: write '.null' for no link, '.none' to leave it as it is
        message = Message(id: "1", author: nil)
        // refused: write '.relation(entity)', which saves it too, or '.id(entity.id)'
        message.$author = .id(user)
        // refused: write 'author.$books = .appending(relation: [book])'
        user.$messages.append(message)
    #else
        user.$messages = .relation([message])
        user.$messages = .ids([])
        user = User(id: "1", messages: .relation([message]))
        message.$replyTo = .null
        message = Message(id: "1", author: .none)
        message.$author = .id(user.id)
        user.$messages = .appending(relation: [message])
    #endif
}

func idsAreThoseOfTheTarget(_ message: inout Message) {
    #if REFUSED
        // refused: cannot convert value of type 'Int' to expected argument type 'String'
        message.$author = .id(5)
        // refused: cannot convert value of type 'Int' to expected element type 'String'
        message.$seenBy = .ids([5])
        // refused: cannot convert value of type 'Message' to expected argument type 'User'
        message.$author = .relation(message)
    #else
        message.$author = .id("5")
        message.$seenBy = .ids(["5"])
        message.$replyTo = .relation(Message(id: "5"))
    #endif
}

func aMutualRelationIsLeftWithItsInverse(_ message: Message, _ user: User, _ context: inout Context)
    throws
{
    #if REFUSED
        // refused: 'WritableKeyPath<Message, Relation<User, Relations.OneWay, Relations.ToOne<User>
        try message.detach(\.$author, in: &context)
        // refused: 'WritableKeyPath<Message, Relation<User, Relations.OneWay, Relations.ToOne<User>
        try message.delete(\.$author, from: &context)
        // refused: 'WritableKeyPath<User, Relation<Message, Relations.OneWay, Relations.ToMany<Message>
        try user.detach("1", relation: \.$messages, in: &context)
        // refused: 'WritableKeyPath<User, Relation<Message, Relations.OneWay, Relations.ToMany<Message>
        try user.delete("1", relation: \.$messages, from: &context)
        // refused: 'WritableKeyPath<User, Relation<Message, Relations.OneWay, Relations.ToMany<Message>
        try user.save(\.$messages, to: &context)
    #else
        try message.detach(\.$author, inverse: \.$messages, in: &context)
        try message.delete(\.$author, inverse: \.$messages, from: &context)
        try user.detach("1", relation: \.$messages, inverse: \.$author, in: &context)
        try user.delete("1", relation: \.$messages, inverse: \.$author, from: &context)
        try user.save(\.$messages, inverse: \.$author, to: &context)
    #endif
}

func aOneWayRelationHasNoInverse(_ message: Message, _ context: inout Context) throws {
    #if REFUSED
        // refused: 'WritableKeyPath<Message, Relation<User, Relations.Mutual, Relations.ToMany<User>
        try message.detach(\.$seenBy, inverse: \.$messages, in: &context)
        // refused: 'WritableKeyPath<Message, Relation<User, Relations.Mutual, Relations.ToMany<User>
        try message.delete(\.$seenBy, inverse: \.$messages, from: &context)
        // refused: 'WritableKeyPath<Message, Relation<User, Relations.Mutual, Relations.ToMany<User>
        try message.detach("1", relation: \.$seenBy, inverse: \.$messages, in: &context)
    #else
        try message.detach(\.$seenBy, in: &context)
        try message.delete(\.$seenBy, from: &context)
        try message.detach("1", relation: \.$seenBy, in: &context)
    #endif
}

func anInverseLeadsBack(_ message: Message, _ user: User, _ context: inout Context) throws {
    #if REFUSED
        // refused: 'WritableKeyPath<Message, Relation<User, Relations.Mutual, Relations.ToOne<Message>
        try user.detach(\.$messages, inverse: \.$replyTo, in: &context)
        // refused: 'WritableKeyPath<User, Relation<Message, Relations.Mutual, InverseC, InverseK>>'
        try message.detach(\.$author, inverse: \.$author, in: &context)
    #else
        try user.detach(\.$messages, inverse: \.$author, in: &context)
        try message.detach(\.$author, inverse: \.$messages, in: &context)
    #endif
}
