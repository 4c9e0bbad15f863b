// SPDX-License-Identifier: Apache-2.0
// The protocol by which each batch gets to the server exactly once, and the two records that it needs.
//
// 1. The note of the mirror's consumer in the store has the token of the last batch that is done, and the token of the
//    next batch (the intent). The write that acknowledges a batch stores both, durably.
// 2. The server commits a batch together with its token and the number of its last change, if it has the token of the
//    batch before.
// 3. After a crash on either side, or a lost answer, the server's token decides. If it is the intent, the batch has
//    arrived and is acknowledged. If it is the token of the batch before, the batch hasn't arrived, and the changes up
//    to now are sent. Any other token means that store and mirror have diverged.
//
// A copy of the store's file has the same intent. So the server also keeps a digest of the batch, which shows whether
// the batch was this store's.

import FoundationEssentials
import Hornbeam
import HornbeamPages

/// The note of a mirror's consumer.
struct MirrorNote: Equatable {
    /// The identity by which the server knows the mirror.
    let store: UUID
    /// The token of the last acknowledged batch. Nil before the first.
    var done: UUID?
    var intent: UUID

    private static let format: UInt8 = 1
    private static let size = 1 + 3 * 16

    init(store: UUID = UUID(), done: UUID? = nil, intent: UUID = UUID()) {
        self.store = store
        self.done = done
        self.intent = intent
    }

    /// Makes the note for the time after the intent's batch is acknowledged, with a new intent.
    func makeNext() -> MirrorNote { MirrorNote(store: store, done: intent) }

    /// Makes a note with an intent that no copy of the store's file knows of.
    func makeRenewed() -> MirrorNote { MirrorNote(store: store, done: done) }

    private static let none = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    var bytes: [UInt8] {
        var bytes = [Self.format]
        for id in [store, done ?? Self.none, intent] { withUnsafeBytes(of: id.uuid) { bytes.append(contentsOf: $0) } }
        return bytes
    }

    /// Reads a note. Returns nil for an empty one. Throws `.invalid` if the bytes aren't a mirror's note.
    static func read(_ bytes: [UInt8], of name: String) throws(HornbeamError) -> MirrorNote? {
        if bytes.isEmpty { return nil }
        guard bytes.count == size, bytes[0] == format else {
            throw HornbeamError(
                .invalid, "no mirror wrote the note of consumer “\(name)”: give the mirror another name")
        }
        func id(_ place: Int) -> UUID {
            bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(fromByteOffset: 1 + 16 * place, as: uuid_t.self)) }
        }
        let done = id(1)
        return MirrorNote(store: id(0), done: done == none ? nil : done, intent: id(2))
    }
}

/// The row of the table `_mirror`.
struct MirrorRecord: Equatable {
    var store: UUID
    var token: UUID
    /// The number of the store's state that the tables show.
    var version: UInt64
    /// The number of the consumer's last change in that state.
    var sequence: UInt64
    /// The digest of the batch's changes.
    var digest: String
    var layout: MirrorLayout
    /// The store's types with their indexes and relations, for a restored store.
    var description: [EntityDescription]

    private static let format = 1
    static let table = quoted("_mirror")

    /// The names and types of its columns.
    static let columns = [
        ("id", "smallint PRIMARY KEY CHECK (id = 1)"), ("format", "integer"), ("store", "uuid"), ("token", "uuid"),
        ("version", "bigint"), ("sequence", "bigint"), ("digest", "text"), ("updated", "timestamp with time zone"),
        ("layout", "json"), ("description", "json"),
    ]

    static func creation(in schema: String) -> String {
        let columns = columns.map { "\($0.0) \($0.1) NOT NULL" }.joined(separator: ", ")
        return "CREATE TABLE \(schema).\(table) (\(columns))"
    }

    /// Returns the statement that makes this the row, whatever the row was.
    func replacement(in schema: String) throws -> String {
        let values = [
            "1", "\(Self.format)", literal(store.uuidString), literal(token.uuidString), "\(version)", "\(sequence)",
            literal(digest), "now()", literal(try Self.json(layout)), literal(try Self.json(description)),
        ]
        return "DELETE FROM \(schema).\(Self.table); "
            + "INSERT INTO \(schema).\(Self.table) VALUES (\(values.joined(separator: ", ")))"
    }

    /// Returns the statement that replaces the row if its token is `former`. It locks the row: if two sessions try it
    /// at once, the second one waits, and then changes nothing.
    func succession(of former: UUID, in schema: String) -> String {
        "UPDATE \(schema).\(Self.table) SET token = \(literal(token.uuidString)), version = \(version), "
            + "sequence = \(sequence), digest = \(literal(digest)), updated = now() "
            + "WHERE token = \(literal(former.uuidString)) AND store = \(literal(store.uuidString))"
    }

    private static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Whether the schema has such a table.
    static func isThere(_ connection: PostgresConnection, in schema: String) throws -> Bool {
        let name = literal("\(schema).\(table)")
        return try connection.execute("SELECT to_regclass(\(name)) IS NOT NULL").text(0, 0) == "t"
    }

    /// Begins to read the tables in one state. Older snapshots also see the tables as a migration has changed them, so
    /// the mirror's migrations wait for readers that have begun this way.
    static func beginReading(_ connection: PostgresConnection, in schema: String) throws {
        try connection.execute(
            "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; "
                + "LOCK TABLE \(schema).\(table) IN ACCESS SHARE MODE")
    }

    /// Reads the row. Returns nil if there is no such table or row. Throws `.diverged` if it isn't readable.
    static func read(_ connection: PostgresConnection, in schema: String) throws -> Self? {
        guard try isThere(connection, in: schema) else { return nil }
        let columns = "format, store, token, version, sequence, digest, layout, description"
        let result = try connection.execute("SELECT \(columns) FROM \(schema).\(table)")
        guard result.count > 0 else { return nil }
        guard let format = result.text(0, 0), format == String(Self.format) else {
            throw HornbeamError(
                .diverged,
                "the mirror has format \(result.text(0, 0) ?? "none"), this library knows \(Self.format): use the "
                    + "library that made it, or reconcile()")
        }
        func decoded<Value: Decodable>(_ type: Value.Type, _ column: Int) -> Value? {
            result.bytes(0, column).flatMap { try? JSONDecoder().decode(type, from: Data($0)) }
        }
        guard let store = result.text(0, 1).flatMap(UUID.init(uuidString:)),
            let token = result.text(0, 2).flatMap(UUID.init(uuidString:)),
            let version = result.text(0, 3).flatMap({ UInt64($0) }),
            let sequence = result.text(0, 4).flatMap({ UInt64($0) }), let digest = result.text(0, 5),
            let layout = decoded(MirrorLayout.self, 6), let description = decoded([EntityDescription].self, 7),
            layout.types.allSatisfy({ $0.isWhole(description) })
        else {
            throw HornbeamError(.diverged, "the row of \(schema).\(table) was changed by hand: reconcile()")
        }
        return MirrorRecord(
            store: store, token: token, version: version, sequence: sequence, digest: digest, layout: layout,
            description: description)
    }
}

extension TypeLayout {
    /// Whether its parts are parts of a type of the store. If not, the row was changed by hand.
    fileprivate func isWhole(_ descriptions: [EntityDescription]) -> Bool {
        guard let description = descriptions.first(where: { $0.name == name }) else { return false }
        return columns.first?.number == 0
            && columns.allSatisfy { column in
                description.columns.indices.contains(column.number)
                    && description.columns[column.number].name == column.property
            }
            && relations.allSatisfy { relation in description.relations.contains { $0.name == relation.relation } }
    }
}
