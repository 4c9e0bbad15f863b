// SPDX-License-Identifier: Apache-2.0
// The size of a file compared with its content, and the bytes written for it, when entries are inserted at random in
// durable batches.
//
//     hornbeam-bench reliability growth [--n NUMBER] [--batch NUMBER]

import BenchHarness
import CHornbeam
import Foundation

struct Growth {
    let count: Int
    let batch: Int

    func run(at path: String) throws {
        let store = try BenchStore(path: path)
        let before = Machine.written.bytes
        let start = ContinuousClock.now
        var most: UInt64 = 0
        for first in stride(from: 0, to: count, by: batch) {
            try store.put(first..<min(first + batch, count))
            most = max(most, try store.figures.retired_bytes)
        }
        let time = ContinuousClock.now - start
        let figures = try store.figures
        let written = Machine.written.bytes - before
        try store.close()
        let ratio = Double(figures.file_bytes) / Double(figures.used_bytes)
        print(
            "\(count) random inserts, \(batch) a commit: \(time); file \(figures.file_bytes >> 20) MiB, used "
                + "\(figures.used_bytes >> 20) MiB (\(String(format: "%.2f", ratio)) times), journal "
                + "\(figures.journal_capacity_bytes >> 20) MiB, retired at most \(most >> 20) MiB; "
                + "\(figures.checkpoint) checkpoints, \(written >> 20) MiB written")
    }
}
