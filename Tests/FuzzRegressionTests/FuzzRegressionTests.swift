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
        ("FuzzFile", fuzzFile, 60), ("FuzzStore", fuzzStore, 60), ("FuzzKeys", fuzzKeys, 2_000),
        ("FuzzText", fuzzText, 150),
    ]

    @Test("Inputs that once failed pass", arguments: targets.indices)
    func regressions(_ index: Int) throws {
        let target = Self.targets[index]
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = root.appendingPathComponent("fuzz/regressions/\(target.name)")
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        for file in files { try Data(contentsOf: file).withUnsafeBytes { target.run($0) } }
    }

    @Test("Random inputs pass", arguments: targets.indices)
    func random(_ index: Int) {
        let target = Self.targets[index]
        for seed in SeededGenerator.seeds(1) {
            var generator = SeededGenerator(seed: seed &+ UInt64(index))
            for _ in 0..<target.rounds {
                let count = Int.random(in: 0...120, using: &generator)
                let input = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
                input.withUnsafeBytes { target.run($0) }
            }
        }
    }
}
