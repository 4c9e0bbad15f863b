// SPDX-License-Identifier: Apache-2.0
// Entities and indexes for the tests of map/reduce indexes, and a list of rows as a model of an index.

import Foundation
import HornbeamTestSupport
import Synchronization
import Testing

@testable import Hornbeam
@testable import HornbeamMapReduce

@EntityModel
struct TaggedPost: Equatable {
    let id: Int
    var title = ""
    var tags: [String] = []
    var size = 0
    var score: Double?
    var day: [Int] = []
}

/// An entity whose id isn't a row id.
@EntityModel
struct TaggedNote: Equatable {
    let id: String
    var text = ""
    var related: [String] = []
}

/// Counts the calls of a map function.
final class CallCounter: Sendable {
    private let calls = Atomic(0)
    var count: Int { calls.load(ordering: .relaxed) }
    func note() { calls.add(1, ordering: .relaxed) }
}

typealias TagIndex = MapIndex<TaggedPost, Int, IntegerSumReducer<Int>>

func postsByTag(_ version: String = "1", counter: CallCounter? = nil) -> TagIndex {
    MapIndex("byTag", version: version, reducer: .sum()) { (post: TaggedPost, emit: inout MapEmitter<Int>) in
        counter?.note()
        for tag in post.tags { emit(key: .string(tag), value: post.size) }
    }
}

extension Database {
    /// Returns whether the database is sound. Records an issue for each problem.
    func isWhole(_ location: SourceLocation = #_sourceLocation) throws -> Bool {
        try check { Issue.record("\($0)", sourceLocation: location) }
    }
}

extension MapQuery {
    /// Returns the keys of the index's rows.
    func keys(in database: Database) throws -> [MapKey] {
        try database.read { context in try self.resolve(in: context) }.map(\.key)
    }
}
