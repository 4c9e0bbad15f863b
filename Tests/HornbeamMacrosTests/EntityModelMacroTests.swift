// SPDX-License-Identifier: Apache-2.0
// The code that `@EntityModel` writes, word for word, and the declarations that it refuses. HornbeamTests, which uses
// every form, shows that the result compiles and works.

import Testing

@Suite("@EntityModel writes")
struct EntityModelExpansionTests {
    @Test("columns, indexes, relations, coding and merging of an entity with every kind of member")
    func wholeEntity() {
        let expansion = Expansion(
            #"""
            @EntityModel
            public struct Message {
                @Index<Self>(\.room, \.sentAt.desc) private var byRoom
                @Unique<Self>(\.key, collisions: .throw) private var byKey
                @FullTextIndex<Self>(\.text, analyzer: .unicode(stemming: .german), positions: false) private var search
                static let limit = 3
                let kind = "message"
                var room: Int, key: String
                let id: String
                private(set) var text: String = ""
                var note: String?
                var sentAt: Double { didSet { print(oldValue) } }
                var words: Int { text.count }
                lazy var cache = 3
                @Relationship(.required) var author: User?
                @Relationship(deleteRule: .cascade, inverse: \.message) var attachments: [Attachment]?
            }
            """#)
        #expect(expansion.diagnostics == [])
        #expect(expansion.generated == Self.wholeEntityExpanded)
    }

    private static let wholeEntityExpanded = #"""
        extension Message: Hornbeam.EntityModelProtocol {
            public static var entityName: String {
                "Message"
            }

            public static let entityShape = Hornbeam.EntityShape<Self>(
                columns: [
                    .init(.of("id", Hornbeam.ColumnForms.of(\Self.id)), \Self.id),
                    .init(.of("room", Hornbeam.ColumnForms.of(\Self.room)), \Self.room),
                    .init(.of("key", Hornbeam.ColumnForms.of(\Self.key)), \Self.key),
                    .init(.of("text", Hornbeam.ColumnForms.of(\Self.text)), \Self.text),
                    .init(.of("note", Hornbeam.ColumnForms.of(\Self.note)), \Self.note),
                    .init(.of("sentAt", Hornbeam.ColumnForms.of(\Self.sentAt)), \Self.sentAt),
                ],
                indexes: [
                    Hornbeam.DeclaredIndex<Self>.value("byRoom", [.of("room", \Self.room), .of("sentAt", \Self.sentAt, descending: true)]),
                    Hornbeam.DeclaredIndex<Self>.unique("byKey", [.init(column: "key")], collisions: .throw),
                    Hornbeam.DeclaredIndex<Self>.text("search", [.text("text", \Self.text)], analyzer: .unicode(stemming: .german), positions: false),
                ],
                relations: [
                    Hornbeam.DeclaredRelation<Self>.oneWay("author", \Self.$author),
                    Hornbeam.DeclaredRelation<Self>.mutual("attachments", \Self.$attachments, inverse: "message", \.$message, deleteRule: .cascade),
                ],
                shown: [
                    \Self.author,
                    \Self.attachments,
                ]
            )

            public init(row: Hornbeam.RowReader) throws(Hornbeam.HornbeamError) {
                self.id = try Hornbeam.ColumnForms.of(\Self.id).read(row, column: 0)
                self.room = try Hornbeam.ColumnForms.of(\Self.room).read(row, column: 1)
                self.key = try Hornbeam.ColumnForms.of(\Self.key).read(row, column: 2)
                if row.contains(column: 3), let value3 = try Hornbeam.ColumnForms.of(\Self.text).readIfKnown(row, column: 3) {
                    self.text = value3
                }
                self.note = try Hornbeam.ColumnForms.of(\Self.note).read(row, column: 4)
                self.sentAt = try Hornbeam.ColumnForms.of(\Self.sentAt).read(row, column: 5)
            }

            public func write(to row: inout Hornbeam.RowWriter) {
                Hornbeam.ColumnForms.of(\Self.id).write(self.id, to: &row, column: 0)
                Hornbeam.ColumnForms.of(\Self.room).write(self.room, to: &row, column: 1)
                Hornbeam.ColumnForms.of(\Self.key).write(self.key, to: &row, column: 2)
                Hornbeam.ColumnForms.of(\Self.text).write(self.text, to: &row, column: 3)
                Hornbeam.ColumnForms.of(\Self.note).write(self.note, to: &row, column: 4)
                Hornbeam.ColumnForms.of(\Self.sentAt).write(self.sentAt, to: &row, column: 5)
            }

            public mutating func normalize() {
                self.$author = .none
                self.$attachments = .none
            }

            public func saveRelations(with saver: inout Hornbeam.RelationSaver<Self>) throws {
                try saver.save(self.$author, relation: 0)
                try saver.save(self.$attachments, relation: 1)
            }

            public static func setRelation(_ loaded: Hornbeam.LoadedRelation, of entities: inout [[Self]]) {
                switch loaded.number {
                case 0:
                    loaded.put(into: &entities) {
                        $0.$author = $1
                    }
                case 1:
                    loaded.put(into: &entities) {
                        $0.$attachments = $1
                    }
                default:
                    break
                }
            }

            public static var patch: Hornbeam.MergeStrategy<Self> {
                Hornbeam.MergeStrategy<Self>(
                    .patch(\Self.note)
                )
            }
        }
        """#

    @Test("members without access for a type that is not public, and no patch where nothing is optional")
    func smallEntity() {
        let text = Expansion("@EntityModel private struct Tag { var id: Int }").generated
        #expect(
            text == #"""
                extension Tag: Hornbeam.EntityModelProtocol {
                    static var entityName: String {
                        "Tag"
                    }

                    static let entityShape = Hornbeam.EntityShape<Self>(
                        columns: [
                            .init(.of("id", Hornbeam.ColumnForms.of(\Self.id)), \Self.id),
                        ],
                        indexes: [],
                        relations: []
                    )

                    init(row: Hornbeam.RowReader) throws(Hornbeam.HornbeamError) {
                        self.init(
                            _columns: try Hornbeam.ColumnForms.of(\Self.id).read(row, column: 0))
                    }

                    private init(
                        _columns column0: Int
                    ) {
                        self.id = column0
                    }

                    func write(to row: inout Hornbeam.RowWriter) {
                        Hornbeam.ColumnForms.of(\Self.id).write(self.id, to: &row, column: 0)
                    }

                    mutating func normalize() {
                    }

                    func saveRelations(with saver: inout Hornbeam.RelationSaver<Self>) throws {
                    }

                    static func setRelation(_ loaded: Hornbeam.LoadedRelation, of entities: inout [[Self]]) {
                    }

                    static var patch: Hornbeam.MergeStrategy<Self> {
                        .replace
                    }
                }
                """#)
    }

    @Test("the names of the enclosing types in front of a nested type's own")
    func nestedName() {
        let text = Expansion("enum Shop { struct Parts { @EntityModel struct Item { let id: Int } } }").text
        #expect(text.contains("\"Shop.Parts.Item\""))
    }

    @Test("hidden members for a type inside a hidden one, and relations without names of types")
    func hiddenNames() {
        let item = #"@EntityModel public struct Item { let id: Int; @Relationship(inverse: \.item) var all: [Item]? }"#
        for access in ["private", "fileprivate"] {
            let text = Expansion("\(access) enum Shop { struct Parts { \(item) } }").text
            #expect(text.contains("    fileprivate static let entityShape"), "\(access)")
            #expect(text.contains(#"mutual("all", \Self.$all, inverse: "item", \.$item)"#))
        }
        #expect(Expansion("enum Shop { \(item) }").text.contains("public static let entityShape"))
    }

    @Test("a generic type's shape, which it can't store, and a name for each specialisation")
    func genericType() {
        let box = "@EntityModel struct Box<T: Codable & Sendable, let size: Int> { let id: Int; var value: T }"
        let text = Expansion(box).text
        #expect(text.contains("static var entityShape: Hornbeam.EntityShape<Self> {"))
        #expect(text.contains("Hornbeam.GenericEntity.shape {"))
        #expect(text.contains(#""Box<\(Hornbeam.GenericEntity.name(of: T.self)),\(size)>""#))
        let nested = Expansion("enum Shop<Currency> { @EntityModel struct Item { let id: Int } }").text
        #expect(nested.contains(#""Shop<\(Hornbeam.GenericEntity.name(of: Currency.self))>.Item""#))
    }

    @Test("static index properties, which only Swift 5 mode compiles, like those of the instance")
    func staticIndexes() {
        let source =
            #"@EntityModel struct User { @Index<Self>(\.age) private static var byAge; let id: Int; let age: Int }"#
        #expect(Expansion(source).text.contains(#".value("byAge", [.of("age", \Self.age)])"#))
    }

    @Test(
        "indexes over stored metadata, with or without the type's name, and over nothing similar",
        arguments: [
            (".updatedAt", "[.updatedAt()]"), (".updatedAt.desc", "[.updatedAt(descending: true)]"),
            (".updatedAt.asc", "[.updatedAt()]"), (#"\.age.asc"#, #"[.of("age", \Self.age)]"#),
            ("Metadata.updatedAt", "[.updatedAt()]"),
            ("Hornbeam.Metadata.updatedAt.desc", "[.updatedAt(descending: true)]"),
            (#"\.age, .updatedAt"#, #"[.of("age", \Self.age), .updatedAt()]"#), ("other.updatedAt", nil), (".age", nil),
        ])
    func metadataIndexes(_ arguments: String, _ components: String?) {
        let source =
            "@EntityModel struct User { @Index<Self>(\(arguments)) private var byIt; let id: Int; let age: Int }"
        let expansion = Expansion(source)
        #expect(expansion.diagnostics.isEmpty == (components != nil))
        if let components { #expect(expansion.text.contains(#".value("byIt", \#(components))"#)) }
    }

    @Test(
        "indexes over the id of a relation's target, with properties beside it",
        arguments: [
            (#"@Index<Self>(\.$chat.id, \.age.desc)"#, #".value("byIt", [.of("$chat.id", \Self.$chat.id), "#),
            (#"@Index<Self>(\.age, \.$chat.id.desc)"#, #".of("$chat.id", \Self.$chat.id, descending: true)]"#),
            (#"@HashIndex<Self>(\.$chat.id)"#, #".hash("byIt", [.of("$chat.id", \Self.$chat.id)]"#),
            (#"@Unique<Self>(\.$chat.id, \.age)"#, #".unique("byIt", [.of("$chat.id", \Self.$chat.id), .init(column:"#),
        ])
    func relatedIndexes(_ index: String, _ text: String) {
        let source = """
            @EntityModel struct User {
                \(index) private var byIt
                let id: Int
                let age: Int
                @Relationship() var chat: Chat?
            }
            """
        let expansion = Expansion(source)
        #expect(expansion.diagnostics.isEmpty)
        #expect(expansion.text.contains(text), "\(expansion.text)")
    }

    @Test(
        "patches for every spelling of an optional, not for constants, wrapped properties or relations",
        arguments: [
            ("var a: Int?", true), ("var a: Optional<Int>", true), ("var a: Swift.Optional<Int>", true),
            ("private(set) var a: [Int]?", true), ("var a, b: Int?", true), ("let a: Int?", false),
            ("@Clamped var a: Int?", false), ("var a: [Int?]", false), ("@Relationship() var a: User?", false),
        ])
    func patches(_ property: String, isPatched: Bool) {
        let text = Expansion("@EntityModel struct Thing { let id: Int; \(property) }").text
        #expect(text.contains(#".patch(\Self.a)"#) == isPatched)
    }

    @Test("names in back-ticks as they are written, and without the back-ticks in the store")
    func escapedNames() {
        let text = Expansion("@EntityModel struct Thing { let id: Int; var `default`: Bool }").text
        #expect(text.contains(#".init(.of("default", Hornbeam.ColumnForms.of(\Self.`default`)), \Self.`default`)"#))
        #expect(text.contains("self.`default` = column1"))
    }

    @Test("columns are read before any is assigned, unless the compiler has to assign some")
    func reading() {
        let text = Expansion("@EntityModel struct Thing { let id: Int; var a, b: [String?]; private var c: T.U }").text
        #expect(text.contains("_columns column0: Int,"))
        #expect(text.contains("_ column1: [String?],"))
        #expect(text.contains("_ column2: [String?],"))
        #expect(text.contains("_ column3: T.U\n"))
        for other in ["var a = 3", "var a: Int = 3", "@Clamped var a: Int"] {
            let text = Expansion("@EntityModel struct Thing { let id: Int; \(other) }").text
            #expect(!text.contains("_columns"), "\(other)")
            #expect(text.contains(#"ColumnForms.of(\Self.a).read"#), "\(other)")
        }
        // An extension of a nested type doesn't see the names that are declared around that type.
        let nested = Expansion("enum Shop { enum Kind {}; @EntityModel struct Item { let id: Int; var kind: Kind } }")
            .text
        #expect(nested.contains(#"self.kind = try Hornbeam.ColumnForms.of(\Self.kind).read(row, column: 1)"#))
    }
}

@Suite("@EntityModel refuses")
struct EntityModelDiagnosticTests {
    private func diagnostics(_ members: String) -> [String] {
        let expansion = Expansion("@EntityModel struct Thing {\n\(members)\n}")
        // Half an extension would only add errors of its own.
        #expect(expansion.generated.contains("extension Thing") == false)
        return expansion.diagnostics
    }

    @Test("a type that is no struct", arguments: ["class", "enum", "actor"])
    func notAStruct(_ kind: String) {
        let expansion = Expansion("@EntityModel \(kind) Thing { }")
        #expect(expansion.diagnostics == ["1:1 @EntityModel needs a struct: entities are values"])
    }

    @Test("an entity without an id")
    func missingId() {
        #expect(
            diagnostics("var name: String")
                == [
                    "1:21 'Thing' has no 'id': add a property such as 'let id: String' to the struct itself, stored or "
                        + "computed"
                ])
        #expect(
            diagnostics("let id = UUID()") == [
                "1:21 'let id' with a value can't be set when an entity is read: write 'var id = …', give it no "
                    + "value here, or an integer or text literal if the type has one entity"
            ])
        for type in ["Int?", "Optional<Int>", "Int!"] {
            #expect(
                diagnostics("var id: \(type)") == [
                    "1:21 'id' can't be optional: write 'let id: Int', and give each entity one, such as "
                        + "'nextID(in: &context)', which counts up, or 'UUID()'"
                ])
        }
    }

    @Test("a relation that has no type, is not optional, or can't be distinguished from a plain property")
    func relations() {
        #expect(
            diagnostics("let id: Int\n@Relationship(.required) var owner = nil")
                == ["3:30 relation 'owner' needs a written type: 'T?' for to-one, '[T]?' for to-many"])
        #expect(
            diagnostics("let id: Int\n@Relationship(.required) var owner: User")
                == ["3:37 relation 'owner' must be optional, because it may not be loaded: write 'User?'"])
        #expect(
            diagnostics("let id: Int\n@Relationship var owner: User?") == [
                "3:1 a one-way relation needs parentheses or a value: '@Relationship() var owner: User?' "
                    + "or '@Relationship var owner: User? = nil'"
            ])
        #expect(
            diagnostics("let id: Int\n@Relationship(inverse: \\.a.b) var owner: User?")
                == [#"3:24 '\.a.b' is no inverse: write the related type's property, such as '\.messages'"#])
    }

    @Test("an index over anything but stored properties")
    func indexes() {
        #expect(
            diagnostics("let id: Int\n@Index<Self>(\\.size) private var bySize")
                == ["3:14 index 'bySize' names 'size', which is no stored property of this type"])
        #expect(
            diagnostics("let id: Int\nvar size: Int { 3 }\n@Index<Self>(\\.size) private var bySize")
                == ["4:14 'size' is computed: an index is over stored properties"])
        #expect(
            diagnostics("let id: Int\nvar name: String\n@Index<Self>(\\.name.count) private var byLength") == [
                #"4:14 '\.name.count' can't be indexed: an index is over stored properties, each with or without "#
                    + "'.asc' or '.desc'"
            ])
        #expect(
            diagnostics("let id: Int\n@Unique<Self>(collisions: .throw) private var none") == [
                #"3:1 index 'none' has no key path: write the properties it is over, such as '@Index<Self>(\.name)'"#
            ])
        #expect(
            diagnostics("let id: Int\nvar name: String\n@Index(\\.name) private var byName") == [
                "4:1 Swift can't tell the type that the key path begins at: write '@Index<Self>(…)'"
            ])
        let rooted = "@EntityModel struct Thing {\nlet id: Int\n@Index(\\Thing.id) private var byID\n}"
        #expect(Expansion(rooted).diagnostics == [])
    }

    @Test("a condition on an index other than a full-text one", arguments: ["Index", "HashIndex", "Unique"])
    func partialIndexes(_ kind: String) {
        let diagnostics = diagnostics(
            "let id: Int\nvar open = true\nvar name: String\n@\(kind)<Self>(\\.name, where: \\.open) private var byName"
        )
        #expect(
            diagnostics.map { $0.drop { $0 != " " } } == [
                " index 'byName' can't have 'where:', only '@FullTextIndex' can: register "
                    + #"'ValueIndex("byName", …, where: …)' with the database instead"#
            ])
    }

    @Test(
        "an index over a relation other than by the target's id",
        arguments: [
            (#"Index<Self>(\.chat)"#, 14), (#"Index<Self>(\.chat?.id)"#, 14), (#"Index<Self>(\.$chat)"#, 14),
            (#"Index<Self>(\.$chat.count)"#, 14), (#"FullTextIndex<Self>(\.$chat.id)"#, 22),
        ])
    func relatedIndexes(_ index: String, column: Int) {
        #expect(
            diagnostics("let id: Int\n@\(index) private var byChat\n@Relationship() var chat: Chat?") == [
                "3:\(column) an index can be over the id that 'chat' leads to, if it is a to-one relation: write "
                    + #"'\.$chat.id', in '@Index', '@HashIndex' or '@Unique'"#
            ])
    }

    @Test("stored properties that depend on a build setting")
    func conditionalProperties() {
        #expect(
            diagnostics("let id: Int\n#if DEBUG\nvar trace: String\nvar size: Int { 3 }\n#endif") == [
                "4:1 a stored property inside '#if' would change the row format from build to build: "
                    + "move it out of the '#if'"
            ])
    }

    @Test("tuples, and two members of one name")
    func patternsAndDuplicates() {
        #expect(
            diagnostics("let id: Int\nvar (a, b) = (1, 2)")
                == ["3:5 @EntityModel needs one stored property in each declaration: declare each on its own"])
        #expect(diagnostics("let id: Int\nvar a: Int\nvar a: String") == ["1:21 'a' is declared twice"])
    }

    @Test("every mistake of a declaration at once")
    func allAtOnce() {
        let found = diagnostics("var name: String\n@Relationship(.required) var owner: User\n@Index<Self>(\\.x) var i")
        #expect(found.count == 3)
    }
}
