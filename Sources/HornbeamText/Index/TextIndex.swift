// SPDX-License-Identifier: Apache-2.0
// Where an index lives: four named trees, all in the transaction of the entities they index. Nothing is kept outside.
//
//   terms       term bytes → TermEntry (document frequency; the postings themselves while there are at most eight)
//   postings    number of the term u32, first document u64, both big-endian → PostingBlock
//   lengths     document / 256 u64 big-endian → field lengths u16 each; 1, document → a length too large for that
//   statistics  empty but for one entry: TextStatistics
//
// A document is named by a number of the caller's, in practice the row id of its entity.

package import HornbeamPages
package import HornbeamTree

/// An index by name, with the analyzer it is declared with. A value; holds nothing open.
package struct TextIndex: Sendable {
    /// What the names of its trees begin with, for instance `t:Article:search:`.
    package let prefix: String
    package let analyzer: Analyzer

    package init(prefix: String, analyzer: Analyzer = .words) {
        self.prefix = prefix
        self.analyzer = analyzer
    }

    package var termsName: String { prefix + "terms" }
    package var postingsName: String { prefix + "postings" }
    package var lengthsName: String { prefix + "lengths" }
    package var pendingName: String { prefix + "pending" }
    package var statisticsName: String { prefix + "statistics" }

    /// Removes the index and all in it. Without effect if it isn't there.
    package func drop(in transaction: Transaction) throws(StorageError) {
        for name in [termsName, postingsName, lengthsName, statisticsName] {
            _ = try transaction.dropTree(name)
        }
    }

    /// The index's trees and statistics; nil if nothing was ever written to it. Throws `.invalid` if it was made with
    /// another analyzer or Unicode version, `.corrupt` if a part is missing or damaged.
    func open(in transaction: Transaction) throws(StorageError) -> (trees: TextTrees, statistics: TextStatistics)? {
        if case .unknown(let name) = analyzer.rules {
            throw .invalid(
                "the text index “\(prefix)” is one of the analyzer “\(name)”, which this process doesn't know: open "
                    + "the store with the models that declare it")
        }
        guard let statisticsTree = try transaction.tree(statisticsName) else { return nil }
        guard let terms = try transaction.tree(termsName), let postings = try transaction.tree(postingsName),
            let lengths = try transaction.tree(lengthsName)
        else { throw corrupt(statisticsName, "the index lacks one of its trees") }
        let trees = TextTrees(terms: terms, postings: postings, lengths: lengths, statistics: statisticsTree)
        guard let bytes = try transaction.get(statisticsTree, TextStatistics.key),
            let statistics = TextStatistics(bytes)
        else { throw corrupt(statisticsName, "the statistics of the index are missing or not readable") }
        try statistics.requireSame(analyzer, index: prefix)
        return (trees, statistics)
    }

    /// Whether its words were made by another analyzer or another version of it, so that it must be built anew. False
    /// if nothing was ever written to it, or if it is damaged, which `open` tells.
    package func isOutdated(in transaction: Transaction) throws(StorageError) -> Bool {
        // Whoever doesn't know the analyzer can't tell, nor build it anew.
        if case .unknown = analyzer.rules { return false }
        guard let tree = try transaction.tree(statisticsName),
            let bytes = try transaction.get(tree, TextStatistics.key), let statistics = TextStatistics(bytes)
        else { return false }
        return !statistics.isSame(analyzer)
    }

    /// How many documents it holds, whatever analyzer made its words.
    package func documentCount(in transaction: Transaction) throws(StorageError) -> UInt64 {
        guard let tree = try transaction.tree(statisticsName) else { return 0 }
        guard let bytes = try transaction.get(tree, TextStatistics.key), let statistics = TextStatistics(bytes) else {
            throw corrupt(statisticsName, "the statistics of the index are missing or not readable")
        }
        return statistics.documentCount
    }

    /// Makes the trees of a new index.
    func create(in transaction: Transaction) throws(StorageError) -> TextTrees {
        guard let terms = try transaction.tree(termsName, create: true),
            let postings = try transaction.tree(postingsName, create: true),
            let lengths = try transaction.tree(lengthsName, create: true),
            let statistics = try transaction.tree(statisticsName, create: true)
        else { throw .invalid("the trees of index “\(prefix)” could not be created") }
        return TextTrees(terms: terms, postings: postings, lengths: lengths, statistics: statistics)
    }

    /// The error for bytes that no writer of this index can have left in the tree `name`.
    func corrupt(_ name: String, _ reason: String) -> StorageError {
        .corrupt(Corruption(tree: name, reason: reason))
    }
}

/// The opened trees of an index.
struct TextTrees {
    let terms: TreeID
    let postings: TreeID
    let lengths: TreeID
    let statistics: TreeID
}
