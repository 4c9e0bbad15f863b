// SPDX-License-Identifier: Apache-2.0
// Removes links: between two entities, of one side of an entity, or all links from and to it. The links are only
// gathered for removal here (see WaitingLinks.swift): a cascade removes links of several entities in turn, and its
// reads mostly don't concern them.
//
// Trees that are read here may still contain links that wait to be removed. These are then gathered twice, without
// harm: the two entities can't be linked again meanwhile, because putting a link settles the removals.

import HornbeamPages
import HornbeamTree

extension EdgeTrees {
    /// Unlinks two entities on both sides. Has no effect if they aren't linked.
    package func remove(_ side: EdgeSide, _ source: RowID, _ target: RowID) throws {
        try settleLinked()
        guard let (from, to) = try ends(side, source, target) else { return }
        try removeLater(side, from, to)
    }

    /// Unlinks all targets of a source. Links that already wait to be removed may be gathered twice.
    package func clear(_ side: EdgeSide, _ source: RowID) throws {
        try settleLinked()
        guard side.isToMany else {
            let from = LinkEnd(source, 0)
            guard let to = try transaction.link(side.list, from) else { return }
            return try removeLater(side, from, to)
        }
        var count = 0
        try forEachLink(side.list, of: source) { link in
            count += 1
            try removeLater(side, link.end, link.other, isRange: count > limits.rangeWorthwhile)
            return true
        }
        guard count > limits.rangeWorthwhile else { return }
        try settle()
        try transaction.deleteAll(side.list, of: source)
        if let pairs = side.pairs, side.beginsPairs, !side.isOwnInverse {
            try transaction.deleteAll(pairs, of: source)
        }
    }

    /// Removes every link from and to an entity.
    package func removeAll(of type: EntityType, _ rowID: RowID) throws {
        try settleLinked()
        var count = 0
        // The role of the last entry's list: entries of a list are adjacent.
        var last: (number: UInt16, role: EntityType.ListRole)?
        var cursor = try transaction.cursor(type.links)
        var isValid = try RowKey(rowID).withBytes { (key) throws(StorageError) in try cursor.seek(key) }
        while isValid, let entry = try cursor.entry(), RowID(key: entry.key) == rowID {
            guard let link = LinkEntry(entry) else { throw type.damagedLinks("an entry is not readable") }
            if last?.number != link.list {
                guard let role = core.schema.role(of: link.list, in: type) else {
                    throw type.damagedLinks("there is no list \(link.list)")
                }
                last = (link.list, role)
            }
            count += 1
            let isRange = count > limits.rangeWorthwhile
            switch last?.role {
            case .links(let side): try removeLater(side, link.end, link.other, isRange: isRange)
            case .reverse(let side):
                if !isRange { try removeLater(LinkList(type.links, number: link.list), link.end) }
                touch(side, link.other.row)
                noteMoved(side, link.other.row, rowID, isLinked: false)
                try noteUnlinked(side, link.other.row, rowID)
                note(LinkList(type.links, number: link.list), rowID)
                note(side.list, link.other.row)
                try removeLater(side.list, link.other)
            case .pairs:
                // The pairs' links are in the lists, too.
                if !isRange { try removeLater(LinkList(type.links, number: link.list), link.end) }
            case nil: break
            }
            isValid = try cursor.next()
        }
        guard count > limits.rangeWorthwhile else { return }
        try settle()
        try transaction.deleteAll(type.links, of: rowID)
    }

    /// Gathers all entries of a link.
    /// - Parameter isRange: whether the caller removes the entries of the source's row as a range.
    func removeLater(_ side: EdgeSide, _ from: LinkEnd, _ to: LinkEnd, isRange: Bool = false) throws {
        touch(side, from.row)
        touch(targetOf: side, to.row)
        noteMoved(side, from.row, to.row, isLinked: false)
        try noteUnlinked(side, from.row, to.row)
        let other = try other(of: side)
        note(side.list, from.row)
        note(other.list, to.row)
        if !isRange { try removeLater(side.list, from) }
        try removeLater(other.list, to)
        guard let pairs = side.pairs else { return }
        if isRange, side.beginsPairs, !side.isOwnInverse { return }
        try removeLater(pairs, side.pair(from, to).key)
    }
}
