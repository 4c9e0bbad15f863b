// SPDX-License-Identifier: Apache-2.0
// The commits that observers have not processed yet. A commit is added before it is visible, so a reader of a state
// finds all commits that led to it. The log is bounded: an observer that is too slow finds a gap and runs its query
// again.

/// Commits by number. Failed commits may stay in it: no later commit is based on them, so they are never found.
package struct CommitLog: Sendable {
    /// The commits, in the order in which they were added.
    private var commits: [CommitChanges] = []
    private var places: [UInt64: Int] = [:]
    private var size = RowCapture.Size()

    package init() {}

    package mutating func append(_ commit: CommitChanges) {
        add(commit)
        guard size.isTooMuch else { return }
        // Removes half of them at once, so that the next commits need no removal.
        let count = commits.count / 2
        for commit in commits[..<count] { take(commit) }
        if size.isTooMuch { forgetAll() } else { drop(count) }
    }

    private mutating func add(_ commit: CommitChanges) {
        // A failed commit may have had this number. Then the new commit takes its place.
        places[commit.number] = commits.count
        commits.append(commit)
        // Each commit counts as a row, so that the number of small ones is bounded too.
        size.rows += commit.size.rows + 1
        size.bytes += commit.size.bytes
    }

    private mutating func take(_ commit: CommitChanges) {
        size.rows -= commit.size.rows + 1
        size.bytes -= commit.size.bytes
    }

    private mutating func drop(_ count: Int) {
        commits.removeFirst(count)
        places.removeAll(keepingCapacity: true)
        for (place, commit) in commits.enumerated() { places[commit.number] = place }
    }

    /// Forgets the commits up to the one that made state `number`.
    package mutating func forget(upTo number: UInt64) {
        var count = 0
        while count < commits.count, commits[count].number <= number {
            take(commits[count])
            count += 1
        }
        if count > 0 { drop(count) }
    }

    package mutating func forgetAll() { self = CommitLog() }

    /// Returns the commits that lead from state `seen` to state `number`, the oldest first, or nil if one is missing.
    package func commits(after seen: UInt64, to number: UInt64) -> [CommitChanges]? {
        var found: [CommitChanges] = []
        var state = number
        while state > seen {
            guard let place = places[state] else { return nil }
            found.append(commits[place])
            state = commits[place].base
        }
        return state == seen ? found.reversed() : nil
    }

    package var count: Int { commits.count }
}
