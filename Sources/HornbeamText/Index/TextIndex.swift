// SPDX-License-Identifier: Apache-2.0
// Where an index lives: six named trees, all in the transaction of the entities they index. Nothing is kept outside.
//
//   terms       term bytes → TermEntry (frequencies, bounds; the postings themselves while they are few)
//   postings    number of the list u32, first document u32, both big-endian → PostingRun
//   positions   the same key → PositionRun
//   documents   DocumentLengths, DocumentSections, DocumentMap, DocumentFingerprints: each with a first byte of its own
//               in the key
//   pending     sequence u64, big-endian → PendingRecord: changed documents that aren't in the others yet
//   statistics  empty but for one entry: TextStatistics
//
// Callers name a document by a number of theirs, its row: in practice the row id of its entity, which may be any. The
// index gives each row a document number of its own when it is first added, from 0 upwards without gaps, so that
// neighbours in a posting list are neighbours in all tables; a row that leaves and comes again gets a new one.

package import HornbeamPages
package import HornbeamTree
import Synchronization

/// An index by name, with the analyzer it is declared with. A value; holds nothing open.
package struct TextIndex: Sendable {
    /// What the names of its trees begin with, for instance `t:Article:search:`.
    package let prefix: String
    package let analyzer: Analyzer
    /// Whether it keeps where in a document each term stands, as phrases need it.
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

    /// All its trees, those of former layouts included.
    package var treeNames: [String] {
        [termsName, postingsName, positionsName, documentsName, pendingName, prefix + "lengths", statisticsName]
    }

    /// Removes the index and all in it. Without effect if it isn't there.
    package func drop(in transaction: Transaction) throws(StorageError) {
        // No other tree ever has its number: what is kept of it would never be asked for again.
        for name in [pendingName, statisticsName] {
            if let tree = try transaction.tree(name) { transaction.forgetDerived(of: tree) }
        }
        for name in treeNames {
            _ = try transaction.dropTree(name)
        }
    }

    /// The index's trees and statistics; nil if nothing was ever written to it. Throws `.invalid` if it was made with
    /// another analyzer or Unicode version, `.unsupported` if by a newer version of the library, `.corrupt` if a part
    /// is missing or damaged.
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

    /// Whether its words were made by another analyzer or another version of it, or it was written in another layout or
    /// with another declaration, so that it must be built anew. False if nothing was ever written to it, or if it is
    /// damaged, which `open` tells. Throws `.unsupported` if a newer version of the library wrote it.
    package func isOutdated(in transaction: Transaction) throws(StorageError) -> Bool {
        // Without the analyzer's rules nothing can tell whether the index is outdated, or build it anew.
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

    /// The error for postings in the dictionary that no writer can have left there.
    func unreadableEntry() -> StorageError { corrupt(termsName, "the postings in a term's entry are not readable") }

    /// The error for bytes that no writer of this index can have left in the tree `name`.
    func corrupt(_ name: String, _ reason: String) -> StorageError {
        .corrupt(Corruption(tree: name, reason: reason))
    }
}

/// The trees of an index, each of which is opened when it is first looked at.
struct TextTrees: Sendable {
    let terms: TreeID
    let postings: TreeID
    let positions: TreeID
    let documents: TreeID
    /// The tree of pending records, nil if nothing was ever pending.
    let pending: TreeID?
    let statistics: TreeID
}

/// The trees of an index, found by their names once for all transactions of a store that have the same trees: most open
/// an index to look at two of the six.
private final class KnownTextTrees: Sendable {
    private let last = Mutex<(present: PresentTrees, trees: TextTrees)?>(nil)

    func trees(of present: PresentTrees) -> TextTrees? {
        last.withLock { (last) in last?.present == present ? last?.trees : nil }
    }

    func note(_ trees: TextTrees, of present: PresentTrees) { last.withLock { $0 = (present, trees) } }
}
