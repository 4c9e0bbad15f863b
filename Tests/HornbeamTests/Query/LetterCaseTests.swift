// SPDX-License-Identifier: Apache-2.0
// Every way to compare texts without regard to case gives the same answer, for all forms of a letter.

import Foundation
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Lettered {
    @FullTextIndex<Self>(\.name, analyzer: .unicode(keepsAccents: true)) private var words
    @FullTextIndex<Self>(\.name, analyzer: .trigrams(keepsAccents: true)) private var parts
    @HashIndex<Self>(\.name, collation: .caseInsensitive) private var byName
    let id: Int
    var name: String
}

@Suite("Text without case")
struct LetterCaseTests {
    /// Lists of texts that are equal without regard to case. Texts of different lists aren't equal.
    private static let groups: [[String]] = [
        ["ΣΊΣΥΦΟΣ", "σίσυφος", "Σίσυφοσ", "σι\u{301}συφος"], ["STRASSE", "Straße", "STRAẞE", "ſtraſſe"],
        ["İzmir", "i\u{307}ZMiR", "I\u{307}zmir"], ["izmir", "IZMIR"], ["ızmır"],
        ["ﬁnden", "FINDEN", "ﬁNDEN"], ["Oﬃce", "OFFICE", "oﬀice", "oﬃCE"], ["Café", "CAFE\u{301}", "cafÉ"],
        ["\u{212A}elvin", "KELVIN"], ["\u{212B}ngström", "ÅNGSTRO\u{308}M"], ["ὈΔΎΣΣΕΙΑ", "ὀδύσσεια"],
        ["ᾳδης", "ΑΙΔΗΣ", "ᾼδησ"], ["Ǆep", "ǆEP", "ǅep"], ["ŉdeed", "\u{2BC}NDEED"], ["Եւրոպա", "եւՐՈՊԱ", "ևրոպա"],
        ["Москва", "МОСКВА"], ["ქართული", "ᲥᲐᲠᲗᲣᲚᲘ"], ["hello", "HELLO", "Hello"],
    ]

    private static let texts: [(group: Int, text: String)] = groups.enumerated().flatMap { number, texts in
        texts.map { (number, $0) }
    }

    private func filled() throws -> Database {
        let database = try Database.inMemory(models: Lettered.self)
        try database.write { (context) throws in
            for (id, text) in Self.texts.enumerated() { try Lettered(id: id, name: text.text).save(to: &context) }
        }
        return database
    }

    /// A way to search a text without regard to case.
    private struct Way: Sendable {
        let name: String
        let find: @Sendable (String, Database) throws -> [Int]
    }

    private static func typed(
        _ name: String, _ condition: @escaping @Sendable (String) -> Hornbeam.Predicate<Lettered>
    ) -> Way {
        Way(name: name) { text, database in
            try database.read { (context) throws in try Lettered.filter(condition(text)).ids(in: context).sorted() }
        }
    }

    private static func statement(_ condition: String) -> Way {
        Way(name: condition) { text, database in
            let rows = try database.query("SELECT id FROM Lettered WHERE \(condition)", text)
            return try rows.map { try $0.value("id", as: Int.self) }.sorted()
        }
    }

    /// Every way to search a whole text without regard to case.
    private static let ways: [Way] = [
        typed("contains") { .string(\.name, contains: $0) }, typed("hasPrefix") { .string(\.name, hasPrefix: $0) },
        typed("hasSuffix") { .string(\.name, hasSuffix: $0) },
        typed("not notContaining") { !.string(\.name, notContaining: $0) },
        typed("== .caseInsensitive") { \.name == $0.collated(.caseInsensitive) },
        typed("search") { .string(\.name, matches: .all([.words($0)]), using: "words") },
        typed("phrase of trigrams") { .string(\.name, matches: .phrase($0), using: "parts") },
        statement("name = ? COLLATE FOLDED"), statement("name COLLATE FOLDED IN [?]"),
        statement("FOLD(name) = FOLD(?)"), statement("CONTAINS(FOLD(name), FOLD(?))"),
        statement("STARTS_WITH(FOLD(name), FOLD(?))"), statement("ENDS_WITH(FOLD(name), FOLD(?)) = TRUE"),
    ]

    @Test("Every way of comparing finds the same texts", arguments: ways.indices)
    func allWays(number: Int) throws {
        let way = Self.ways[number]
        let database = try filled()
        for (group, text) in Self.texts {
            let expected = Self.texts.indices.filter { Self.texts[$0].group == group }
            #expect(try way.find(text, database) == expected, "\(way.name): \(text)")
        }
    }

    @Test("Parts are found within the folded form of a letter, in the text's form and in any other")
    func parts() throws {
        let database = try filled()
        let stated = Self.statement("CONTAINS(FOLD(name), FOLD(?))")
        for (part, group) in [("tras", 1), ("RASS", 1), ("aß", 1), ("φος", 0), ("ΦΟΣ", 0), ("fic", 6), ("ffice", 6)] {
            let expected = Self.texts.indices.filter { Self.texts[$0].group == group }
            let typed = Lettered.filter(.string(\.name, contains: part))
            let found = try database.read { (context) throws in
                [try typed.ids(in: context).sorted(), try typed.requiringIndex().ids(in: context).sorted()]
            }
            #expect(found == [expected, expected], "\(part)")
            #expect(try stated.find(part, database) == expected, "\(part)")
        }
    }

    @Test("LOWER only makes lower case, also where the condition is tested on rows")
    func lower() throws {
        let database = try filled()
        func names(_ condition: String) throws -> [String] {
            try database.query("SELECT name FROM Lettered WHERE \(condition) ORDER BY id")
                .map { try $0.value("name", as: String.self) }
        }
        #expect(try names("CONTAINS(LOWER(name), 'strasse')") == ["STRASSE"])
        #expect(try names("CONTAINS(LOWER(name), 'straße')") == ["Straße", "STRAẞE"])
        #expect(try names("STARTS_WITH(LOWER(name), 'stra') AND id >= 0") == ["STRASSE", "Straße", "STRAẞE"])
    }

    @Test("A stored condition without case on an index names the rule of comparison")
    func storedConditions() throws {
        let type = Lettered.entityShape.description
        for letterCase in [StringTest.LetterCase.exact, .folded, .lowered] {
            var test = StringTest(.contains, columns: [1], "ss")
            test.letterCase = letterCase
            let stored = try #require(StoredCondition(.string(test), type))
            let again = try JSONDecoder().decode(StoredCondition.self, from: try JSONEncoder().encode(stored))
            guard case .string(let read) = try again.filter(type) else {
                Issue.record("\(again)")
                continue
            }
            #expect(read == test)
        }
        let former =
            #"{"string":{"_0":{"properties":["name"],"test":"contains","text":"ss","caseSensitive":false,"#
            + #""diacriticSensitive":true,"negated":false}}}"#
        let condition = try JSONDecoder().decode(StoredCondition.self, from: Data(former.utf8))
        guard case .string(let read) = try condition.filter(type) else {
            Issue.record("\(condition)")
            return
        }
        #expect(read.letterCase == .lowered)
    }
}
