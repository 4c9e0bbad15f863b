// SPDX-License-Identifier: Apache-2.0
// The analyzer of the index that a test of this module uses. Histories that work with any analyzer are run with
// another one for each seed.

import HornbeamText

enum TestAnalyzer {
    /// The analyzer of `testIndex` and the models.
    @TaskLocal static var current = Analyzer.words

    static let all = [
        Analyzer.words, Analyzer(.unicode(keepsAccents: false, stemming: nil)),
        Analyzer(.unicode(keepsAccents: false, stemming: .english)), Analyzer(.trigrams(keepsAccents: false)),
    ]

    /// - Parameter number: the number of a run among the runs of a seed, so that few seeds cover all analyzers.
    static func of(_ seed: UInt64, _ number: Int = 0) -> Analyzer { all[(Int(seed % 4) + number) % all.count] }
}
