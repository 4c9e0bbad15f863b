// SPDX-License-Identifier: Apache-2.0
// Types as Swift: what is printed compiles, and declares the types that the store has.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Testing

@testable import HornbeamCommand

/// The type of a JSON column, which a file doesn't know.
struct Address: Codable, Hashable, Sendable {
    var street: String
}

@Suite("Entity types as Swift")
struct SchemaSwiftTests {
    @Test("a store's types are printed as the program has declared them")
    func roundTrip() throws {
        let folder = try TemporaryFolder()
        let file = folder.path("models.hornbeam")
        try Database(at: file, models: Gallery.self, Painter.self, Painting.self).close()
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("DeclaredModels.swift")
        let text = try String(contentsOf: source, encoding: .utf8)
        let declared = try #require(text.firstRange(of: "import Foundation"))
        let run = try CommandRun("schema", file, "--swift")
        #expect(run.code == 0 && run.output == text[declared.lowerBound...])
        let one = try CommandRun("schema", file, "Painter", "--swift")
        #expect(one.output.hasPrefix("import Foundation\nimport Hornbeam\n\n@EntityModel\nstruct Painter {\n"))
        #expect(!one.output.contains("Gallery {"))
    }

    @Test("what Swift alone can say is a comment, and names that are no words are in backquotes")
    func unknown() {
        let type = EntityDescription(
            name: "Odd Thing", columns: [.init(name: "id", type: .int64), .init(name: "in", type: .string)],
            indexes: [
                .init(name: "x", kind: .text, components: [.init(column: "in")], analyzer: "custom:mine"),
                .init(
                    name: "y", kind: .value,
                    components: [.init(column: ColumnDescription.linkedIDName(of: "evil(); `a"))]),
            ],
            relations: [.init(name: "self", target: "Odd Thing", toMany: false)])
        #expect(
            SchemaSwift.text([type]) == """
                import Hornbeam

                @EntityModel
                struct `Odd Thing` {
                    @FullTextIndex<Self>(\\.`in`, analyzer: /* the program's own: custom:mine */ .unicode) private var x
                    @Index<Self>(\\.`$evil(); a`.id) private var y

                    let id: Int
                    var `in`: String

                    @Relationship() var `self`: `Odd Thing`?
                }

                """)
    }

    @Test("an unknown type is an error with the nearest name")
    func misspelt() throws {
        let library = try Library()
        defer { library.folder.keep() }
        let run = try CommandRun("schema", library.file, "Bok")
        #expect(run.code == 1 && run.errors == "hornbeam: there is no entity type “Bok”; did you mean Book?\n")
        #expect(try CommandRun("schema", library.file, "--json", "--swift").code == 2)
    }
}
