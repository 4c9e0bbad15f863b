// SPDX-License-Identifier: Apache-2.0
// The salvaged and the lost parts, tree by tree.

/// The outcome of a salvage. Counts are of entries.
package struct SalvageReport: Sendable {
    /// One tree of the new store.
    package struct Tree: Sendable {
        package var name: String
        package var found: UInt64 = 0
        /// Ranges whose pages can't be read, and the number of their entries where their parents state it.
        package var lost: [KeyRange] = []
        package var lostEntries: UInt64 = 0
        /// Keys that were found, but whose long values can't be read.
        package var lostValues: [String] = []
        /// The name of its reduction, if the new tree has none: only the program that gave the reduction has it.
        package var lostReduction: String?
        /// Whether its entries may be older than the newest state, and deleted ones may be back.
        package var isDoubtful = false

        package init(name: String) { self.name = name }

        fileprivate var losses: [String] {
            var words = lost.map { "\($0) are lost" }
            if lostEntries > 0 { words.append("\(lostEntries) entries are lost in all") }
            words += lostValues.map { "the value of \($0) is lost" }
            if let lostReduction { words.append("its reduction “\(lostReduction)” is lost, its entries are not") }
            if isDoubtful { words.append("some of its entries may be outdated or deleted") }
            return words
        }

        package var isWhole: Bool { lost.isEmpty && lostValues.isEmpty && lostReduction == nil && !isDoubtful }
    }

    package var trees: [Tree] = []
    /// Number of commits since the last checkpoint that the journal had.
    package var commits: UInt64 = 0
    /// Remarks on the file as a whole.
    package var notes: [String] = []

    package var found: UInt64 { trees.reduce(0) { $0 &+ $1.found } }
    /// Whether everything of the newest state was found.
    package var isWhole: Bool { notes.isEmpty && trees.allSatisfy(\.isWhole) }

    /// Each loss in words, one a line.
    package var losses: [String] {
        notes + trees.flatMap { (tree) in tree.losses.map { "tree “\(tree.name)”: \($0)" } }
    }
}
