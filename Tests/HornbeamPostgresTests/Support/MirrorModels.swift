// SPDX-License-Identifier: Apache-2.0
// Entities with all kinds of columns and relations, and stores restored from their mirrors.

import Foundation
import Hornbeam
import HornbeamPostgres
import HornbeamTestSupport
import PostgresTestSupport

enum Genre: String, Codable, ColumnValue { case fiction, science, verse }

struct Note: Codable, Sendable, Equatable {
    var text: String
    var stars: [Int]
}

@EntityModel
struct Writer {
    let id: Int
    var name: String
    @Relationship(inverse: \.writers) var books: [Book]?
    @Relationship(deleteRule: .cascade, inverse: \.writer) var letters: [Letter]?
    @Relationship() var friend: Writer?
}

@EntityModel
struct Book {
    @Index<Self>(\.title) private var byTitle
    @Unique<Self>(\.isbn) private var byISBN
    @FullTextIndex<Self>(\.title) private var words

    let id: String
    var title: String
    var isbn: UInt64?
    var genre: Genre?
    var published: Date?
    var price: Decimal?
    var note: Note?
    @Relationship(inverse: \.books) var writers: [Writer]?
}

@EntityModel
struct Letter {
    let id: UUID
    var text: String
    @Relationship(inverse: \.letters) var writer: Writer?
}

/// A value of each type of column, and lists of them.
@EntityModel
struct Sample {
    let id: Int
    var flag: Bool = false
    var tiny: Int8 = 0
    var short: Int16 = 0
    var middle: Int32 = 0
    var long: Int64 = 0
    var unsignedTiny: UInt8 = 0
    var unsignedShort: UInt16 = 0
    var unsignedMiddle: UInt32 = 0
    var unsignedLong: UInt64 = 0
    var single: Float = 0
    var double: Double = 0
    var date: Date = Date(timeIntervalSinceReferenceDate: 0)
    var uuid: UUID = UUID(uuidString: "00000000-0000-0000-0000-000000000001") ?? UUID()
    var text: String = ""
    var url: URL?
    var data: Data = Data()
    var decimal: Decimal = 0
    var note: Note?
    var numbers: [Int] = []
    var texts: [String] = []
    var doubles: [Double] = []
    var optionals: [String?] = []
    var nested: [[Int]] = []
    var maybe: Double?
}

func exported(_ database: Database) throws -> [String: [String]] { try exportedEntities(of: database) }

/// Restores a mirror to a store of its own, and returns the store's content.
func restored(from url: String, schema: String = "hornbeam") async throws -> [String: [String]] {
    let folder = try TemporaryFolder()
    defer { folder.keep() }
    let path = folder.path("restored.hornbeam")
    _ = try await Database.restore(to: path, from: url, schema: schema) { _, _ in }
    let database = try Database(at: path, models: [])
    defer { try? database.close() }
    return try exported(database)
}
