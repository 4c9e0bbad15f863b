// SPDX-License-Identifier: Apache-2.0
// A reader beside a disturbed mirror: whenever the server answers, its tables show a state that the store had.

import Dispatch
import Glibc
import Synchronization

/// Reads again and again until it is ended.
final class MirrorWatch: Sendable {
    struct Look {
        var transactions = 0
        var problem: String?
    }

    private struct State {
        var looks = 0
        var failure: String?
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let done = DispatchSemaphore(value: 0)

    init(_ server: PostgresServer, _ database: String) {
        // A serial queue gets a thread of its own.
        DispatchQueue(label: "hornbeam.watch").async { [self] in
            while !state.withLock({ $0.hasEnded || $0.failure != nil }) {
                // Without an answer there is nothing to check.
                guard let look = try? Self.look(server, database) else {
                    usleep(5000)
                    continue
                }
                state.withLock { state in
                    state.looks += 1
                    state.failure = look.problem
                }
            }
            done.signal()
        }
    }

    /// Ends the reader. Returns the number of reads, and the fault of the last one.
    @discardableResult
    func end() -> (looks: Int, failure: String?) {
        let hadEnded = state.withLock { state in
            defer { state.hasEnded = true }
            return state.hasEnded
        }
        if !hadEnded { done.wait() }
        return state.withLock { ($0.looks, $0.failure) }
    }

    /// Checks that in one state the sum of amounts is zero, and each link has two ends.
    static func look(_ server: PostgresServer, _ database: String) throws -> Look {
        let sql = #"""
            BEGIN ISOLATION LEVEL REPEATABLE READ;
            SELECT coalesce(sum(amount), 0) FROM hornbeam."Account";
            SELECT coalesce(max(count), 0) FROM hornbeam."Counter";
            SELECT count(*) FROM hornbeam."Account" WHERE owner IS NOT NULL;
            SELECT count(*) FROM hornbeam."Account" AS a JOIN hornbeam."Owner_accounts" AS o
                ON o.target = a.id AND o.source = a.owner;
            SELECT count(*) FROM hornbeam."Owner_accounts";
            COMMIT
            """#
        let numbers = try server.psql(sql, database: database).split(separator: "\n").compactMap { Int($0) }
        guard numbers.count == 5 else { return Look(problem: "the mirror's answer is \(numbers)") }
        var look = Look(transactions: numbers[1])
        if numbers[0] != 0 { look.problem = "the mirror's amounts sum up to \(numbers[0])" }
        if numbers[2] != numbers[3] || numbers[3] != numbers[4] {
            look.problem = "the mirror's links have \(numbers[2...]) ends"
        }
        return look
    }
}
