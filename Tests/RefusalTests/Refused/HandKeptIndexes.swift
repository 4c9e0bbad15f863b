// SPDX-License-Identifier: Apache-2.0
// Ids for the wrong index, and code that uses an undeclared index.

import HornbeamHandKept

@EntityModel
struct Cupboard {
    let id: Int
}

struct ChatIndexes: IndexesType {
    let pinned = OrderedIDIndex<Message>("pinned")
    let cupboards = OrderedIDIndex<Cupboard>("cupboards")
    let byAuthor = GroupByEntityIndex<User, Message>("byAuthor")
    let inCupboard = GroupByEntityIndex<Cupboard, Message>("inCupboard")
}

protocol HasPinned: IndexesType {
    var pinned: OrderedIDIndex<Message> { get }
}

extension ChatIndexes: HasPinned {}

struct OtherIndexes: IndexesType {}

func idsGoIntoIndexesOfTheirType(_ context: Context) throws {
    let indexes = context.indexes(of: ChatIndexes.self)
    #if REFUSED
        // refused: cannot convert value of type 'String' to expected argument type 'Int'
        try indexes.cupboards.append(Message(id: "m").id)
        // refused: cannot convert value of type 'String' to expected argument type 'Int'
        try indexes.inCupboard.orderedID(in: User(id: "u").id).append("m")
        // refused: cannot assign value of type '[Message]' to type '[Cupboard]'
        let _: [Cupboard] = try context.find(in: ChatIndexes().pinned)
    #else
        try indexes.cupboards.append(Cupboard(id: 1).id)
        try indexes.inCupboard.orderedID(in: Cupboard(id: 1).id).append("m")
        let _: [Message] = try context.find(in: ChatIndexes().pinned)
    #endif
}

func pinned<Declared: HasPinned>(_: Declared.Type, in context: Context) throws -> [Message] {
    try context.indexes(of: Declared.self).pinned.entities()
}

func codeAsksForTheIndexesItNeeds(_ context: Context) throws {
    #if REFUSED
        // refused: global function 'pinned(_:in:)' requires that 'OtherIndexes' conform to 'HasPinned'
        _ = try pinned(OtherIndexes.self, in: context)
        // refused: has no dynamic member 'unknown'
        _ = try context.indexes(of: ChatIndexes.self).unknown
    #else
        _ = try pinned(ChatIndexes.self, in: context)
    #endif
}
