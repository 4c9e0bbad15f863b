// SPDX-License-Identifier: Apache-2.0
// Groups in memory: each row is added to the aggregates of its group.

/// The groups of a statement while their rows are added.
struct GroupTable {
    typealias Group = (keys: [StatementValue], aggregates: [RunningAggregate])

    var groups: [Group] = []
    private var places: [[UInt8]: Int] = [:]
    private let scope: GroupScope
    private let kept: KeptBytes

    init(_ scope: GroupScope, _ kept: KeptBytes) {
        self.scope = scope
        self.kept = kept
        // Without GROUP BY all rows are one group, even if there are no rows.
        if scope.keys.isEmpty { groups.append(([], scope.aggregates.map { $0.aggregate.begin() })) }
    }

    /// The number of the group with these keys. Makes the group if there is none.
    mutating func place(of keys: [StatementValue]) throws -> Int {
        if scope.keys.isEmpty { return 0 }
        let bytes = StatementValue.key(keys)
        if let known = places[bytes] { return known }
        let size = scope.aggregates.count * MemoryLayout<RunningAggregate>.stride
        try kept.add(bytes.count + KeptBytes.entry + StatementValue.bytes(of: keys) + size)
        places[bytes] = groups.count
        groups.append((keys, scope.aggregates.map { $0.aggregate.begin() }))
        return groups.count - 1
    }

    /// Adds `times` rows with these keys and these values of aggregate arguments.
    mutating func add(_ keys: [StatementValue], _ values: [StatementValue?], times: Int) throws {
        let place = try place(of: keys)
        for index in values.indices {
            try groups[place].aggregates[index].add(values[index], times: times, kept)
        }
    }
}
