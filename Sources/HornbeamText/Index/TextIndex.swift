// SPDX-License-Identifier: Apache-2.0
// The storage of an index: six named trees in the database of the entities they index. Nothing is kept outside.
//
//   terms       term bytes → TermEntry (frequencies, bounds; the postings themselves while they are few)
//   postings    number of the list u32, first document u32, both big-endian → PostingRun
//   positions   the same key → PositionRun
//   documents   DocumentLengths, DocumentSections, DocumentMap, DocumentFingerprints: each has its own first byte in
//               the key
//   pending     sequence u64, big-endian → PendingRecord: changed documents that aren't in the other trees yet
//   statistics  one entry: TextStatistics
//
// Callers name a document by its row: in practice the row id of its entity, in general any number. The index assigns
// each row a document number when it is first added, from 0 upwards without gaps, so that neighbours in a posting list
// are neighbours in all tables. A row that leaves and returns gets a new number.

package import HornbeamPages
package import HornbeamTree
import Synchronization

/// An index by name, with its declared analyzer. A value that holds nothing open.
package struct TextIndex: Sendable {
    /// The prefix of its trees' names, for instance `t:Article:search:`.
    package let prefix: String
    package let analyzer: Analyzer
    /// Whether it stores the positions of terms in documents, which phrases need.
    package let storesPositions: Bool

    package init(prefix: String, analyzer: Analyzer = .words, storesPositions: Bool = true) {
        self.prefix = prefix
        self.analyzer = analyzer
        self.storesPositions = storesPositions
    }

    package var termsName: String { prefix + "terms" }
    package var postingsName: String { prefix + "postings" }
    package var positionsName: String { prefix + "positions" }
    package var documentsName: String { prefix + "documents" }
    package var pendingName: String { prefix + "pending" }
    package var statisticsName: String { prefix + "statistics" }

    /// The names of all its trees, including those of former layouts.
    package var treeNames: [String] {
        [termsName, postingsName, positionsName, documentsName, pendingName, prefix + "lengths", statisticsName]
    }

    /// Removes the index with all its contents. Does nothing if it doesn't exist.
    package func drop(in transaction: Transaction) throws(StorageError) {
        // Tree numbers aren't reused, so values derived from these trees would never be asked for again.
        for name in [pendingName, statisticsName] {
            if let tree = try transaction.tree(name) { transaction.forgetDerived(of: tree) }
        }
        for name in treeNames {
            _ = try transaction.dropTree(name)
        }
    }

    /// Returns the index's trees and statistics, or nil if nothing was ever written to it. Throws `.invalid` if it was
    /// made with another analyzer or Unicode version, `.unsupported` if it was written by a newer version of the
    /// library, and `.corrupt` if a part is missing or damaged.
    func open(in transaction: Transaction) throws(StorageError) -> (trees: TextTrees, statistics: TextStatistics)? {
        if case .unknown(let name) = analyzer.rules {
            throw .invalid(
                "the text index “\(prefix)” is one of the analyzer “\(name)”, which this process doesn't know: open "
                    + "the store with the models that declare it")
        }
        guard let statisticsTree = try transaction.tree(statisticsName) else { return nil }
        let statistics = try TextStatistics.read(statisticsTree, of: self, in: transaction)
        try statistics.requireSame(self)
        let known = transaction.derived(of: statisticsTree) { KnownTextTrees() }
        let present = try transaction.presentTrees()
        if let trees = known.trees(of: present) { return (trees, statistics) }
        guard let terms = try transaction.tree(termsName), let postings = try transaction.tree(postingsName),
            let positions = try transaction.tree(positionsName), let documents = try transaction.tree(documentsName)
        else { throw corrupt(statisticsName, "the index lacks one of its trees") }
        let trees = TextTrees(
            terms: terms, postings: postings, positions: positions, documents: documents,
            pending: try transaction.tree(pendingName), statistics: statisticsTree)
        known.note(trees, of: present)
        return (trees, statistics)
    }

    /// Whether the index must be rebuilt because it was written with another analyzer or analyzer version, in another
    /// layout or with another declaration. False if nothing was ever written to it, or if it is damaged, which `open`
    /// reports. Throws `.unsupported` if a newer version of the library wrote it.
    package func isOutdated(in transaction: Transaction) throws(StorageError) -> Bool {
        // Without the analyzer's rules nothing can tell whether the index is outdated, or rebuild it.
        if case .unknown = analyzer.rules { return false }
        guard let tree = try transaction.tree(statisticsName) else { return false }
        do { return !(try TextStatistics.read(tree, of: self, in: transaction).isSame(self)) } catch {
            if case .corrupt = error { return false }
            throw error
        }
    }

    /// Makes the trees of a new index.
    func create(in transaction: Transaction) throws(StorageError) -> TextTrees {
        guard let terms = try transaction.tree(termsName, create: true),
            let postings = try transaction.tree(postingsName, create: true),
            let positions = try transaction.tree(positionsName, create: true),
            let documents = try transaction.tree(documentsName, create: true),
            let pending = try transaction.tree(pendingName, create: true),
            let statistics = try transaction.tree(statisticsName, create: true)
        else { throw .invalid("the trees of index “\(prefix)” could not be created") }
        return TextTrees(
            terms: terms, postings: postings, positions: positions, documents: documents, pending: pending,
            statistics: statistics)
    }

    /// The error for postings in the dictionary that this library can't have written.
    func unreadableEntry() -> StorageError { corrupt(termsName, "the postings in a term's entry are not readable") }

    /// The error for bytes in the tree `name` that this library can't have written.
    func corrupt(_ name: String, _ reason: String) -> StorageError {
        .corrupt(Corruption(tree: name, reason: reason))
    }
}

/// The trees of an index. Each is opened when it is first used.
struct TextTrees: Sendable {
    let terms: TreeID
    let postings: TreeID
    let positions: TreeID
    let documents: TreeID
    /// The tree of pending records, nil if nothing was ever pending.
    let pending: TreeID?
    let statistics: TreeID
}

/// Caches the trees of an index, found by name, for all transactions of a store that have the same trees: most
/// transactions use only two of the six.
private final class KnownTextTrees: Sendable {
    private let last = Mutex<(present: PresentTrees, trees: TextTrees)?>(nil)

    func trees(of present: PresentTrees) -> TextTrees? {
        last.withLock { (last) in last?.present == present ? last?.trees : nil }
    }

    func note(_ trees: TextTrees, of present: PresentTrees) { last.withLock { $0 = (present, trees) } }
}
