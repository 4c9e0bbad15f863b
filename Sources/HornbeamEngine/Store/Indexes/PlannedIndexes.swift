// SPDX-License-Identifier: Apache-2.0
// The registered indexes that queries use by themselves, like declared ones. A transaction uses an index if it is
// complete, with the same definition, in the transaction's state of the file. So a query doesn't use an index that has
// been dropped since the query was made, and a read doesn't see an index that is younger than its state.

import HornbeamTree
import Synchronization

/// An index as the planner sees it.
package enum PlannedIndex: Sendable {
    case rows(EntityIndex)
    case elements(ElementIndex)
}

/// The newest committed registered indexes, as the reads of a database see them. Planning a query reads them. A writer
/// that commits an index holds no lock that a reader waits for.
package final class PlannedIndexes: Sendable {
    private let hasAny = Atomic(false)
    private let published = Mutex<RegisteredIndexes?>(nil)

    package init() {}

    /// The newest committed registered indexes, nil if there is none that a query could use.
    @inline(__always)
    var current: RegisteredIndexes? {
        hasAny.load(ordering: .acquiring) ? published.withLock { $0 } : nil
    }

    package func publish(_ indexes: RegisteredIndexes) {
        let isUseful = indexes.maintained.values.contains { $0.planned != nil }
        published.withLock { $0 = isUseful ? indexes : nil }
        hasAny.store(isUseful, ordering: .releasing)
    }
}

/// The registered indexes of one entity type that queries can use in one state of the file.
final class UsableIndexes {
    let rows: [EntityIndex]
    let elements: [ElementIndex]
    private let registered: RegisteredIndexes
    private let version: UInt64

    init(_ registered: RegisteredIndexes, of type: EntityType, in transaction: Transaction) throws {
        self.registered = registered
        version = transaction.version
        var rows = type.queriedIndexes
        var elements: [ElementIndex] = []
        for maintained in registered.indexes(of: type.name)?.maintained ?? [] {
            guard let planned = maintained.planned, try maintained.isWhole(in: transaction) else { continue }
            switch planned {
            case .rows(let index): rows.append(index)
            case .elements(let index): elements.append(index)
            }
        }
        self.rows = rows
        self.elements = elements
    }

    /// Whether these are still the usable indexes of `registered` in this transaction.
    func isCurrent(_ registered: RegisteredIndexes, in transaction: Transaction) -> Bool {
        self.registered === registered && version == transaction.version
    }
}

extension MaintainedIndex {
    /// Whether the tree is the complete index, with this definition, in the transaction's state.
    fileprivate func isWhole(in transaction: Transaction) throws -> Bool {
        try registration.readyTrees(in: transaction)?.first == tree
    }
}
