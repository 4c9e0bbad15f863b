// SPDX-License-Identifier: Apache-2.0
// Secondary indexes compared with a list of entities: random changes, rollbacks and reopenings; random conditions,
// orders and limits, by value and as text, with and without an order of several columns.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam
@testable import HornbeamSecondaryIndexes

private let title = IndexColumn<String>("title")
private let duration = IndexColumn<Int>("duration")
private let plays = IndexColumn<Int64>("plays")

private func tracks(compound: Bool) -> SecondaryIndex<Track> {
    SecondaryIndex(
        "tracks", version: "1", columns: [title, duration, plays],
        orders: compound ? [[duration, plays], [title, duration, plays]] : []
    ) { (track: Track, row: inout IndexRowWriter) in
        if track.plays == 13 { return }
        row[title] = track.title.isEmpty ? nil : track.title
        row[duration] = track.duration
        row[plays] = track.plays
    }
}

/// A condition, its text, and its meaning. In text a comparison with nil is neither true nor false.
private struct Condition {
    let typed: ColumnCondition
    let text: String
    let holds: (Track) -> Bool
    /// Whether the condition holds in text; nil if that is unknown.
    let holdsInText: (Track) -> Bool?
}

/// Titles, of which long ones share more than the part of a key that is kept.
private let titles =
    ["", "a", "b", "é", "e\u{301}", "a\0", "B"] + ["x", "y", ""].map { String(repeating: "l", count: 1_500) + $0 }

extension Condition {
    static func random(_ depth: Int, _ random: inout SeededGenerator) -> Condition {
        switch depth > 0 ? random.below(10) : random.below(7) {
        case 0:
            let (text, order) = (titles[1 + random.below(titles.count - 1)], random.below(6))
            return compared(
                title, "title", text, "'\(text)'", order, { $0.title.isEmpty ? nil : $0.title })
        case 1:
            let number = random.below(6)
            return compared(duration, "duration", number, "\(number)", random.below(6), \.duration)
        case 2:
            let number = Int64(random.below(20))
            return compared(plays, "plays", number, "\(number)", random.below(6), \.plays)
        case 3:
            return Condition(
                typed: duration.isNil, text: "duration IS NULL", holds: { $0.duration == nil },
                holdsInText: { $0.duration == nil })
        case 4:
            let list = (0..<random.below(4)).map { _ in random.below(6) }
            return Condition(
                typed: duration.isIn(list), text: "duration IN (\(list.map(String.init).joined(separator: ", ")))",
                holds: { $0.duration.map(list.contains) ?? false },
                holdsInText: { list.isEmpty ? false : $0.duration.map(list.contains) })
        case 5:
            let (low, high) = (Int64(random.below(20)), Int64(random.below(20)))
            return Condition(
                typed: plays.isBetween(low, high), text: "plays BETWEEN \(low) AND \(high)",
                holds: { low <= $0.plays && $0.plays <= high }, holdsInText: { low <= $0.plays && $0.plays <= high })
        case 6:
            let part = ["a", "l", "é", "ly", "B"][random.below(5)]
            let isStart = random.oneIn(2)
            func test(_ track: Track) -> Bool { isStart ? track.title.hasPrefix(part) : track.title.contains(part) }
            return Condition(
                typed: isStart ? title.hasPrefix(part) : title.contains(part),
                text: "title LIKE '\(isStart ? "" : "%")\(part)%'", holds: test,
                holdsInText: { $0.title.isEmpty ? nil : test($0) })
        case 7:
            let part = Self.random(depth - 1, &random)
            return Condition(
                typed: !part.typed, text: "NOT (\(part.text))", holds: { !part.holds($0) },
                holdsInText: { track in part.holdsInText(track).map { !$0 } })
        case 8:
            let (left, right) = (Self.random(depth - 1, &random), Self.random(depth - 1, &random))
            return Condition(
                typed: left.typed && right.typed, text: "(\(left.text) AND \(right.text))",
                holds: { left.holds($0) && right.holds($0) },
                holdsInText: { track in
                    let (left, right) = (left.holdsInText(track), right.holdsInText(track))
                    if left == false || right == false { return false }
                    return left == nil || right == nil ? nil : true
                })
        default:
            let (left, right) = (Self.random(depth - 1, &random), Self.random(depth - 1, &random))
            return Condition(
                typed: left.typed || right.typed, text: "(\(left.text) or \(right.text))",
                holds: { left.holds($0) || right.holds($0) },
                holdsInText: { track in
                    let (left, right) = (left.holdsInText(track), right.holdsInText(track))
                    if left == true || right == true { return true }
                    return left == nil || right == nil ? nil : false
                })
        }
    }

    private static func compared<Property: IndexKey & Comparable>(
        _ column: IndexColumn<Property>, _ name: String, _ value: Property, _ literal: String, _ order: Int,
        _ read: @escaping (Track) -> Property?
    ) -> Condition {
        let (typed, sign, test): (ColumnCondition, String, (Property) -> Bool) =
            switch order {
            case 0: (column == value, "=", { $0 == value })
            case 1: (column != value, "<>", { $0 != value })
            case 2: (column < value, "<", { $0 < value })
            case 3: (column <= value, "<=", { $0 <= value })
            case 4: (column > value, ">", { $0 > value })
            default: (column >= value, ">=", { $0 >= value })
            }
        return Condition(
            typed: typed, text: "\(name) \(sign) \(literal)", holds: { read($0).map(test) ?? (order == 1) },
            holdsInText: { read($0).map(test) })
    }
}

/// The model's order: nil first, in descending order last.
private func comparison<Property: Comparable>(_ left: Property?, _ right: Property?, _ descending: Bool) -> Int {
    let order: Int
    if let left, let right {
        order = left < right ? -1 : left > right ? 1 : 0
    } else {
        order = (left == nil ? 0 : 1) - (right == nil ? 0 : 1)
    }
    return descending ? -order : order
}

@Suite("secondary indexes against a list")
struct SecondaryModelTests {
    @Test("any query gives the same as a scan of the entities", .seeded, arguments: [false, true])
    func queries(compound: Bool) throws {
        var random = SeededGenerator()
        let disk = try SimulatedDisk()
        var database = try MigratedFile.open(disk, [Track.self], [])
        let idx = tracks(compound: compound)
        try database.register(idx)
        var model: [String: Track] = [:]
        /// Ids in the order in which they got their rows; rows that are otherwise equal have this order.
        var rows: [String] = []
        for round in 0..<12 {
            var (changed, order) = (model, rows)
            struct Undone: Error {}
            let isUndone = random.oneIn(4)
            do {
                try database.write { (context) throws in
                    for _ in 0..<40 {
                        let id = "t\(random.below(120))"
                        if random.oneIn(5) {
                            _ = try Track.query(id).delete(from: &context)
                            changed[id] = nil
                            order.removeAll { $0 == id }
                        } else {
                            let track = Track(
                                id: id, title: titles[random.below(titles.count)],
                                duration: random.oneIn(4) ? nil : random.below(6), plays: Int64(random.below(20)))
                            try track.save(to: &context)
                            if changed[id] == nil { order.append(id) }
                            changed[id] = track
                        }
                    }
                    if isUndone { throw Undone() }
                }
                (model, rows) = (changed, order)
            } catch is Undone {}
            if round % 4 == 3 {
                #expect(try database.isWhole())
                try database.close()
                database = try MigratedFile.open(disk, [Track.self], [])
                // Sometimes a program without the index changes the file.
                if random.oneIn(2) {
                    try database.write { context in try Track(id: "t0", title: "alone").save(to: &context) }
                    if model["t0"] == nil { rows.append("t0") }
                    model["t0"] = Track(id: "t0", title: "alone")
                }
                try database.register(idx)
            }
            let indexed = rows.compactMap { model[$0] }.filter { $0.plays != 13 }
            try database.read { (context) throws in
                for _ in 0..<25 { try compare(idx, indexed, context, &random) }
            }
        }
    }

    private func compare(
        _ idx: SecondaryIndex<Track>, _ indexed: [Track], _ context: Context, _ random: inout SeededGenerator
    ) throws {
        let condition = Condition.random(3, &random)
        var orders: [(name: String, isDescending: Bool)] = []
        for name in ["title", "duration", "plays"].shuffled(using: &random).prefix(random.below(4)) {
            orders.append((name, random.oneIn(2)))
        }
        let limit = random.oneIn(2) ? random.below(8) : nil
        let offset = limit != nil && random.oneIn(2) ? random.below(5) : 0
        func sorted(_ tracks: [Track]) -> [Track] {
            let sorted = tracks.enumerated().sorted { left, right in
                for order in orders {
                    let (one, other) = (left.element, right.element)
                    let result =
                        switch order.name {
                        case "title":
                            comparison(
                                one.title.isEmpty ? nil : one.title, other.title.isEmpty ? nil : other.title,
                                order.isDescending)
                        case "duration": comparison(one.duration, other.duration, order.isDescending)
                        default: comparison(one.plays, other.plays, order.isDescending)
                        }
                    if result != 0 { return result < 0 }
                }
                return left.offset < right.offset
            }
            return Array(sorted.map(\.element).dropFirst(offset).prefix(limit ?? .max))
        }
        var typed = idx.query(condition.typed).limit(limit).offset(offset)
        typed.order = orders.map { IndexOrder(column: $0.name, isDescending: $0.isDescending) }
        let plan = Comment(rawValue: "\(condition.text) by \(orders): \(try typed.explain(in: context))")
        let expected = sorted(indexed.filter(condition.holds))
        #expect(try typed.ids(in: context) == expected.map(\.id), plan)
        #expect(try typed.resolve(in: context) == expected, plan)
        #expect(try typed.count(in: context) == expected.count, plan)
        #expect(try typed.rows(in: context).map { $0[plays] } == expected.map(\.plays), plan)
        var cursor = try typed.cursor(in: context)
        var lazily: [String] = []
        while let row = try cursor.next() { lazily.append(row.id) }
        #expect(lazily == expected.map(\.id), plan)
        #expect(try typed.sum(plays, in: context) == expected.map(\.plays).reduce(0, +), plan)
        #expect(try typed.max(plays, in: context) == expected.map(\.plays).max(), plan)
        #expect(try typed.min(title, in: context) == expected.map(\.title).filter { !$0.isEmpty }.min(), plan)
        #expect(
            try typed.countDistinct(duration, in: context) == Set(expected.compactMap(\.duration)).count, plan)
        // Groups of all entities that meet the condition.
        let groups = Dictionary(grouping: indexed.filter(condition.holds), by: \.duration)
        let counts = try idx.query(condition.typed).grouped(by: duration).count(in: context)
        #expect(Dictionary(uniqueKeysWithValues: counts.map { ($0.key, $0.count) }) == groups.mapValues(\.count), plan)
        // The query as text.
        let by = orders.map { "\($0.name)\($0.isDescending ? " DESC" : "")" }.joined(separator: ", ")
        let text =
            "WHERE \(condition.text)" + (by.isEmpty ? "" : " ORDER BY \(by)")
            + (limit.map { " LIMIT \($0) OFFSET \(offset)" } ?? "")
        let found = try idx.query(text).ids(in: context)
        #expect(found == sorted(indexed.filter { condition.holdsInText($0) == true }).map(\.id), "\(text)")
        // The query within a known set.
        let some = indexed.map(\.id).shuffled(using: &random).prefix(10)
        let known = try idx.query(condition.typed).ids(Array(some)).sum(plays, in: context)
        let wanted = indexed.filter { some.contains($0.id) && condition.holds($0) }
        #expect(known == wanted.map(\.plays).reduce(0, +), plan)
    }
}
