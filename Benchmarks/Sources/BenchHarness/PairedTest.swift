// SPDX-License-Identifier: Apache-2.0
// Tests whether two engines differ by more than chance on the same queries.

/// Fisher's randomization test for paired values, which Smucker, Allan and Carterette ("A comparison of statistical
/// significance tests for information retrieval evaluation", 2007) advise for such measures.
package enum PairedTest {
    private static let turns = 10_000

    /// Returns the probability that the means differ at least as much if chance decides which value of a pair belongs
    /// to which engine: the share of random swaps that give such a difference. It is two-sided, and depends only on
    /// the values. It is 1 if no pair differs.
    package static func chance(_ left: [Double], _ right: [Double]) -> Double {
        let differences = zip(left, right).map { $0 - $1 }.filter { $0 != 0 }
        guard !differences.isEmpty else { return 1 }
        // Differences due to the order of additions don't count.
        let least = abs(differences.reduce(0, +)) - 1e-9
        var random = SplitMix(state: 1)
        var count = 0
        for _ in 0..<turns {
            var sum = 0.0
            for difference in differences { sum += random.next() & 1 == 0 ? difference : -difference }
            if abs(sum) >= least { count += 1 }
        }
        return Double(count + 1) / Double(turns + 1)
    }
}
