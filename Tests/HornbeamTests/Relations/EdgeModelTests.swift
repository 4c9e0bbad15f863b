// SPDX-License-Identifier: Apache-2.0
// Links of all kinds under random changes, compared with lists in memory: both sides agree, in the order of linking.

import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

/// The lists of targets by side and source.
private struct Lists {
    struct Key: Hashable {
        let type: String
        let name: String
        let source: RowID
    }

    var lists: [Key: [RowID]] = [:]

    private func key(_ side: EdgeSide, _ source: RowID) -> Key { Key(type: side.type, name: side.name, source: source) }

    func targets(_ side: EdgeSide, _ source: RowID) -> [RowID] { lists[key(side, source)] ?? [] }

    mutating func unlink(_ side: EdgeSide, _ inverse: EdgeSide?, _ source: RowID, _ target: RowID) {
        lists[key(side, source)]?.removeAll { $0 == target }
        if let inverse { lists[key(inverse, target)]?.removeAll { $0 == source } }
    }

    mutating func link(_ side: EdgeSide, _ inverse: EdgeSide?, _ source: RowID, _ target: RowID) {
        if targets(side, source).contains(target) { return }
        if !side.isToMany { for old in targets(side, source) { unlink(side, inverse, source, old) } }
        if let inverse, !inverse.isToMany {
            for old in targets(inverse, target) { unlink(inverse, side, target, old) }
        }
        lists[key(side, source), default: []].append(target)
        if let inverse, !targets(inverse, target).contains(source) {
            lists[key(inverse, target), default: []].append(source)
        }
    }

    mutating func set(_ side: EdgeSide, _ inverse: EdgeSide?, _ source: RowID, _ wanted: [RowID]) {
        var kept: [RowID] = []
        for target in side.isToMany ? wanted : wanted.suffix(1) where !kept.contains(target) { kept.append(target) }
        for old in targets(side, source) where !kept.contains(old) { unlink(side, inverse, source, old) }
        for target in kept { link(side, inverse, source, target) }
        lists[key(side, source)] = kept
    }

    mutating func delete(_ type: String, _ row: RowID, _ sides: [(side: EdgeSide, inverse: EdgeSide?)]) {
        for (side, inverse) in sides {
            if side.type == type { set(side, inverse, row, []) }
            guard side.target == type else { continue }
            for key in lists.keys where key.type == side.type && key.name == side.name {
                lists[key]?.removeAll { $0 == row }
            }
        }
    }
}

/// Limits of the gathered links: the defaults, and so small ones that every bound is reached all the time.
private let limits = [EdgeTrees.Limits(), small(5, 3, 0), small(0, 0, 0)]

private func small(_ waiting: Int, _ positions: Int, _ few: Int) -> EdgeTrees.Limits {
    var limits = EdgeTrees.Limits()
    limits.mostWaiting = waiting
    limits.mostPositions = positions
    limits.fewLinks = few
    limits.rangeWorthwhile = 2
    return limits
}

@Suite("Links of all kinds")
struct EdgeModelTests {
    @Test(
        "random changes from either side agree with lists in memory, and all trees with each other", .seeded,
        arguments: limits)
    func random(_ limits: EdgeTrees.Limits) throws {
        var random = SeededGenerator()
        let store = try CoreStore(edgeModels, linkLimits: limits)
        let sides = try ["A", "B"].flatMap { type in
            try store[type].type.relations.map { ($0, try store.core.edges.inverse(of: $0)) }
        }
        var lists = Lists()
        func row() -> RowID { RowID(rawValue: UInt64.random(in: 1...9, using: &random)) }
        func save(_ type: String, _ row: RowID) throws { try store.save(type, [.int(Int64(row.rawValue))]) }
        for type in ["A", "B"] { for row in 1...9 { try save(type, RowID(rawValue: UInt64(row))) } }
        for step in 1...1_500 {
            let (side, inverse) = sides[Int.random(in: 0..<sides.count, using: &random)]
            let (source, target) = (row(), row())
            switch Int.random(in: 0..<12, using: &random) {
            case 0...3:
                lists.link(side, inverse, source, target)
                try store.core.edges.append(side, source, target)
            case 4...5:
                lists.unlink(side, inverse, source, target)
                try store.core.edges.remove(side, source, target)
            case 6...8:
                let wanted = (0..<Int.random(in: 0...8, using: &random)).map { _ in row() }
                lists.set(side, inverse, source, wanted)
                try store.core.edges.set(side, source, wanted)
            case 9...10:
                lists.set(side, inverse, source, [])
                try store.core.edges.clear(side, source)
            default:
                lists.delete(side.type, source, sides)
                try store[side.type].delete(source)
                try save(side.type, source)
            }
            guard step % 50 == 0 else { continue }
            try compare(sides.map(\.0), lists, store)
        }
    }

    /// Links of new entities are postponed until links are read. Here many changes pass without a read.
    @Test("links of ever more entities, some of them undone, agree with lists in memory", .seeded, arguments: limits)
    func growing(_ limits: EdgeTrees.Limits) throws {
        struct Undo: Error {}
        var random = SeededGenerator()
        let store = try CoreStore(edgeModels, linkLimits: limits)
        let sides = try ["A", "B"].flatMap { type in
            try store[type].type.relations.map { ($0, try store.core.edges.inverse(of: $0)) }
        }
        var lists = Lists()
        var last: UInt64 = 3
        func row(new: Bool) -> RowID {
            if new { last += 1 }
            return RowID(rawValue: new ? last : UInt64.random(in: 1...last, using: &random))
        }
        for step in 1...400 {
            let (side, inverse) = sides[Int.random(in: 0..<sides.count, using: &random)]
            let former = lists
            let links = { () throws in
                let source = row(new: Bool.random(using: &random))
                let targets = (0...Int.random(in: 0...4, using: &random)).map { _ in
                    row(new: Int.random(in: 0..<3, using: &random) > 0)
                }
                if Bool.random(using: &random) {
                    lists.set(side, inverse, source, targets)
                    try store.core.edges.set(side, source, targets)
                } else {
                    lists.link(side, inverse, source, targets[0])
                    try store.core.edges.append(side, source, targets[0])
                }
            }
            if step % 7 == 0 {
                #expect(throws: Undo.self) {
                    try store.core.nested {
                        try links()
                        throw Undo()
                    }
                }
                lists = former
            } else {
                try links()
            }
            guard step % 100 == 0 else { continue }
            // All rows are stored, with and without links, so that the check finds them.
            for type in ["A", "B"] { for row in 1...last { try store.save(type, [.int(Int64(row))]) } }
            try compare(sides.map(\.0), lists, store, rows: last)
        }
    }

    /// Removed links are postponed until related links are read or set anew.
    @Test(
        "links removed in a row, some of them undone, agree with lists in memory at each read in between", .seeded,
        arguments: limits)
    func removing(_ limits: EdgeTrees.Limits) throws {
        struct Undo: Error {}
        var random = SeededGenerator()
        let store = try CoreStore(edgeModels, linkLimits: limits)
        let edges = { store.core.edges }
        let sides = try ["A", "B"].flatMap { type in
            try store[type].type.relations.map { ($0, try store.core.edges.inverse(of: $0)) }
        }
        var lists = Lists()
        let rows: UInt64 = 30
        func row() -> RowID { RowID(rawValue: UInt64.random(in: 1...rows, using: &random)) }
        func saveAll() throws {
            for type in ["A", "B"] { for row in 1...rows { try store.save(type, [.int(Int64(row))]) } }
        }
        func remove() throws {
            let (side, inverse) = sides[Int.random(in: 0..<sides.count, using: &random)]
            let source = row()
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                let target = lists.targets(side, source).randomElement(using: &random) ?? row()
                lists.unlink(side, inverse, source, target)
                try edges().remove(side, source, target)
            case 1:
                lists.set(side, inverse, source, [])
                try edges().clear(side, source)
            case 2:
                lists.delete(side.type, source, sides)
                try store[side.type].delete(source)
            default:
                // Reads only some links. The result must not depend on other pending links.
                let expected = lists.targets(side, source)
                if random.oneIn(3) {
                    let type = try store[side.type].type
                    let all = try edges().targets(ofAll: type, of: source)
                    #expect(all == type.relations.map { lists.targets($0, source) })
                } else if Bool.random(using: &random) {
                    #expect(try edges().targets(side, of: source) == expected)
                } else {
                    #expect(try edges().target(side, of: source) == expected.first)
                }
            }
        }
        for _ in 1...25 {
            try saveAll()
            for (side, inverse) in sides {
                for _ in 1...30 {
                    let (source, target) = (row(), row())
                    lists.link(side, inverse, source, target)
                    try edges().append(side, source, target)
                }
            }
            for _ in 1...Int.random(in: 1...40, using: &random) { try remove() }
            let former = lists
            #expect(throws: Undo.self) {
                try store.core.nested {
                    for _ in 1...20 { try remove() }
                    throw Undo()
                }
            }
            lists = former
            try saveAll()
            try compare(sides.map(\.0), lists, store, rows: rows)
        }
    }

    private func compare(_ sides: [EdgeSide], _ lists: Lists, _ store: CoreStore, rows: UInt64 = 9) throws {
        let edges = store.core.edges
        for side in sides {
            for number in 1...rows {
                let source = RowID(rawValue: number)
                let expected = lists.targets(side, source)
                #expect(try edges.targets(side, of: source) == expected, "\(side.type).\(side.name) of \(number)")
                #expect(try edges.count(side, of: source) == expected.count)
                for target in expected { #expect(try edges.contains(side, source, target)) }
            }
        }
        #expect(try store.problems() == [])
    }
}
