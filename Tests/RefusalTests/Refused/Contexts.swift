// SPDX-License-Identifier: Apache-2.0
// Writes where only reading is possible, and values that must not leave their call or thread.

import Hornbeam

func aReadDoesNotWrite(_ database: Database, _ user: User) throws {
    #if REFUSED
        // refused: cannot pass immutable value as inout argument: 'context' is a 'let' constant
        try database.read { context in try user.save(to: &context) }
        // refused: cannot pass immutable value as inout argument: 'context' is a 'let' constant
        try database.read { context in try User.delete(id: "1", from: &context) }
    #else
        try database.write { context in try user.save(to: &context) }
        try database.write { context in try User.delete(id: "1", from: &context) }
    #endif
}

func aWriteTakesItsContextInout(_ database: Database, _ user: User) throws {
    #if REFUSED
        // refused: passing value of type 'Context' to an inout parameter requires explicit '&'
        try database.write { context in try user.save(to: context) }
    #else
        try database.write { context in try user.save(to: &context) }
    #endif
}

func aWriteDoesNotOutliveItsClosure(_ database: Database, _ user: User) throws {
    #if REFUSED_IN_FLOW
        try database.write { context in
            // refused: escaping closure captures 'inout' parameter 'context'
            _ = Task { try user.save(to: &context) }
        }
    #else
        _ = Task { try await database.write { context in try user.save(to: &context) } }
    #endif
}

func aWriteIsNoConcurrentOne(_ database: Database, _ user: User) throws {
    #if REFUSED
        try database.write { context in
            // refused: mutable capture of 'inout' parameter 'context' is not allowed in concurrently-executing code
            let later: @Sendable () throws -> Void = { try user.save(to: &context) }
            try later()
        }
    #else
        try database.write { context in
            let now = { (context: inout Context) in try user.save(to: &context) }
            try now(&context)
        }
    #endif
}

func aPartOfAWriteHasItsOwnContext(_ context: inout Context, _ user: User) throws {
    #if REFUSED_IN_FLOW
        // refused: overlapping accesses to 'context', but modification requires exclusive access
        try context.transaction { part in try user.save(to: &context) }
    #else
        try context.transaction { part in try user.save(to: &part) }
    #endif
}

func aStrategyIsThatOfTheEntity(_ context: inout Context, _ user: User) throws {
    #if REFUSED
        // refused: 'MergeStrategy<Message>' to expected argument type 'MergeStrategy<User>'
        try user.save(to: &context, options: MergeStrategy<Message>.replace)
        // refused: 'WritableKeyPath<User, Int>' to expected argument type 'WritableKeyPath<User, Int?>'
        try user.save(to: &context, options: .patch(\.age))
    #else
        try user.save(to: &context, options: MergeStrategy<User>.replace)
        try user.save(to: &context, options: .patch(\.nick))
    #endif
}

func aRowStaysInItsThread(_ row: RowReader) -> @Sendable () -> Bool {
    #if REFUSED
        // refused: capture of 'row' with non-Sendable type 'RowReader' in a '@Sendable' closure
        return { row.contains(column: 0) }
    #else
        let isThere = row.contains(column: 0)
        return { isThere }
    #endif
}
