// SPDX-License-Identifier: Apache-2.0
// The cached last records belong to the requested history, or none are returned: also after a transaction that wrote
// records was aborted and others took their sequence numbers.

import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Kept last pending records")
struct LastRecordsTests {
    @Test("They belong to the history with the last record's identity", arguments: SeededGenerator.seeds(5))
    func histories(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var last = LastRecords()
        var history: [LastRecords.Record] = []
        var (found, missed) = (0, 0)
        for step in 0..<2_000 {
            if random.below(4) == 0 {
                // The aborted transaction isn't reported.
                history.removeLast(min(history.count, random.below(6)))
            } else {
                // Some records were there before any were cached.
                let isTold = random.below(20) > 0
                for _ in 0...random.below(5) {
                    let header = PendingHeader(row: UInt64(step), docno: UInt32(step), oldLength: -1, newLength: 1)
                    let record = LastRecords.Record(
                        sequence: UInt64(history.count), identity: .random(in: .min ... .max, using: &random), header)
                    if isTold { last.append(record, after: history.last?.identity ?? 7) }
                    history.append(record)
                }
            }
            guard let end = history.last else { continue }
            let start = max(0, history.count - random.below(80))
            guard let kept = last.records(from: UInt64(start), to: UInt64(history.count), end.identity) else {
                missed += 1
                continue
            }
            found += 1
            #expect(kept.map(\.identity) == history[start...].map(\.identity), "HORNBEAM_SEED=\(seed)")
            #expect(last.records(from: UInt64(start), to: UInt64(history.count), end.identity ^ 1)?.isEmpty ?? true)
        }
        #expect(found > 500 && missed > 100, "\(found) \(missed), HORNBEAM_SEED=\(seed)")
    }
}
