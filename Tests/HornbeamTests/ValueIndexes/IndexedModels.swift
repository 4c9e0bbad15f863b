// SPDX-License-Identifier: Apache-2.0
// Entities of the tests of value and array indexes: the document's, and one with a property of each kind.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

/// The document's data model.
@EntityModel
struct Hotel: Equatable {
    let id: String
    var type = "hotel"
    var name = ""
    var overview = ""
    var state = ""
    var rating: Int?
    var lowerName: String { name.lowercased() }
}

enum Rank: Int, IndexKey, CaseIterable, Comparable {
    case low, middle, high
    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A value nested in a property.
struct ValuedPlace: Codable, Equatable {
    var city: String
    var floor: Int?
}

@EntityModel
struct IndexedThing: Equatable {
    let id: Int
    var name = ""
    var size = 0
    var weight = 0.0
    var note: String?
    var rank = Rank.low
    var tags: [String] = []
    var place = ValuedPlace(city: "")
    var lowerName: String { name.lowercased() }
    var half: Double { weight / 2 }
    var firstTag: String? { tags.first }
}

extension IndexedThing {
    /// Few different values of each property, so that queries find something; some of the values are special cases.
    static func random(_ id: Int, _ random: inout SeededGenerator) -> IndexedThing {
        let names = ["", "a", "A", "b", "é", "e\u{301}", "ab\0c", "z", String(repeating: "long", count: 260)]
        let weights = [0.0, -0.0, 1.5, -2, .nan, .infinity]
        return IndexedThing(
            id: id, name: names[random.below(names.count)], size: random.below(7) - 3,
            weight: weights[random.below(weights.count)], note: random.oneIn(3) ? nil : names[random.below(8)],
            rank: Rank.allCases[random.below(3)], tags: (0..<random.below(4)).map { _ in names[random.below(6)] },
            place: ValuedPlace(city: names[random.below(5)], floor: random.oneIn(2) ? nil : random.below(3)))
    }

    /// A condition of every kind.
    static func condition(_ random: inout SeededGenerator) -> Hornbeam.Predicate<IndexedThing> {
        let names = ["", "a", "A", "b", "é", "ab\0c", String(repeating: "long", count: 260)]
        let name = names[random.below(names.count)]
        let size = random.below(7) - 3
        switch random.below(24) {
        case 0: return \.name == name
        case 1: return \.name > name
        case 2: return \.name <= name
        case 3: return \.size == size
        case 4: return \.size >= size
        case 5: return \.size < size
        case 6: return .value(\.size, in: [size, 1, 2])
        case 7: return \.note == nil
        case 8: return \.note != nil
        case 9: return \.note == name
        case 10: return \.note > name
        case 11: return \.weight == 1.5
        case 12: return \.weight > 0
        case 13: return \.rank == .middle
        case 14: return \.rank >= .middle
        case 15: return \.lowerName == name
        case 16: return \.lowerName > name
        case 17: return \.half > -1
        case 18: return \.half == .nan
        case 19: return \.firstTag == nil
        case 20: return \.firstTag == name
        case 21: return \.place.city == name
        case 22: return \.place.floor == 1
        default: return .string(\.name, hasPrefix: "a", caseSensitive: true)
        }
    }
}

extension Database {
    /// Returns the plan of a query.
    func plan<Entity: EntityModelProtocol>(_ query: QueryList<Entity>) throws -> Plan {
        try read { context in try query.explain(in: context) }
    }

    func results<Entity: EntityModelProtocol>(_ query: QueryList<Entity>) throws -> [Entity] {
        try read { context in try query.resolve(in: context) }
    }
}

extension Plan {
    /// The names of the registered indexes that the plan reads.
    var indexes: [String] { access.indexes }
}

extension Plan.Access {
    fileprivate var indexes: [String] {
        switch self {
        case .index(let name, _, _, _): [name]
        case .union(let parts), .intersection(let parts): parts.flatMap(\.indexes)
        default: []
        }
    }
}
