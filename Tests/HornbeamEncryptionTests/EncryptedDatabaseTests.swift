// SPDX-License-Identifier: Apache-2.0
// Encrypted databases as a program uses them.

import FoundationEssentials
import HornbeamEncryption
import HornbeamTestSupport
import Testing

@EntityModel
private struct Shelf {
    let id: Int
    var name: String
    @Relationship(inverse: \.shelf) var books: [Volume]?
}

@EntityModel
private struct Volume {
    let id: Int
    var title: String
    var text: String
    var pages: Int
    @Relationship(inverse: \.books) var shelf: Shelf?
    @Index<Self>(\.pages) private var byPages
    @FullTextIndex<Self>(\.title, \.text) private var search
}

@Suite("An encrypted database")
struct EncryptedDatabaseTests {
    private let key = [UInt8](0..<32)
    private let models: [any EntityModelProtocol.Type] = [Shelf.self, Volume.self]

    private func open(_ path: String, _ encryption: Encryption?, isReadOnly: Bool = false) throws -> Database {
        var options = Database.Options()
        options.encryption = encryption
        options.isReadOnly = isReadOnly
        return try Database(at: path, models: models, options: options)
    }

    private func fill(_ database: Database) throws {
        try database.write { context in
            for number in 1...200 {
                let volume = Volume(
                    id: number, title: "Clandestine tome \(number)",
                    text: number % 10 == 0 ? String(repeating: "whispered archive \(number) ", count: 400) : "brief",
                    pages: number % 17, shelf: .relation(Shelf(id: number % 5, name: "Cellar \(number % 5)")))
                try volume.save(to: &context)
            }
        }
    }

    private func answers(_ database: Database) throws -> [String] {
        try database.read { context in
            let thick = try Volume.filter(\.pages > 12).sorted(by: \.id).resolve(in: context).map(\.title)
            let found = try Volume.filter(.string(\.title, \.text, matches: "archive")).ranked(in: context).map {
                "\($0.id) \($0.score)"
            }
            let shelves = try Shelf.query().with(\.$books).sorted(by: \.id).resolve(in: context).map {
                "\($0.name) \($0.books?.count ?? 0)"
            }
            return thick + found + shelves
        }
    }

    @Test("answers as another one does: queries, ranked texts, relations, after reopening too")
    func answersAlike() throws {
        let folder = try TemporaryFolder()
        let plain = try open(folder.path("plain"), nil)
        let secret = try open(folder.path("secret"), .key(key))
        for database in [plain, secret] { try fill(database) }
        let expected = try answers(plain)
        #expect(expected.count > 60)
        #expect(try answers(secret) == expected)
        try secret.close()
        let again = try open(folder.path("secret"), .key(key))
        #expect(try answers(again) == expected)
        #expect(try again.check { Issue.record("\($0)") })
        try again.close()
        let file = try Data(contentsOf: URL(filePath: folder.path("secret")))
        for word in ["Clandestine", "whispered", "Cellar", "Volume", "byPages"] {
            #expect(file.firstRange(of: Data(word.utf8)) == nil, "\(word)")
        }
    }

    @Test("refuses a missing, a wrong and an unneeded key, each by its code")
    func codes() throws {
        let folder = try TemporaryFolder()
        try open(folder.path("secret"), .key(key)).close()
        try open(folder.path("plain"), nil).close()
        for (path, encryption, code) in [
            ("secret", nil, HornbeamError.Code.keyNeeded), ("secret", .key([UInt8](1..<33)), .wrongKey),
            ("secret", .passphrase("guess", logCost: 10), .wrongKey), ("plain", .key(key), .notEncrypted),
            ("new", .key([1, 2, 3]), .invalid), ("new", .passphrase(""), .invalid),
        ] as [(String, Encryption?, HornbeamError.Code)] {
            #expect {
                _ = try open(folder.path(path), encryption)
            } throws: {
                ($0 as? HornbeamError)?.code == code
            }
        }
    }

    @Test("is opened by its passphrase, and gets other keys")
    func passphrases() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("secret")
        let database = try open(path, .passphrase("first words", logCost: 10))
        try fill(database)
        let expected = try answers(database)
        try database.addKey(.key(key))
        try database.close()
        for encryption in [Encryption.passphrase("first words"), .key(key)] {
            let again = try open(path, encryption)
            #expect(try answers(again) == expected)
            try again.close()
        }
        let again = try open(path, .key(key))
        try again.rekey(.passphrase("other words", logCost: 10))
        try again.close()
        #expect(throws: HornbeamError.self) { try open(path, .key(key)) }
        try open(path, .passphrase("other words")).close()
        let plain = try open(folder.path("plain"), nil)
        #expect(throws: HornbeamError.self) { try plain.rekey(.key(key)) }
    }

    @Test("is opened read-only with its key, and only so")
    func readers() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("secret")
        let writer = try open(path, .key(key))
        try fill(writer)
        let expected = try answers(writer)
        try writer.close()
        #expect(throws: HornbeamError.self) { try open(path, nil, isReadOnly: true) }
        let reader = try open(path, .key(key), isReadOnly: true)
        #expect(try answers(reader) == expected)
        #expect(throws: HornbeamError.self) { try reader.rekey(.key(key)) }
        try reader.close()
    }

    @Test("is copied into one without encryption, and back, with all that it holds")
    func copies() throws {
        let folder = try TemporaryFolder()
        let secret = try open(folder.path("secret"), .key(key))
        try fill(secret)
        let expected = try answers(secret)
        try secret.backup(to: folder.path("backup"))
        try secret.copy(to: folder.path("plain"), encryption: nil)
        #expect(throws: HornbeamError.self) { try secret.copy(to: folder.path("plain"), encryption: nil) }
        let plain = try open(folder.path("plain"), nil)
        try plain.copy(to: folder.path("again"), encryption: .passphrase("words", logCost: 10))
        let databases = [
            try open(folder.path("backup"), .key(key)), plain, try open(folder.path("again"), .passphrase("words")),
        ]
        for database in databases {
            #expect(try answers(database) == expected)
            #expect(try database.check { Issue.record("\($0)") })
        }
    }

    /// Files that version 0.2.0 has written: with its key, and with a passphrase beside it. `HORNBEAM_STORE_FILES=1`
    /// writes them where there are none, as StoredFileTests of HornbeamTests does.
    @Test("opens if version 0.2.0 has written it, and can be changed", arguments: ["0.2.0", "0.2.0-killed"])
    func stored(name: String) throws {
        let kept = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "StoredFiles/\(name).hornbeam")
        let folder = try TemporaryFolder()
        let path = folder.path("stored")
        let writes = ProcessInfo.processInfo.environment["HORNBEAM_STORE_FILES"] != nil
        if writes, !FileManager.default.fileExists(atPath: kept.path) {
            let database = try open(path, .key(key))
            try database.addKey(.passphrase("words", logCost: 10))
            try fill(database)
            if name.hasSuffix("killed") { try FileManager.default.copyItem(atPath: path, toPath: kept.path) }
            try database.close()
            if !name.hasSuffix("killed") { try FileManager.default.copyItem(atPath: path, toPath: kept.path) }
            try FileManager.default.removeItem(atPath: path)
        }
        let plain = try open(folder.path("plain"), nil)
        try fill(plain)
        let expected = try answers(plain)
        for encryption in [Encryption.key(key), .passphrase("words")] {
            try? FileManager.default.removeItem(atPath: path)
            try FileManager.default.copyItem(atPath: kept.path, toPath: path)
            let database = try open(path, encryption)
            #expect(try answers(database) == expected)
            try database.write { try Volume.delete(id: 200, from: &$0) }
            #expect(try database.check { Issue.record("\($0)") })
            try database.close()
            let again = try open(path, encryption, isReadOnly: true)
            #expect(try again.read { try Volume.query().count(in: $0) } == 199)
            try again.close()
        }
    }
}
