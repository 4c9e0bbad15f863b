// SPDX-License-Identifier: Apache-2.0
// How sources of postings step through ascending documents.

import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Steps through ascending documents")
struct PostingSourceTests {
    /// Returns ascending documents, some of them close together, followed by `.max`.
    private func documents(_ count: Int, _ random: inout SeededGenerator) -> [UInt32] {
        var next = UInt32(random.below(20))
        var documents: [UInt32] = []
        for _ in 0..<count {
            documents.append(next)
            next += UInt32(1 + random.below([1, 3, 200][random.below(3)]))
        }
        return documents + [UInt32](repeating: .max, count: PostingSource.stepSize)
    }

    @Test("Stepping ends at the first document not below the target", arguments: SeededGenerator.seeds(3))
    func steps(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<3_000 {
            let count = random.below(70)
            let all = documents(count, &random)
            let start = random.below(count + 1)
            let target = random.below(4) == 0 ? all[random.below(count + 1)] : UInt32(random.below(9_000))
            let expected = (start..<count).first { all[$0] >= target } ?? count
            all.withUnsafeBufferPointer {
                guard let values = $0.baseAddress else { return }
                let found = PostingSource.step(values, from: start, count: count, to: target)
                #expect(found == expected, "from \(start) to \(target) in \(all), HORNBEAM_SEED=\(seed)")
            }
        }
    }

    @Test("Values with the highest bit set are counted like others")
    func large() {
        let values = (0..<UInt32(PostingSource.stepSize)).map { UInt32.max - 1_000 + $0 * 10 }
        for target in [0, 1, values[0], values[0] + 1, values[7], values[15], values[15] + 1, .max] {
            let expected = values.count { $0 < target }
            values.withUnsafeBufferPointer {
                guard let start = $0.baseAddress else { return }
                #expect(PostingSource.countBelow(target, start) == expected, "below \(target)")
            }
        }
    }

    @Test("A decoded block ends after a document, even if the block ends or begins beyond it")
    func ends() throws {
        let source = ArrayPostings([3, 5, 9, 12], [1, 1, 1, 1])
        let start = try source.decode(from: 4)
        #expect(start == 1)
        #expect(source.end(from: start, through: 4) == 1)
        #expect(source.end(from: start, through: 5) == 2)
        #expect(source.end(from: start, through: 11) == 3)
        #expect(source.end(from: start, through: 12) == 4 && source.end(from: start, through: .max) == 4)
    }
}
