// SPDX-License-Identifier: Apache-2.0
// A mirror over one connection. It compares the positions of store and server, and brings the server up to the store's
// newest state, in one transaction of the server for each read of the store. Any error ends the session with its
// connection; the next session compares the positions again.
// next one finds out again.

import FoundationEssentials
import Hornbeam
import HornbeamTree

/// The database that is mirrored, and the target of the mirror.
struct MirrorSettings: Sendable {
    let database: Database
    /// The name of its consumer in the store.
    let name: String
    let address: String
    /// The schema in the server, as the program names it.
    let schemaName: String
    let types: PostgresMirror.Types
    let options: PostgresMirror.Options

    var schema: String { quoted(schemaName) }

    /// Returns the names of the store's types that are mirrored. Throws an error if the store lacks one of them.
    func names(of schema: Schema) throws(HornbeamError) -> [String] {
        guard !schema.typeNames.isEmpty else {
            throw HornbeamError(.invalid, "the store has no entity types yet: open it with its models first")
        }
        guard let names = types.names else { return schema.typeNames }
        for name in names { _ = try schema.type(name) }
        return names.sorted()
    }
}

/// Belongs to one thread at a time.
final class MirrorSession {
    enum Work: Sendable {
        /// Sends the changes.
        case follow
        /// Compares everything with the store and writes the differences, whatever the server's record says.
        case reconcile
        /// Sends the changes, then compares everything. Reports at most `limit` differences of each table.
        case compare(limit: Int)
    }

    /// The result of one run.
    struct Outcome: Sendable {
        /// The state of the store that the mirror shows now.
        var version: UInt64
        /// Number of changes that were sent.
        var changes: Int
        var differences: [MirrorDifference] = []
    }

    private let settings: MirrorSettings
    private let connection: PostgresConnection
    private let report: (PostgresMirror.Progress) -> Void
    /// The server's record as this session has read or written it. Nil before that, or if there is none.
    private var record: MirrorRecord?
    private var consumer: ChangeConsumer?
    /// The layout of the store's types. They stay as they are while the database is open.
    private var known: (layout: MirrorLayout, description: [EntityDescription])?

    init(
        _ settings: MirrorSettings, interruption: Interruption, report: @escaping (PostgresMirror.Progress) -> Void
    ) throws {
        self.settings = settings
        self.report = report
        connection = try PostgresConnection(
            settings.address, timeout: settings.options.timeout, interruption: interruption)
        try connection.setLimits()
    }

    /// Whether the connection is open, judged without sending anything to the server.
    var isAlive: Bool { connection.isAlive }

    /// Brings the server up to the store's newest state. Both have recorded it when this returns.
    func run(_ work: Work) throws -> Outcome {
        let consumer = try registered()
        var work = work
        var note = try note(of: consumer)
        if case .reconcile = work {
            note = try renewed(note, consumer)
        } else if record == nil || record?.token != note.done {
            // Another session may have sent a batch meanwhile, such as a comparison beside a running mirror.
            (work, note) = try settle(work, note, consumer)
        }
        do {
            return try send(work, note, consumer)
        } catch is HasMoved {
            // Another session has sent a batch meanwhile, perhaps one whose COMMIT seemed lost.
            try connection.execute("ROLLBACK")
            (work, note) = try settle(work, try self.note(of: consumer), consumer)
            do { return try send(work, note, consumer) } catch is HasMoved {
                throw HornbeamError(
                    .conflict, "two mirrors run under the name “\(settings.name)”: stop one")
            }
        }
    }

    /// Thrown if the server has another batch than the last one of this session.
    private struct HasMoved: Error {}

    private func send(_ work: Work, _ note: MirrorNote, _ consumer: ChangeConsumer) throws -> Outcome {
        var (outcome, last) = try settings.database.read { (context) throws in
            try context.session.run { try self.send(work, note, try $0.core) }
        }
        if let last { try acknowledge(through: last, note, consumer, &outcome) }
        return outcome
    }

    // MARK: The store's side

    /// Returns the consumer, registered for all types that are mirrored.
    private func registered() throws -> ChangeConsumer {
        if let consumer { return consumer }
        let names = try settings.names(of: settings.database.schema)
        let consumer = try settings.database.consumer(
            named: settings.name, ofTypes: names, links: true, retention: settings.options.retention)
        self.consumer = consumer
        return consumer
    }

    private func note(of consumer: ChangeConsumer) throws -> MirrorNote {
        let note = try settings.database.read { try MirrorNote.read(try consumer.note(in: $0), of: consumer.name) }
        if let note { return note }
        let first = MirrorNote()
        try settings.database.write(durability: .full) { try consumer.setNote(first.bytes, in: &$0) }
        return first
    }

    /// Acknowledges a batch in the store. Returns the store's new note.
    @discardableResult
    private func acknowledge(
        through last: UInt64, _ note: MirrorNote, _ consumer: ChangeConsumer, _ outcome: inout Outcome
    ) throws -> MirrorNote {
        let next = note.makeNext()
        let before = try settings.database.write(durability: .full) { context in
            guard try consumer.note(in: context) == note.bytes else {
                throw HornbeamError(
                    .conflict, "two mirrors run under the name “\(settings.name)”: stop one")
            }
            try consumer.acknowledge(through: last, in: &context)
            try consumer.setNote(next.bytes, in: &context)
            return try context.version
        }
        // The acknowledgement makes a new state, too, in which no mirrored data differ.
        if before == outcome.version { outcome.version += 1 }
        return next
    }

    /// Renews the intent, so that copies of the store's file can't write to the mirror any more. Keeps it if the last
    /// batch may have arrived: its token must stay known.
    private func renewed(_ note: MirrorNote, _ consumer: ChangeConsumer) throws -> MirrorNote {
        let there = try? MirrorRecord.read(connection, in: settings.schema)
        if there?.token == note.intent, try hasSent(there) != false { return note }
        let renewed = note.makeRenewed()
        try settings.database.write(durability: .full) { try consumer.setNote(renewed.bytes, in: &$0) }
        return renewed
    }

    /// Finds out whether the last batch has arrived. Returns the work to do, and the note: the next one if the batch
    /// has arrived.
    private func settle(
        _ work: Work, _ note: MirrorNote, _ consumer: ChangeConsumer
    ) throws -> (Work, MirrorNote) {
        if case .reconcile = work { return (work, note) }
        record = try MirrorRecord.read(connection, in: settings.schema)
        guard let record else {
            if note.done == nil { return (work, note) }
            throw diverged("the schema has no mirror any more, because it was dropped or this is another server")
        }
        guard record.store == note.store else {
            throw diverged("the schema has the mirror of another store, or of another name")
        }
        if record.token == note.done { return (work, note) }
        guard record.token == note.intent else {
            throw diverged(
                "its last batch isn't the store's last one: a standby was promoted that lacked it, or one of the two "
                    + "was restored from a copy")
        }
        switch try hasSent(record) {
        // Some of the sent changes aren't kept any more, so all entities are compared instead.
        case nil: return (.reconcile, note)
        case false?: throw diverged("its last batch came from another copy of the store")
        case true?:
            var outcome = Outcome(version: record.version, changes: 0)
            return (work, try acknowledge(through: record.sequence, note, consumer, &outcome))
        }
    }

    private func hasSent(_ record: MirrorRecord?) throws -> Bool? {
        guard let record else { return false }
        return try settings.database.read { context in
            try context.session.run { try self.hasSent(record, try $0.core) }
        }
    }

    /// Whether the server's last batch has the changes of this store up to the batch's last number. Returns nil if some
    /// of these changes are no longer kept.
    private func hasSent(_ record: MirrorRecord, _ core: StoreTransaction) throws -> Bool? {
        guard let log = try ChangeLog(in: core.transaction), let stored = try log.consumer(settings.name),
            record.sequence < stored.next, record.sequence >= stored.acknowledged
        else { return false }
        if try PendingBatch.digest(log, stored, through: record.sequence) == record.digest { return true }
        return stored.hasGap ? nil : false
    }

    private func diverged(_ reason: String) -> HornbeamError {
        HornbeamError(
            .diverged,
            "the mirror in schema \(settings.schema) has diverged from the store: \(reason); nothing was "
                + "written, and reconcile() makes it the store's mirror again")
    }

    // MARK: The server's side

    /// Sends the changes up to the state that `core` reads, and commits them in the server. `last` is the number of the
    /// last change, or nil if there was nothing to send.
    private func send(
        _ work: Work, _ note: MirrorNote, _ core: StoreTransaction
    ) throws -> (outcome: Outcome, last: UInt64?) {
        guard let log = try ChangeLog(in: core.transaction), let stored = try log.consumer(settings.name) else {
            throw HornbeamError(.invalid, "consumer “\(settings.name)” was unregistered while its mirror runs")
        }
        let (layout, description) = try layout(of: core.schema, stored)
        var outcome = Outcome(version: core.transaction.version, changes: 0)
        let isSame = record.map { $0.layout == layout && $0.description == description } ?? false
        if case .follow = work, isSame, stored.next - 1 == stored.acknowledged { return (outcome, nil) }
        let pending = try PendingBatch(log, stored, core.schema)
        outcome.changes = pending.count
        let next = MirrorRecord(
            store: note.store, token: note.intent, version: outcome.version, sequence: pending.last,
            digest: pending.digest, layout: layout, description: description)
        var full = FullCopy(types: pending.missed)
        switch work {
        case .reconcile: full = try prepareReconciling(next)
        case .follow, .compare: try begin(next, isSame: isSame, &full)
        }
        try write(pending, full, layout, core)
        if case .compare(let limit) = work { outcome.differences = try compare(limit: limit, layout, core) }
        // The server must not show a state that the store can still lose. A write without changes makes earlier writes
        // durable.
        try settings.database.write(durability: .full) { _ in }
        try connection.execute("COMMIT")
        connection.timeout = settings.options.timeout
        record = next
        return (outcome, pending.last)
    }

    private func layout(
        of schema: Schema, _ consumer: StoredConsumer
    ) throws -> (MirrorLayout, [EntityDescription]) {
        if let known { return known }
        let layout = try MirrorLayout(schema, consumer)
        let description = layout.types.compactMap { schema.types[$0.name]?.description }
        known = (layout, description)
        return (layout, description)
    }

    /// The types whose tables are written as a whole.
    private struct FullCopy {
        /// Types whose tables may differ from the store.
        var types: Set<String> = []
        /// Types whose tables are new and empty.
        var made: Set<String> = []
    }

    /// Begins the server's transaction, and brings its tables to the layout.
    private func begin(_ next: MirrorRecord, isSame: Bool, _ full: inout FullCopy) throws {
        guard let record else {
            full = try prepareFirst(next)
            return
        }
        // Waits for readers of older snapshots: they would find new columns and tables without their contents.
        let lock = isSame ? "" : "LOCK TABLE \(settings.schema).\(MirrorRecord.table) IN ACCESS EXCLUSIVE MODE; "
        let sent = try connection.execute(
            "BEGIN; \(lock)\(next.succession(of: record.token, in: settings.schema))")
        guard sent.affected == 1 else { throw HasMoved() }
        if isSame { return }
        let change = LayoutChange(from: record.layout, to: next.layout, in: settings.schema)
        try apply(change, next)
        full.types.formUnion(change.changed)
        full.made = change.made
    }

    private func apply(_ change: LayoutChange, _ next: MirrorRecord) throws {
        for statement in change.statements { try connection.execute(statement) }
        try connection.execute(try next.replacement(in: settings.schema))
    }

    /// Prepares the first copy. The schema must have no tables, because they would be somebody else's.
    private func prepareFirst(_ next: MirrorRecord) throws -> FullCopy {
        do {
            try connection.execute("BEGIN")
            try makeSchema()
            try connection.execute(MirrorRecord.creation(in: settings.schema))
        } catch let error as HornbeamError where error.isMadeMeanwhile {
            throw HornbeamError(.serialization, error.message)
        }
        let change = LayoutChange(from: nil, to: next.layout, in: settings.schema)
        try apply(change, next)
        return FullCopy(made: change.made)
    }

    private func makeSchema() throws {
        let name = literal(settings.schemaName)
        let there = try connection.execute(
            "SELECT (SELECT count(*) FROM pg_namespace WHERE nspname = \(name)), "
                + "(SELECT count(*) FROM information_schema.tables WHERE table_schema = \(name))")
        guard there.text(0, 1) == "0" else {
            if try MirrorRecord.isThere(connection, in: settings.schema) {
                throw HornbeamError(.serialization, "another session has begun the mirror meanwhile")
            }
            throw HornbeamError(
                .invalid,
                "schema \(settings.schema) has tables, and none of them is a mirror's “_mirror”: give the mirror a "
                    + "schema of its own, or drop this one")
        }
        // Not IF NOT EXISTS: a user of an existing schema may have no right to make one.
        if there.text(0, 0) == "0" { try connection.execute("CREATE SCHEMA \(settings.schema)") }
    }

    /// Takes the schema over. Tables that still match a layout are mended, others are made anew.
    private func prepareReconciling(_ next: MirrorRecord) throws -> FullCopy {
        guard try MirrorRecord.isThere(connection, in: settings.schema) else { return try prepareFirst(next) }
        // Waits until other mirrors and readers have ended their transactions.
        try connection.execute("BEGIN; LOCK TABLE \(settings.schema).\(MirrorRecord.table) IN ACCESS EXCLUSIVE MODE")
        let columns = try columnsThere()
        let found = try readableLayout(columns)
        var whole = found.types.filter { type in
            columns[type.table].map { Set(type.columnNames).isSubset(of: $0) } == true
                && type.toMany.allSatisfy { columns[$0.place] != nil }
        }
        // If the layout can't be read, the tables are assumed to have the names of the new layout.
        let former = found.types.isEmpty ? next.layout.types : found.types.filter { !whole.contains($0) }
        for table in former.flatMap({ [$0.table] + $0.toMany.map(\.place) }) where columns[table] != nil {
            try connection.execute("DROP TABLE \(settings.schema).\(quoted(table))")
        }
        // The numbers may be those of another store's consumer.
        for place in whole.indices { whole[place].number = next.layout.type(whole[place].name)?.number ?? -1 - place }
        let change = LayoutChange(from: MirrorLayout(types: whole), to: next.layout, in: settings.schema)
        try apply(change, next)
        return FullCopy(types: Set(next.layout.types.map(\.name)), made: change.made)
    }

    /// Returns the layout in the server's record, or an empty one if it can't be read. Replaces a table `_mirror` that
    /// lacks columns.
    private func readableLayout(_ columns: [String: Set<String>]) throws -> MirrorLayout {
        guard columns["_mirror"]?.isSuperset(of: MirrorRecord.columns.map(\.0)) == true else {
            try connection.execute(
                "DROP TABLE \(settings.schema).\(MirrorRecord.table); \(MirrorRecord.creation(in: settings.schema))")
            return MirrorLayout(types: [])
        }
        do {
            return try MirrorRecord.read(connection, in: settings.schema)?.layout ?? MirrorLayout(types: [])
        } catch let error as HornbeamError where error.code == .diverged {
            return MirrorLayout(types: [])
        }
    }

    /// Returns the columns of each table in the schema.
    private func columnsThere() throws -> [String: Set<String>] {
        let result = try connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns "
                + "WHERE table_schema = \(literal(settings.schemaName))")
        var columns: [String: Set<String>] = [:]
        for row in 0..<result.count {
            guard let table = result.text(row, 0), let column = result.text(row, 1) else { continue }
            columns[table, default: []].insert(column)
        }
        return columns
    }

    // MARK: Rows

    private func write(
        _ pending: PendingBatch, _ full: FullCopy, _ layout: MirrorLayout, _ core: StoreTransaction
    ) throws {
        let whole = layout.types.filter { full.types.contains($0.name) || full.made.contains($0.name) }
        if !whole.isEmpty { try allowTime() }
        var progress = PostgresMirror.Progress(done: 0, total: 0)
        for type in whole { progress.total += try core.store(type.name).count() }
        for type in whole {
            let tables = try TableWriting(type, core, to: connection, in: settings.schema)
            let isEmpty = full.made.contains(type.name)
            try (isEmpty ? tables.fill : tables.mend) { count in
                progress.done += count
                self.report(progress)
            }
            try makeIndexes(type, core)
        }
        for type in layout.types {
            guard let entities = pending.entities[type.name], !whole.contains(type) else { continue }
            try TableWriting(type, core, to: connection, in: settings.schema).write(entities)
        }
    }

    /// Allows more time, because copying takes longer than a batch. Ends with the server's transaction.
    private func allowTime() throws {
        let time = settings.options.copyTimeout
        connection.timeout = time
        try connection.execute("SET LOCAL statement_timeout = \(time.components.seconds * 1000)")
    }

    private func makeIndexes(_ type: TypeLayout, _ core: StoreTransaction) throws {
        let description = try core.schema.type(type.name).description
        let indexes = TableIndexes(type, description, settings.options.indexes, in: settings.schema)
        for statement in indexes.statements { try connection.execute(statement) }
    }

    private func compare(
        limit: Int, _ layout: MirrorLayout, _ core: StoreTransaction
    ) throws -> [MirrorDifference] {
        try allowTime()
        var progress = PostgresMirror.Progress(done: 0, total: 0)
        for type in layout.types { progress.total += try core.store(type.name).count() }
        var found: [MirrorDifference] = []
        for type in layout.types {
            let tables = try TableWriting(type, core, to: connection, in: settings.schema)
            found += try tables.differences(limit: limit) { count in
                progress.done += count
                self.report(progress)
            }
        }
        return found
    }
}
