// SPDX-License-Identifier: Apache-2.0
// Declarations of entities that the macro, or the types of their properties, refuse.

import Hornbeam

#if REFUSED
    // refused: @EntityModel needs a struct: entities are values
    @EntityModel
    class Tree {
        let id = 1
    }

    // refused: @EntityModel needs a struct: entities are values
    @EntityModel
    enum Leaf {
        case green
    }

    @EntityModel
    // refused: 'Nameless' has no 'id': add a property such as 'let id: String' to the struct itself, stored or computed
    struct Nameless {
        var name = ""
    }

    @EntityModel
    // refused: 'id' can't be optional: write 'let id: Int'
    struct Unborn {
        var id: Int?
    }

    // refused: an entity in another one is a relation: '@Relationship var author: Author?'
    @EntityModel
    struct Plain {
        let id: Int
        var user: User
    }

    // refused: an entity in another one is a relation: '@Relationship var author: Author?'
    @EntityModel
    struct PlainOptional {
        let id: Int
        var user: User?
    }

    // refused: an entity in another one is a relation: '@Relationship var author: Author?'
    @EntityModel
    struct PlainList {
        let id: Int
        var users: [User] = []
        var others: [User]?
    }

    @EntityModel
    struct Rootless {
        // refused: Swift can't tell the type that the key path begins at: write '@Index<Self>(…)'
        @Index(\.name) private var byName
        let id: Int
        var name: String
    }

    @EntityModel
    struct Bare {
        let id: Int
        // refused: a one-way relation needs parentheses or a value: '@Relationship() var user: User?'
        // refused: generic parameter 'Directionality' could not be inferred
        @Relationship var user: User?
    }
#else
    @EntityModel
    struct Bare {
        let id: Int
        @Relationship() var user: User?
    }
#endif

/// Neither codable nor a column value.
struct Handle: Sendable {
    var number: Int
}

#if REFUSED
    // refused: this type can't be stored: make it Codable, or conform it to ColumnValue
    @EntityModel
    struct Device {
        let id: Int
        var handle: Handle
    }

    // refused: this type can't be stored: make it Codable, or conform it to ColumnValue
    @EntityModel
    struct Spare {
        let id: Int
        var handle: Handle?
    }

    // refused: this type can't be stored: make it Codable, or conform it to ColumnValue
    @EntityModel
    struct Toolbox {
        let id: Int
        var handles: [Handle?] = []
    }

    // refused: this type can't be stored: make it Codable, or conform it to ColumnValue
    @EntityModel
    struct Cabinet {
        let id: Int
        var handles: [String: Handle]
    }

    // refused: this type can't be stored: make it Codable, or conform it to ColumnValue
    @EntityModel
    struct Spot {
        let id: Int
        var at: (Int, Int)
    }

    // refused: this type can't be stored: make it Codable, or conform it to ColumnValue
    @EntityModel
    struct Callback {
        let id: Int
        var body: @Sendable () -> Int
    }

    // refused: this type can't be stored: make it Codable, or conform it to ColumnValue
    @EntityModel
    struct Mystery {
        let id: Int
        var any: any Codable & Sendable
    }

    // refused: this type has no order-preserving key: conform it to IndexKey, or write @HashIndex
    // refused: a full-text index is over String properties, or arrays of them
    @EntityModel
    struct Page {
        @Index<Self>(\.profile) private var byProfile
        @FullTextIndex<Self>(\.number) private var search
        let id: Int
        var number = 0
        var profile = Profile()
    }

    // refused: type 'Keyed' does not conform to protocol 'EntityModelProtocol'
    @EntityModel
    struct Keyed {
        let id: Profile
    }
#else
    @EntityModel
    struct Device {
        let id: Int
        var handle: Int
    }

    @EntityModel
    struct Page {
        @Index<Self>(\.number) private var byNumber
        @FullTextIndex<Self>(\.text) private var search
        let id: Int
        var number = 0
        var text = ""
    }

    @EntityModel
    struct Keyed {
        let id: String
    }
#endif
