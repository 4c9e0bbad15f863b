// SPDX-License-Identifier: Apache-2.0
// Runs a plan: nested loops over the sources, from left to right, each by an index where its conditions allow it; then
// groups, order and cut. Rows are handed on one at a time unless groups or an order need all rows first.

import HornbeamKeys
import HornbeamPages
import HornbeamTree

/// One run of one plan, within a transaction.
final class SelectRun {
    private let plan: SelectPlan
    private let core: StoreTransaction
    private let frame: Frame
    /// Called when the frame has a row of all sources. Returns false to end the run.
    private var take: () throws -> Bool = { true }
    private let kept: KeptBytes
    private var scores: [RowID: Double]?
    private var tests: [Int: RowFilter] = [:]
    /// The conditions of each source's join that have all their values as soon as the source has a row.
    private lazy var joinTests = plan.sources.map { source in
        source.joinConditions.filter { plan.binder.lastSource(of: $0) <= source.number }
    }
    private var snippets: RowSnippets?
    /// The counts of the steps; nil unless the run is analysed.
    private let counts: SelectCounts?

    /// - Parameter keptLimit: only tests need another limit than the standard one.
    init(
        _ plan: SelectPlan, _ core: StoreTransaction, keptLimit: Int = KeptBytes.standardLimit,
        counts: SelectCounts? = nil
    ) {
        self.counts = counts
        kept = KeptBytes(limit: keptLimit)
        self.plan = plan
        self.core = core
        frame = Frame(slots: plan.binder.slotCount, sources: plan.sources.count, text: plan.binder.text)
    }

    /// Calls `body` with the values of each row of the result until it returns false.
    func run(_ body: ([StatementValue]) throws -> Bool) throws {
        guard let counts else { return try answer(body) }
        try answer { values in
            counts.results += 1
            return try body(values)
        }
    }

    private func answer(_ body: ([StatementValue]) throws -> Bool) throws {
        // Changes that wait in a write are settled now, so that nothing changes while rows are read.
        if core.transaction.isWritable { try core.flush() }
        if plan.limit == 0 { return }
        var cut = Cut(plan)
        if plan.grouping != nil { return try runGroups(&cut, body) }
        if let columns = plan.distinctColumns {
            var sorter = RowSorter(plan, plan.terms, kept)
            // The groups come in the order of their keys, so the first ones are enough.
            let atMost = plan.terms.isEmpty ? plan.rowsNeeded : nil
            for (keys, _) in try groups(by: columns, atMost: atMost) {
                for (column, key) in zip(plan.columns, keys) {
                    if case .slot(let slot) = column.value { frame.slots[slot] = key }
                }
                _ = try sorter.add(try plan.values(frame), frame)
            }
            return try handOn(&sorter, &cut, body)
        }
        if !plan.order.isEmpty { return try runSorted(&cut, body) }
        try withoutActuallyEscaping(body) { body in
            var seen = SeenKeys()
            try forEachRow {
                let values = try self.plan.values(self.frame)
                if self.plan.isDistinct, try !seen.insert(StatementValue.key(values), self.kept) { return true }
                return try cut.take { try body(values) }
            }
            counts?.kept = seen.count
        }
    }

    /// Calls `body` with the sorted rows that OFFSET and LIMIT leave.
    private func handOn(
        _ sorter: inout RowSorter, _ cut: inout Cut, _ body: ([StatementValue]) throws -> Bool
    ) throws {
        let rows = sorter.finish()
        counts?.kept = rows.count
        for values in rows where try !cut.take({ try body(values) }) { return }
    }

    /// Calls `body` with each entity of the first source for which the conditions are true, until it returns false.
    func forEachEntity(_ body: (RowID, RowReader, Double?) throws -> Bool) throws {
        if core.transaction.isWritable { try core.flush() }
        var (first, results, cut) = (0, 0, Cut(plan))
        defer {
            if let counts { (counts.first, counts.results) = (first, results) }
        }
        func handOn(_ rowID: RowID, _ row: RowReader, _ score: Double?) throws -> Bool {
            results += 1
            return try body(rowID, row, score)
        }
        if plan.isCut {
            return try core.forEach(plan.query, counting: counts?.query) { rowID, row, score in
                first += 1
                return try handOn(rowID, row, score)
            }
        }
        if plan.limit == 0 { return }
        var isFound = false
        take = {
            isFound = true
            self.counts?.taken += 1
            return true
        }
        defer { take = { true } }
        try core.forEach(plan.query, counting: counts?.query) { rowID, row, score in
            isFound = false
            first += 1
            // The score is that of the query's own search, not of a MATCH in the conditions.
            try fill(0, rowID, row, nil)
            _ = try passed(0)
            return try !isFound || cut.take { try handOn(rowID, row, score) }
        }
    }

    /// The current row of the first source.
    var rowID: RowID? { frame.rows[0] }

    /// The values of the columns for one row of the first source, whatever the conditions.
    func values(of rowID: RowID, _ row: RowReader) throws -> [StatementValue] {
        var values: [StatementValue] = []
        take = {
            values = try self.plan.values(self.frame)
            return false
        }
        defer { take = { true } }
        frame.steps = 0
        try fill(0, rowID, row, nil)
        _ = try enter(1)
        return values
    }

    private func runSorted(_ cut: inout Cut, _ body: ([StatementValue]) throws -> Bool) throws {
        var sorter = RowSorter(plan, plan.order, kept)
        try forEachRow { try sorter.add(try self.plan.values(self.frame), self.frame) }
        try handOn(&sorter, &cut, body)
    }

    private func runGroups(_ cut: inout Cut, _ body: ([StatementValue]) throws -> Bool) throws {
        guard let scope = plan.grouping else { return }
        if let known = try knownGroups(scope) { return try finish(known, &cut, body) }
        var table = GroupTable(scope, kept)
        if let (keys, arguments) = plan.valueColumns {
            let store = try core.store(plan.query.type)
            try store.forEach(plan.query, counting: counts?.query) { row, equal in
                try table.add(
                    try keys.map { StatementValue(try row.value($0)) },
                    try arguments.map { column in try column.map { StatementValue(try row.value($0)) } },
                    times: equal.count)
            }
        } else {
            try forEachRow {
                let place = try table.place(of: scope.keys.map { try $0.evaluate(self.frame) })
                for index in scope.aggregates.indices {
                    try table.groups[place].aggregates[index].add(self.frame, self.kept)
                }
                return true
            }
        }
        let groups = table.groups.sorted(byKey: { StatementValue.appendOrdered($0.keys, to: &$1) })
        let frames = try groups.map { group in
            let frame = groupFrame(scope)
            for (slot, key) in group.keys.enumerated() { frame.slots[slot] = key }
            for (index, (aggregate, slot)) in scope.aggregates.enumerated() {
                frame.slots[slot] = try frame.marked(aggregate.mark) { try group.aggregates[index].result() }
            }
            return frame
        }
        try finish(frames, &cut, body)
    }

    /// The groups, if they are known without reading all rows; else nil.
    private func knownGroups(_ scope: GroupScope) throws -> [Frame]? {
        let frame = groupFrame(scope)
        if plan.countsRows {
            let count = try core.count(plan.query, counting: counts?.query)
            for (_, slot) in scope.aggregates { frame.slots[slot] = .int(count) }
            return [frame]
        }
        if let columns = plan.countedColumns {
            return try groups(by: columns).map { keys, count in
                let frame = groupFrame(scope)
                for (slot, key) in keys.enumerated() { frame.slots[slot] = key }
                for (_, slot) in scope.aggregates { frame.slots[slot] = .int(count) }
                return frame
            }
        }
        if let column = plan.distinctCount {
            let values = try groups(by: [column])
            frame.slots[scope.aggregates[0].slot] = .int(values.count { $0.keys != [.null] })
            return [frame]
        }
        guard let ends = try plan.ends(core) else { return nil }
        for ((aggregate, slot), query) in zip(scope.aggregates, ends) {
            guard let query, let column = aggregate.argument.flatMap({ plan.column($0) }) else {
                frame.slots[slot] = .int(try core.count(plan.query))
                continue
            }
            frame.slots[slot] = .null
            try core.forEach(query) { _, row, _ in
                frame.slots[slot] = StatementValue(try row.value(column))
                return false
            }
        }
        return [frame]
    }

    private func groups(by columns: [Int], atMost: Int? = nil) throws -> [CountedGroups.Group] {
        try CountedGroups(plan.query, by: columns, core, kept, atMost: atMost, counting: counts?.query).groups
    }

    private func groupFrame(_ scope: GroupScope) -> Frame {
        Frame(slots: scope.slotCount, text: plan.binder.text)
    }

    /// Hands on the groups as rows: without ORDER BY in the order of their keys.
    private func finish(_ frames: [Frame], _ cut: inout Cut, _ body: ([StatementValue]) throws -> Bool) throws {
        // A new count, because `kept` has counted the groups already.
        var sorter = RowSorter(plan, plan.order, KeptBytes(limit: kept.limit))
        var having = 0
        for frame in frames {
            if let condition = plan.having, try condition.evaluate(frame).truth != true { continue }
            try core.transaction.checkGoesOn()
            having += 1
            _ = try sorter.add(try plan.values(frame), frame)
        }
        if let counts { (counts.groups, counts.having) = (frames.count, having) }
        try handOn(&sorter, &cut, body)
    }

    // MARK: Sources

    private func forEachRow(_ body: @escaping () throws -> Bool) throws {
        take = body
        if let counts {
            take = {
                counts.taken += 1
                return try body()
            }
        }
        defer { take = { true } }
        if case .elements(let rows) = plan.sources[0].rows {
            _ = try unnest(rows, plan.sources[0])
            return
        }
        func enter(_ rowID: RowID, _ row: RowReader, _ score: Double?) throws -> Bool {
            try fill(0, rowID, row, score)
            return try passed(0)
        }
        guard let counts else { return try core.forEach(plan.query, enter) }
        try core.forEach(plan.query, counting: counts.query) { rowID, row, score in
            counts.first += 1
            return try enter(rowID, row, score)
        }
    }

    /// Tests the conditions that have all their values now, and continues with the next source. Every row of every
    /// source comes here, so a run ends soon after it is interrupted, even if it reads nothing.
    private func passed(_ number: Int) throws -> Bool {
        try core.transaction.checkGoesOn()
        let held = frame.held
        defer { frame.held = held }
        frame.steps = 0
        for condition in plan.conditions[number] where try condition.evaluate(frame).truth != true { return true }
        return try enter(number + 1)
    }

    private func enter(_ number: Int) throws -> Bool {
        try StackRoom.require()
        guard number < plan.sources.count else {
            let held = frame.held
            defer { frame.held = held }
            return try take()
        }
        let source = plan.sources[number]
        switch source.rows {
        case .scan: return try passed(number)
        case .link(let from, let side): return try follow(side, from, source)
        case .join(let conditions): return try join(conditions, source)
        case .elements(let array): return try unnest(array, source)
        }
    }

    private func follow(_ side: EdgeSide, _ from: Int, _ source: BoundSource) throws -> Bool {
        var goesOn = true
        var (read, found) = (0, 0)
        if let row = frame.rows[from] {
            let store = try core.store(side.target)
            // Collected first, because later sources may follow links too.
            for target in try core.edges.targets(side, of: row) {
                read += 1
                guard let reader = try store.row(target) else { continue }
                found += 1
                try fill(source.number, target, reader, nil)
                goesOn = try passed(source.number)
                if !goesOn { break }
            }
        }
        return try end(source, read: read, found: found, goesOn: goesOn)
    }

    private func join(_ conditions: [BoundExpression], _ source: BoundSource) throws -> Bool {
        let push = FilterPush(binder: plan.binder, source: source, frame: frame)
        var query = EntityQuery(type: source.type?.name ?? "")
        // The conditions on the joined rows in WHERE narrow an inner join as well.
        for condition in conditions + (source.isOuter ? [] : plan.conditions[source.number]) {
            if let pushed = push.filter(condition) { query.filter = query.filter.and(pushed.filter) }
        }
        var goesOn = true
        var (read, found) = (0, 0)
        try core.forEach(query, counting: counts?.joined[source.number].query) { rowID, row, _ in
            read += 1
            try fill(source.number, rowID, row, nil)
            for condition in joinTests[source.number] where try condition.evaluate(frame).truth != true { return true }
            found += 1
            goesOn = try passed(source.number)
            return goesOn
        }
        return try end(source, read: read, found: found, goesOn: goesOn)
    }

    private func unnest(_ array: BoundExpression, _ source: BoundSource) throws -> Bool {
        guard let slot = source.elementSlot else { return true }
        let held = frame.held
        defer { frame.held = held }
        var items: [StatementValue] = []
        switch try array.evaluate(frame) {
        case .array(let elements): items = elements
        case .missing, .value(.null): break
        // A value that is no array is one element, as in SQL++.
        case let single: items = [single]
        }
        var goesOn = true
        var (read, found) = (0, 0)
        for item in items where goesOn {
            frame.slots[slot] = item
            read += 1
            guard try isJoined(source) else { continue }
            found += 1
            goesOn = try passed(source.number)
        }
        return try end(source, read: read, found: found, goesOn: goesOn)
    }

    /// Ends a run of a source behind the first one. A row without a match stays in an outer join.
    private func end(_ source: BoundSource, read: Int, found: Int, goesOn: Bool) throws -> Bool {
        let isWithout = found == 0 && source.isOuter
        counts?.joined[source.number].note(read: read, rows: isWithout ? 1 : found)
        return isWithout ? try passWithout(source) : goesOn
    }

    /// Whether the conditions of ON that have all their values now are true.
    private func isJoined(_ source: BoundSource) throws -> Bool {
        let tests = joinTests[source.number]
        guard !tests.isEmpty else { return true }
        try core.transaction.checkGoesOn()
        frame.steps = 0
        return try tests.allSatisfy { try $0.evaluate(frame).truth == true }
    }

    private func passWithout(_ source: BoundSource) throws -> Bool {
        if let slot = source.elementSlot { frame.slots[slot] = source.fields == nil ? .missing : .null }
        frame.rows[source.number] = nil
        for (slot, _) in source.contents { frame.slots[slot] = .null }
        return try passed(source.number)
    }

    // MARK: Slots

    /// Reads all values of a row that the statement needs. The row isn't used afterwards.
    private func fill(_ number: Int, _ rowID: RowID, _ row: RowReader, _ score: Double?) throws {
        frame.rows[number] = rowID
        let source = plan.sources[number]
        guard let type = source.type else { return }
        for (slot, content) in source.contents {
            switch content {
            case .column(let column): frame.slots[slot] = StatementValue(try row.value(column))
            case .whole: frame.slots[slot] = try object(row, type)
            case .match(let number): frame.slots[slot] = .bool(try isFound(number, rowID, row, type))
            case .score(let number):
                frame.slots[slot] = try (score ?? self.score(number, rowID, type)).map { .double($0) } ?? .null
            case .snippet(let form): frame.slots[slot] = try snippet(form, row, type).map { .string($0) } ?? .null
            case .link, .links, .linkedObjects: continue
            }
        }
        for (slot, content) in source.contents {
            switch content {
            case .link(let name): frame.slots[slot] = try ids(name, rowID, type).first ?? .null
            case .links(let name): frame.slots[slot] = .array(try ids(name, rowID, type))
            case .linkedObjects(let name): frame.slots[slot] = .array(try objects(name, rowID, type))
            default: continue
            }
        }
    }

    private func object(_ row: RowReader, _ type: EntityType) throws -> StatementValue {
        .object(
            try type.shownColumns.map { number, name in
                StatementField(name: name, item: StatementValue(try row.value(number)))
            })
    }

    /// The ids of the stored entities that the relation leads to. As in typed queries, others don't count.
    private func ids(_ relation: String, _ rowID: RowID, _ type: EntityType) throws -> [StatementValue] {
        let side = try type.relation(relation)
        let store = try core.store(side.target)
        let isWhole = try core.edges.isWhole(side)
        return try core.edges.targets(side, of: rowID).compactMap { target in
            guard try isWhole || store.isSaved(target) else { return nil }
            return try store.id(of: target).map { StatementValue($0) }
        }
    }

    private func objects(_ relation: String, _ rowID: RowID, _ type: EntityType) throws -> [StatementValue] {
        let side = try type.relation(relation)
        let store = try core.store(side.target)
        return try core.edges.targets(side, of: rowID).compactMap { target in
            try store.row(target).map { try object($0, store.type) }
        }
    }

    private func isFound(_ number: Int, _ rowID: RowID, _ row: RowReader, _ type: EntityType) throws -> Bool {
        guard let match = plan.binder.matches[number].match else { return false }
        if let test = tests[number] { return try test.accepts(rowID, row) }
        let test = try RowFilter(.matches(match), type: type, core: core)
        tests[number] = test
        return try test.accepts(rowID, row)
    }

    private func snippet(_ form: SnippetForm, _ row: RowReader, _ type: EntityType) throws -> String? {
        if let snippets { return try snippets.text(row, form) }
        guard let match = plan.binder.matches[form.match].match else { return nil }
        let snippets = try RowSnippets(match, core.store(type.name))
        self.snippets = snippets
        return try snippets.text(row, form)
    }

    /// The score of a row that comes without one. The first call computes the scores of all rows that the search finds.
    private func score(_ number: Int, _ rowID: RowID, _ type: EntityType) throws -> Double? {
        if let scores { return scores[rowID] }
        guard let match = plan.binder.matches[number].match else { return nil }
        var parts = [Filter.matches(match)]
        // A partial index has scores for its own entities only. The rows' conditions on columns show that these are
        // enough.
        if type.textIndex(for: match)?.isPartial ?? false, plan.isPushed(number) {
            parts += plan.query.filter.conjuncts.filter { StoredCondition($0, type.description) != nil }
        }
        let query = EntityQuery(type: type.name, filter: Filter.conjunction(parts), sort: [.bestScore])
        let found = try core.ranked(query)
        let scores = Dictionary(found.map { ($0.rowID, $0.score) }) { first, _ in first }
        self.scores = scores
        return scores[rowID]
    }
}

extension SelectPlan {
    /// The values of the columns.
    fileprivate func values(_ frame: Frame) throws -> [StatementValue] {
        try columns.map { try $0.value.evaluate(frame) }
    }
}

/// The part of a result that OFFSET and LIMIT leave.
struct Cut {
    private var skip: Int
    private var left: Int

    init(_ plan: SelectPlan) { self.init(offset: plan.isCut ? 0 : plan.offset, limit: plan.limit) }

    init(offset: Int, limit: Int?) {
        skip = offset
        left = limit ?? .max
    }

    /// Calls `body` for a row that is in the requested part; returns false after its end.
    mutating func take(_ body: () throws -> Bool) throws -> Bool {
        if skip > 0 {
            skip -= 1
            return true
        }
        guard left > 0 else { return false }
        left -= 1
        return try body() && left > 0
    }
}

/// Sorts rows. All must be read before the first one is known. With a limit, at most twice as many rows are kept; with
/// DISTINCT, twice as many as there are different rows.
struct RowSorter {
    private let order: [SelectPlan.Order]
    private let most: Int
    private let isDistinct: Bool
    private let kept: KeptBytes
    private var rows: [[StatementValue]] = []
    /// For each row, bytes that sort as the rows do, and the row's index in `rows`.
    private var keys = EntryBuffer()
    /// Number of rows beyond which some are dropped.
    private var bound: Int

    init(_ plan: SelectPlan, _ order: [SelectPlan.Order], _ kept: KeptBytes) {
        self.init(order, atMost: plan.rowsNeeded, isDistinct: plan.isDistinct, kept)
    }

    init(_ order: [SelectPlan.Order], atMost most: Int?, isDistinct: Bool, _ kept: KeptBytes) {
        self.order = order
        self.kept = kept
        self.isDistinct = isDistinct
        self.most = most ?? .max
        bound = 1000
        grow()
    }

    /// Adds a row with these values. Always returns true: a later row may come first.
    /// - Parameter frame: the values from which the order is computed.
    mutating func add(_ values: [StatementValue], _ frame: Frame) throws -> Bool {
        let size = keys.size
        for term in order { Self.append(try term.value.evaluate(frame), term, to: &keys.keys) }
        keys.addWritten(number: UInt64(rows.count))
        rows.append(values)
        kept.note(StatementValue.bytes(of: values) + keys.size - size)
        if rows.count > bound || kept.isOver {
            let isOver = kept.isOver
            leaveOut()
            // If little was freed, soon each new row would cause a sort.
            if isOver, kept.used > kept.limit / 4 * 3 { throw kept.tooLarge }
        }
        return true
    }

    mutating func finish() -> [[StatementValue]] {
        if isDistinct || most < .max {
            leaveOut()
            return rows
        }
        keys.sort()
        return (0..<keys.count).map { rows[Int(keys.number($0))] }
    }

    /// Appends bytes for one term: unknown values come first or last, as the term says, others in the order of items.
    private static func append(_ item: StatementValue, _ term: SelectPlan.Order, to key: inout KeyWriter) {
        key.append(item.isUnknown != term.nullsFirst)
        let start = key.bytes.count
        item.appendOrdered(to: &key)
        if term.isDescending { key.invert(from: start) }
    }

    /// Sorts the rows and drops those that the result doesn't need: all but the first of equal ones for DISTINCT, and
    /// rows beyond the limit. The sort is stable.
    private mutating func leaveOut() {
        let (all, size) = (rows, keys.size)
        var (left, sorted) = ([[StatementValue]](), keys)
        sorted.sort()
        var seen: Set<[UInt8]> = []
        sorted.renumber { number in
            let values = all[Int(number)]
            if left.count == most || isDistinct && !seen.insert(StatementValue.key(values)).inserted {
                kept.note(-StatementValue.bytes(of: values))
                return nil
            }
            left.append(values)
            return UInt64(left.count - 1)
        }
        kept.note(sorted.size - size)
        (rows, keys) = (left, sorted)
        grow()
    }

    private mutating func grow() {
        bound = isDistinct || most < .max / 4 ? 2 * Swift.min(most, rows.count) + 1000 : .max
    }
}
