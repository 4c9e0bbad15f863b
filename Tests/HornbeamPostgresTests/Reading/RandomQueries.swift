// SPDX-License-Identifier: Apache-2.0
// Random conditions, sorts and nested lists.

import Foundation
import Hornbeam
import HornbeamTestSupport

struct RandomQueries {
    var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    // MARK: Conditions on items

    mutating func condition(depth: Int = 2) -> Hornbeam.Predicate<Item> {
        guard depth > 0, !random.oneIn(3) else { return leaf() }
        switch random.below(4) {
        case 0: return condition(depth: depth - 1) && condition(depth: depth - 1)
        case 1: return condition(depth: depth - 1) || condition(depth: depth - 1)
        case 2: return !condition(depth: depth - 1)
        default: return relation(depth: depth - 1)
        }
    }

    private mutating func leaf() -> Hornbeam.Predicate<Item> {
        switch random.below(6) {
        case 0: number()
        case 1: date()
        case 2: text()
        case 3: part()
        case 4: array()
        default: other()
        }
    }

    private mutating func comparison<Property: Comparable & Sendable>(
        _ path: KeyPath<Item, Property>, _ value: Property
    ) -> Hornbeam.Predicate<Item> {
        switch random.below(6) {
        case 0: path == value
        case 1: path != value
        case 2: path < value
        case 3: path <= value
        case 4: path > value
        default: path >= value
        }
    }

    private mutating func comparison<Property: Comparable & Sendable>(
        _ path: KeyPath<Item, Property?>, _ value: Property
    ) -> Hornbeam.Predicate<Item> {
        switch random.below(8) {
        case 0: path == value
        case 1: path != value
        case 2: path < value
        case 3: path <= value
        case 4: path > value
        case 5: path >= value
        case 6: path == nil
        default: path != nil
        }
    }

    private mutating func number() -> Hornbeam.Predicate<Item> {
        switch random.below(14) {
        case 0: comparison(\.tiny, Int8(random.one(of: [-128, 0, 3, 127])))
        case 1: comparison(\.short, Int16(random.one(of: [-5, 0, 5])))
        case 2: comparison(\.middle, Int32(random.below(5)))
        case 3: comparison(\.number, random.one(of: Pools.integers))
        case 4: comparison(\.byte, UInt8(random.below(4)))
        case 5: comparison(\.word, random.one(of: [0, 7, .max]))
        case 6: comparison(\.mass, random.one(of: Pools.masses))
        case 7: comparison(\.thin, random.one(of: Pools.floats))
        case 8: comparison(\.ratio, random.one(of: Pools.doubles))
        case 9: comparison(\.part, random.one(of: Pools.doubles))
        case 10: comparison(\.price, random.one(of: Pools.decimals))
        case 11: comparison(\.id, random.below(1000))
        case 12: .value(\.number, in: random.some(of: Pools.integers, upTo: 12))
        default: .value(\.part, in: random.some(of: Pools.doubles + [nil]))
        }
    }

    private mutating func date() -> Hornbeam.Predicate<Item> {
        switch random.below(4) {
        case 0: return comparison(\.made, random.date())
        case 1: return comparison(\.seen, random.date())
        case 2: return .value(\.made, in: random.some(of: Pools.dates))
        default:
            let (low, high) = (random.one(of: Pools.dates), random.one(of: Pools.dates))
            return .value(\.made, between: low, and: high)
        }
    }

    private mutating func text() -> Hornbeam.Predicate<Item> {
        switch random.below(6) {
        case 0: comparison(\.name, random.text())
        case 1: comparison(\.note, random.one(of: Pools.notes))
        case 2: comparison(\.note, random.one(of: Pools.notes) + random.one(of: Pools.notes))
        case 3: .value(\.name, in: random.some(of: Pools.texts, upTo: 10))
        case 4: .value(\.note, in: random.some(of: Pools.notes + [nil], upTo: 10))
        default: \.link == random.one(of: Pools.links)
        }
    }

    private mutating func part() -> Hornbeam.Predicate<Item> {
        let text = random.one(of: Pools.notes)
        let (isSensitive, isMarked) = (random.oneIn(2), random.oneIn(2))
        return switch random.below(7) {
        case 0: .string(\.name, contains: text, caseSensitive: isSensitive, diacriticSensitive: isMarked)
        case 1: .string(\.name, hasPrefix: text, caseSensitive: isSensitive, diacriticSensitive: isMarked)
        case 2: .string(\.name, hasSuffix: text, caseSensitive: isSensitive, diacriticSensitive: isMarked)
        case 3: .string(\.name, \.note, contains: text, caseSensitive: isSensitive, diacriticSensitive: isMarked)
        case 4: .string(\.note, notContaining: text, caseSensitive: isSensitive, diacriticSensitive: isMarked)
        case 5: .string(\.note, hasPrefix: text, caseSensitive: isSensitive, diacriticSensitive: isMarked)
        default: .string(\.name, \.note, notHavingSuffix: text, caseSensitive: isSensitive)
        }
    }

    private mutating func array() -> Hornbeam.Predicate<Item> {
        switch random.below(9) {
        case 0: .array(\.tags, contains: random.one(of: Pools.notes))
        case 1: .array(\.tags, containsAny: random.some(of: Pools.notes))
        case 2: .array(\.tags, containsAll: random.some(of: Pools.notes, upTo: 2))
        case 3: .array(\.tags, containsNone: random.some(of: Pools.notes))
        case 4: .array(\.counts, containsAll: random.some(of: [0, 1, 2], upTo: 2))
        case 5: .array(\.counts, containsNone: random.some(of: [0, 1, 2]))
        case 6: .array(\.days, contains: random.one(of: Pools.dates))
        case 7: .array(\.days, containsNone: random.some(of: Pools.dates))
        default:
            [
                .any(\.counts) { [value = random.below(3)] in $0 >= value },
                .any(\.tags) { [text = random.one(of: Pools.texts)] in $0 == text },
            ][random.below(2)]
        }
    }

    private mutating func other() -> Hornbeam.Predicate<Item> {
        switch random.below(8) {
        case 0: \.isNew == true
        case 1: comparison(\.key, random.one(of: Pools.keys))
        case 2: \.blob == random.one(of: Pools.blobs)
        case 3: \.kind == random.one(of: Item.Kind.allCases)
        case 4: \.level != random.one(of: Item.Level.allCases)
        case 5: \.level == nil
        case 6: .value(\.id, in: (0..<5).map { _ in random.below(1000) })
        default: \.note == nil
        }
    }

    private mutating func relation(depth: Int) -> Hornbeam.Predicate<Item> {
        switch random.below(10) {
        case 0: .has(\.$shelf, shelf())
        case 1: .any(\.$parts, where: condition(depth: depth))
        case 2: .all(\.$parts, where: condition(depth: depth))
        case 3: .none(\.$parts, where: condition(depth: depth))
        case 4: .any(\.$parts)
        case 5: .none(\.$shelf)
        case 6: comparison(\.$parts.count, random.below(4))
        case 7: \.$shelf == 1 + random.below(22)
        case 8: \.$shelf != nil
        default: .has(\.$shelf, .any(\.$items, where: condition(depth: depth)))
        }
    }

    mutating func shelf() -> Hornbeam.Predicate<Shelf> {
        switch random.below(6) {
        case 0: return \.title > random.text()
        case 1: return \.score <= random.one(of: Pools.doubles)
        case 2: return \.score == nil
        case 3: return \.$items.count > random.below(6)
        case 4: return .any(\.$owners, where: \.born > random.date())
        default: return .string(\.title, contains: random.one(of: Pools.texts))
        }
    }

    // MARK: Sorts

    mutating func sorts() -> [Sorting<Item>] {
        let sorts: [Sorting<Item>] = [
            .by(\.number), .by(\.number.desc), .by(\.short), .by(\.short.desc), .by(\.made), .by(\.made.desc),
            .by(\.seen), .by(\.seen.desc), .by(\.name), .by(\.name.desc), .by(\.ratio), .by(\.part.desc), .by(\.note),
            .by(\.note.desc), .by(\.mass),
            .by(\.thin.desc), .by(\.price), .by(\.key.desc), .by(\.middle), .by(\.byte.desc), .by(\.word), .by(\.tiny),
            .by(\.id.desc), .by(\.id), .by(\.isNew.asc), .by(\.$parts.count), .by(\.$parts.count.desc),
            .by(.updatedAt.desc), .by(.updatedAt), .by(\.$shelf.id), .by(\.$shelf.id.desc),
        ]
        return (0..<random.below(4)).map { _ in random.one(of: sorts) }
    }

    mutating func items() -> QueryList<Item> {
        var list = random.oneIn(5) ? Item.query() : Item.filter(condition(depth: 3))
        let sorts = sorts()
        if !sorts.isEmpty { list = list.sorted(by: sorts) }
        if random.oneIn(2) { list = list.limit(random.below(20), offset: random.oneIn(2) ? random.below(20) : 0) }
        return list
    }

    // MARK: Nested lists

    mutating func nested(_ list: QueryList<Item>) -> QueryList<Item> {
        switch random.below(5) {
        case 0: return list.with(\.$shelf)
        case 1: return list.with(\.$shelf) { $0.with(\.$items) { $0.sorted(by: \.number).limit(2) } }
        case 2: return list.id(\.$parts).with(\.$shelf) { $0.id(\.$owners) }
        case 3:
            let (condition, sorts) = (condition(), sorts())
            return list.with(\.$parts) { $0.filter(condition).sorted(by: sorts).limit(3) }
        default: return list.with(.entities, .ids)
        }
    }

    mutating func shelves() -> QueryList<Shelf> {
        let (condition, sorts) = (condition(), sorts())
        let list = Shelf.filter(shelf())
        return switch random.below(4) {
        case 0: list.with(\.$items).with(\.$owners) { $0.with(\.$favourite) }
        case 1: list.with(\.$items) { $0.filter(condition).sorted(by: sorts).with(\.$parts) }
        case 2: list.sorted(by: \.title).limit(5).with(\.$neighbours) { $0.with(\.$neighbours) }
        default: list.with(.entities, .entities, .ids)
        }
    }
}
