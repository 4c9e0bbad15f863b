// SPDX-License-Identifier: Apache-2.0
// Links that go: of two entities, of one side of an entity, or of all that leads from and to it. Nothing is removed
// here, it is gathered for that (see WaitingLinks.swift): a cascade removes links of several relations in turn, and
// what it reads meanwhile mostly has nothing to do with them.
//
// Trees that are read here may still have what waits to be removed. It is then gathered twice, and with it its other
// half, which does no harm: between the two nothing is linked, because whatever puts a link settles what waits.

import HornbeamPages
import HornbeamTree

extension EdgeTrees {
    /// Unlinks two entities on both sides; without effect if they aren't linked.
    package func remove(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws {
        try settleLinked()
        let isLinked =
            side.isToMany
            ? try position(side, source, target) != nil : try self.target(side, of: source) == target
        guard isLinked else { return }
        try removeHalfLater(side, source, target)
        try removeOtherHalf(side, source, target)
    }

    /// Unlinks all targets of a source. What waits to be removed may be among them, and then waits twice.
    package func clear(_ side: EdgeSide, _ source: RowID) throws {
        try settleLinked()
        guard let lookup = side.lookup else {
            guard let target = try target(side, of: source) else { return }
            touch(side, source)
            try removeLater(side.forward, source)
            return try removeOtherHalf(side, source, target)
        }
        let links = try storedLinks(side, of: source)
        if links.isEmpty { return }
        touch(side, source)
        if links.count >= Self.rangeWorthwhile {
            try settle()
            try transaction.deleteAll(side.forward, of: source)
            try transaction.deleteAll(lookup, of: source)
        } else {
            for link in links { try removeLater(side.forward, source, link.position) }
            for link in links { try removeLater(lookup, source, link.target) }
        }
        for link in links { try removeOtherHalf(side, source, link.target) }
    }

    /// From so many links on it takes less to remove all of a source as a range than to gather them.
    private static var rangeWorthwhile: Int { 1024 }

    /// The links of a source as the tree of a to-many side has them.
    private func storedLinks(
        _ side: EdgeSide, of source: RowID
    ) throws -> [(position: RowID, target: RowID)] {
        var found: [(position: RowID, target: RowID)] = []
        var cursor = try transaction.cursor(side.forward)
        var isValid = try cursor.seek(source.key)
        while isValid, let entry = try cursor.entry(), RowID(key: entry.key) == source {
            guard let position = RowID(key: entry.key, at: 8), let target = RowID(stored: entry.value) else {
                throw damaged("f", side, "a link has no position or no target")
            }
            found.append((position, target))
            isValid = try cursor.next()
        }
        return found
    }

    /// Removes every link from and to an entity.
    package func removeAll(of type: EntityType, _ rowID: RowID) throws {
        for side in type.relations { try clear(side, rowID) }
        for side in session.schema.incoming[type.name] ?? [] {
            guard let reverse = side.reverse else { continue }
            try settleLinked()
            let sources = try storedSources(side, of: rowID)
            if sources.isEmpty { continue }
            for source in sources { try removeHalfLater(side, source, rowID) }
            if sources.count >= Self.rangeWorthwhile {
                try settle()
                try transaction.deleteAll(reverse, of: rowID)
            } else {
                for source in sources { try removeLater(reverse, rowID, source) }
            }
        }
    }

    // MARK: One side alone

    /// Gathers what the target knows of a link.
    private func removeOtherHalf(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws {
        if let inverse = try inverse(of: side) {
            try removeHalfLater(inverse, target, source)
        } else if let reverse = side.reverse {
            try removeLater(reverse, target, source)
        }
    }

    /// Gathers one side's half of a link that the other side has: both say the same, so that what a to-one side leads
    /// to needn't be looked at.
    private func removeHalfLater(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws {
        touch(side, source)
        guard let lookup = side.lookup else { return try removeLater(side.forward, source) }
        guard let position = try position(side, source, target) else { return }
        try removeLater(side.forward, source, RowID(rawValue: position))
        try removeLater(lookup, source, target)
    }
}
