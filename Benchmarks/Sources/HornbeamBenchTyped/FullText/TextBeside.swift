// SPDX-License-Identifier: Apache-2.0
// Searches beside a thread that durably inserts and deletes documents.

import BenchHarness
import Foundation

extension TextEngine {
    /// Returns a store for another thread: this one, or one of its own with the same content.
    func reader(at path: String) throws -> Self {
        if let pages = self as? HornbeamPages, let reader = HornbeamPages(sharing: pages) as? Self { return reader }
        #if PEER_XAPIAN
            if self is XapianPages, let reader = try XapianPages(reading: path) as? Self { return reader }
        #endif
        return try Self(path: path, indexing: .positions)
    }
}

final class TextBeside<Engine: TextEngine>: @unchecked Sendable {
    // Sendable: each thread has an engine of its own, and `lock` guards the shared state.
    private let reader: Engine
    private let queries: [Engine.Query]
    private let writer: Engine
    private let documents: [(number: Int, text: String)]
    private let lock = NSLock()
    private var writes = 0
    private var isEnded = false
    private var searches = Latencies()

    init(reader: Engine, queries: [Engine.Query], writer: Engine, documents: [(number: Int, text: String)]) {
        (self.reader, self.queries, self.writer, self.documents) = (reader, queries, writer, documents)
    }

    func run(_ run: Run) throws {
        let start = nanoseconds()
        try run.onThreads(2) { [self] index in
            defer { lock.withLock { isEnded = true } }
            if index == 0 { try search() } else { try write() }
        }
        let seconds = Double(nanoseconds() - start) * 1e-9
        try run.tell("beside-search", searches)
        try run.tell("beside-write", operations: writes, seconds: seconds)
    }

    private func search() throws {
        // Waits until the writer has made some writes.
        while lock.withLock({ writes < 5 && !isEnded }) { usleep(100) }
        for query in queries {
            try searches.time {
                try reader.refresh()
                _ = try reader.best(query)
            }
        }
    }

    private func write() throws {
        for turn in 0... {
            for (number, text) in documents {
                if lock.withLock({ isEnded }) { return }
                if turn.isMultiple(of: 2) { try writer.insert(number, text) } else { try writer.delete(number) }
                lock.withLock { writes += 1 }
            }
        }
    }
}
