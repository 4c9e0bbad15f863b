// SPDX-License-Identifier: Apache-2.0
// “Did you mean …?” for mistyped properties, commands, options, entity types and columns.

package enum NearestName {
    /// A question with the nearest of `names`, or nil if none is near.
    package static func hint(_ typed: String, among names: [String]) -> String? {
        find(typed, among: names).map { "did you mean \($0)?" }
    }

    /// Returns the name with the fewest edits, the first of several. Returns nil if each name needs more edits than a
    /// third of the typed length. One edit is always allowed, unless it would replace all of the typed text.
    package static func find(_ typed: String, among names: [String]) -> String? {
        guard typed.utf8.count <= 500 else { return nil }
        let limit = max(1, typed.count / 3)
        var best: (name: String, distance: Int)?
        for name in names {
            let distance = distance(Array(typed.lowercased()), Array(name.lowercased()))
            guard distance <= limit, distance < typed.count else { continue }
            if distance < best?.distance ?? .max { best = (name, distance) }
        }
        return best?.name
    }

    /// Levenshtein's distance with transpositions of neighbours as one edit.
    package static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var before: [Int] = []
        var above = Array(0...right.count)
        for row in 0..<left.count {
            var current = [row + 1]
            for column in 0..<right.count {
                let change = left[row] == right[column] ? 0 : 1
                var cost = min(above[column + 1] + 1, current[column] + 1, above[column] + change)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    cost = min(cost, before[column - 1] + 1)
                }
                current.append(cost)
            }
            before = above
            above = current
        }
        return above[right.count]
    }
}
