// SPDX-License-Identifier: Apache-2.0
// The connections of a reader, each with a queue of its own. A read goes to the connection with the fewest reads.

import Dispatch
import Hornbeam
import HornbeamTree
import Synchronization

final class ReaderPool: Sendable {
    private let connections: [PooledConnection]
    /// Number of unfinished reads of each connection.
    private let loads: Mutex<[Int]>

    init(_ settings: ReaderSettings, count: Int) {
        connections = (0..<count).map { _ in PooledConnection(settings) }
        loads = Mutex(Array(repeating: 0, count: count))
    }

    /// Reads one state of the mirror. Cancelling the task ends the read.
    func read<Result: Sendable>(
        isLong: Bool, _ body: @escaping @Sendable (MirrorReading) throws -> Result
    ) async throws -> Result {
        let number = loads.withLock { loads in
            let least = loads.indices.min { loads[$0] < loads[$1] } ?? 0
            loads[least] += 1
            return least
        }
        defer { loads.withLock { $0[number] -= 1 } }
        let interruption = Interruption()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                connections[number].run(
                    { try $0.read(isLong: isLong, interruption, body) },
                    then: { continuation.resume(with: $0) })
            }
        } onCancel: {
            interruption.set()
        }
    }
}

/// A connection, made when it is needed.
///
/// `@unchecked Sendable`: only code on its queue uses the session.
private final class PooledConnection: @unchecked Sendable {
    private let settings: ReaderSettings
    private let queue = DispatchQueue(label: "hornbeam.reader")
    private var session: ReaderSession?

    init(_ settings: ReaderSettings) { self.settings = settings }

    func run<Result: Sendable>(
        _ body: @escaping @Sendable (PooledConnection) throws -> Result,
        then finish: @escaping @Sendable (Swift.Result<Result, any Error>) -> Void
    ) {
        queue.async { finish(Swift.Result { try body(self) }) }
    }

    func read<Result>(
        isLong: Bool, _ interruption: Interruption, _ body: (MirrorReading) throws -> Result
    ) throws -> Result {
        if interruption.isSet { throw HornbeamError(.cancelled, "the read was cancelled") }
        let isNew = session == nil
        do {
            return try attempt(isLong: isLong, interruption, body)
        } catch let error as HornbeamError {
            switch error.code {
            // Reads change nothing, so they can be repeated.
            case .unreachable, .serialization: break
            case .server, .schemaMismatch:
                // The store may have another schema now, and the mirror other tables.
                guard !isNew, let session, (try? session.refresh()) ?? true else { throw error }
            default: throw error
            }
            return try attempt(isLong: isLong, interruption, body)
        }
    }

    private func attempt<Result>(
        isLong: Bool, _ interruption: Interruption, _ body: (MirrorReading) throws -> Result
    ) throws -> Result {
        let session: ReaderSession
        if let known = self.session, known.connection.isAlive {
            session = known
            session.connection.interruption = interruption
        } else {
            self.session = nil
            session = try ReaderSession(settings, interruption)
            self.session = session
        }
        do {
            return try MirrorReading.read(session, isLong: isLong, body)
        } catch let error as HornbeamError {
            // After these errors the connection is closed, or an answer may still arrive.
            if [.unreachable, .timedOut, .cancelled].contains(error.code) { self.session = nil }
            throw error
        }
    }
}
