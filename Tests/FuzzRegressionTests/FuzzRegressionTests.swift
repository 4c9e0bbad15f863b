// SPDX-License-Identifier: Apache-2.0
// Every input that ever broke a fuzz target, replayed; and a few thousand seeded random inputs, so that the targets
// themselves can't rot.

import Foundation
import HornbeamFuzzing
import HornbeamTestSupport
import Testing

@Suite("Fuzz targets")
struct FuzzRegressionTests {
    typealias Target = @Sendable (UnsafeRawBufferPointer) -> Void

    static let targets: [(name: String, run: Target, rounds: Int)] = [
        ("FuzzFile", fuzzFile, 60), ("FuzzJournal", fuzzJournal, 60), ("FuzzNode", fuzzNode, 60),
        ("FuzzStore", fuzzStore, 60), ("FuzzKeys", fuzzKeys, 2_000), ("FuzzRows", fuzzRows, 2_000),
        ("FuzzText", fuzzText, 150), ("FuzzPostings", fuzzPostings, 100), ("FuzzTokens", fuzzTokens, 2_000),
        ("FuzzTextQueries", fuzzTextQueries, 2_000), ("FuzzMapEntries", fuzzMapEntries, 2_000),
        ("FuzzStatements", fuzzStatements, 2_000), ("FuzzKeySlots", fuzzKeySlots, 60),
        ("FuzzRequests", fuzzRequests, 2_000),
    ]

    @Test("Inputs that once failed, and the seeds, pass", arguments: targets.indices, ["regressions", "seeds"])
    func regressions(_ index: Int, _ kind: String) throws {
        let target = Self.targets[index]
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = root.appendingPathComponent("fuzz/\(kind)/\(target.name)")
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        for file in files { try Data(contentsOf: file).withUnsafeBytes { target.run($0) } }
    }

    @Test("Random inputs pass", arguments: targets.indices, SeededGenerator.seeds(1))
    func random(_ index: Int, seed: UInt64) {
        let target = Self.targets[index]
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<target.rounds {
            generator.bytes(generator.below(121)).withUnsafeBytes { target.run($0) }
        }
    }
}
