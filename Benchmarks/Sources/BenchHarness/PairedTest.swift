// SPDX-License-Identifier: Apache-2.0
// Whether two engines that were asked the same queries differ by more than chance.

/// Fisher's randomization test for paired values, which Smucker, Allan and Carterette ("A comparison of statistical
/// significance tests for information retrieval evaluation", 2007) advise for such measures.
package enum PairedTest {
    private static let turns = 10_000

    /// How likely means lie at least as far apart if it is chance which value of a pair is whose: the share of random
    /// swaps that give such a difference. Two-sided, always the same for the same values. 1 where no pair differs.
    package static func chance(_ left: [Double], _ right: [Double]) -> Double {
        let differences = zip(left, right).map { $0 - $1 }.filter { $0 != 0 }
        guard !differences.isEmpty else { return 1 }
        // What adding in another order changes is no difference.
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
