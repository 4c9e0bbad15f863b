// SPDX-License-Identifier: Apache-2.0
// The links of many sources at once, for nested queries: lists that lie side by side are read in one pass.

import HornbeamPages
import HornbeamTree

extension EdgeTrees {
    /// The targets of several sources. Where a source follows the one before, its links do too.
    package func links(_ side: EdgeSide, ofEach sources: [RowID]) throws -> LinkLists {
        try settle()
        guard side.isToMany else { return try singleLinks(side, ofEach: sources) }
        var links = LinkLists(sources: sources.count)
        var entries = try RowEntries(side.forward, in: transaction)
        var last: RowID?
        for source in sources {
            // Between the sources of two links that follow each other there is none.
            let isPassed = last.map { $0 < source } ?? false && entries.row.map { source < $0 } ?? entries.isAtEnd
            if !isPassed, entries.row != source { try entries.seek(source) }
            last = source
            while entries.row == source {
                guard let target = RowID(stored: entries.value) else {
                    throw damaged("f", side, "a link has no target")
                }
                links.append(target)
                try entries.advance()
            }
            links.endList()
        }
        return links
    }

    /// Those of a to-one side.
    private func singleLinks(_ side: EdgeSide, ofEach sources: [RowID]) throws -> LinkLists {
        var links = LinkLists(sources: sources.count)
        links.reserveTargets(sources.count)
        guard sources.isRun else {
            try lookUp(side, sources, &links)
            return links
        }
        var lookups = try AscendingLookups(side.forward, in: transaction)
        for source in sources {
            if let value = try lookups.value(of: source) {
                guard let target = RowID(stored: value) else { throw damaged("f", side, "a link has no target") }
                links.append(target)
            }
            links.endList()
        }
        return links
    }

    /// The same where sources lie far apart: groups of them go down the tree side by side.
    private func lookUp(_ side: EdgeSide, _ sources: [RowID], _ links: inout LinkLists) throws {
        var keys = InlineArray<16, UInt64>(repeating: 0)
        var place = 0
        while place < sources.count {
            let count = min(16, sources.count - place)
            for index in 0..<count { keys[index] = sources[place + index].rawValue.bigEndian }
            var isDamaged = false
            try keys.span.withUnsafeBytes { (keys) throws(StorageError) in
                guard let start = keys.baseAddress else { return }
                try transaction.getMany(
                    side.forward, count: count, key: { Bytes(start: start + $0 &* 8, count: 8) },
                    { _, value in
                        if let value {
                            let target = RowID(stored: value)
                            isDamaged = isDamaged || target == nil
                            if let target { links.append(target) }
                        }
                        links.endList()
                    })
            }
            if isDamaged { throw damaged("f", side, "a link has no target") }
            place += count
        }
    }

    /// A part of each list.
    func links(_ side: EdgeSide, ofEach sources: [RowID], limit: Int, offset: Int) throws -> LinkLists {
        var links = LinkLists(sources: sources.count)
        for source in sources { links.append(try targets(side, of: source, offset: offset, limit: limit)) }
        return links
    }
}
