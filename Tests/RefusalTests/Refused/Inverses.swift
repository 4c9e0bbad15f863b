// SPDX-License-Identifier: Apache-2.0
// Pairs of relations that don't match. Each mistake is in the first type of its pair.

import Hornbeam

// The other side doesn't name this one.

#if REFUSED
    // refused: the other side is one-way: give it an 'inverse:' too, or this one none
    @EntityModel
    struct Owner {
        let id: Int
        @Relationship(inverse: \.owner) var dogs: [Dog]?
    }
#else
    @EntityModel
    struct Owner {
        let id: Int
        @Relationship() var dogs: [Dog]?
    }
#endif

@EntityModel
struct Dog {
    let id: Int
    @Relationship() var owner: Owner?
}

// The other side leads to another type.

#if REFUSED
    // refused: the other side leads to another type: name the relation that leads back here
    @EntityModel
    struct Team {
        let id: Int
        @Relationship(inverse: \.club) var players: [Player]?
    }
#else
    @EntityModel
    struct Team {
        let id: Int
        @Relationship(inverse: \.team) var players: [Player]?
    }
#endif

@EntityModel
struct Club {
    let id: Int
    @Relationship(inverse: \.club) var players: [Player]?
}

@EntityModel
struct Player {
    let id: Int
    @Relationship(inverse: \.players) var club: Club?
    @Relationship(inverse: \.players) var team: Team?
}

// The other side is a property that is no relation, or is missing.

#if REFUSED
    // refused: value of type 'Book' has no member '$place'
    @EntityModel
    struct Shelf {
        let id: Int
        @Relationship(inverse: \.place) var books: [Book]?
    }

    // refused: generic parameter 'Target' could not be inferred
    @EntityModel
    struct Rack {
        let id: Int
        // refused: value of type 'Book' has no member 'rack'
        @Relationship(inverse: \.rack) var books: [Book]?
    }
#else
    @EntityModel
    struct Shelf {
        let id: Int
        @Relationship(inverse: \.shelf) var books: [Book]?
    }
#endif

@EntityModel
struct Book {
    let id: Int
    var place: String?
    @Relationship(inverse: \.books) var shelf: Shelf?
}
