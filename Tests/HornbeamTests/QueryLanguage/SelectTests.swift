// SPDX-License-Identifier: Apache-2.0
// Whole statements over related entities: joins, groups, order, full text, and the plans that answer them.

import Foundation
import Hornbeam
import Testing
@testable import HornbeamEngine

@EntityModel
private struct Novelist {
    @Index<Self>(\.name) private var byName

    let id: Int
    var name: String
    var born: Int?

    @Relationship(inverse: \.author)
    var books: [Novel]?
}

@EntityModel
private struct Novel {
    @FullTextIndex<Self>(\.title, \.text) private var search
    @Index<Self>(\.year) private var byYear

    let id: Int
    var title: String
    var text: String
    var year: Int
    var price: Decimal?
    var tags: [String]
    var added: Date

    @Relationship(inverse: \.books)
    var author: Novelist?
}

@Suite("Statements")
struct SelectTests {
    private func library() throws -> Database {
        let database = try Database.inMemory(models: Novelist.self, Novel.self)
        try database.write { (context) throws in
            let le = Novelist(id: 1, name: "Le Guin", born: 1929)
            let lem = Novelist(id: 2, name: "Lem", born: 1921)
            try Novelist(id: 3, name: "Nobody", born: nil).save(to: &context)
            let start = Date(timeIntervalSinceReferenceDate: 0)
            for (id, title, text, year, price, tags, author) in [
                (1, "The Dispossessed", "a moon and a wall", 1974, "9.50", ["sf", "utopia"], le),
                (2, "The Lathe of Heaven", "dreams that come true", 1971, "8", ["sf"], le),
                (3, "Solaris", "an ocean dreams dreams", 1961, "7.25", ["sf", "ocean"], lem),
                (4, "Fiasco", "a landing", 1986, nil, [], lem),
            ] as [(Int, String, String, Int, String?, [String], Novelist)] {
                var book = Novel(
                    id: id, title: title, text: text, year: year, price: price.flatMap { Decimal(string: $0) },
                    tags: tags, added: start + Double(id) * 86_400)
                book.$author = .relation(author)
                try book.save(to: &context)
            }
            try Novel(id: 5, title: "Beowulf", text: "a dragon", year: 1000, price: nil, tags: ["old"], added: start)
                .save(to: &context)
        }
        return database
    }

    private func json(_ text: String, _ parameters: any ColumnValue...) throws -> [String] {
        let database = try library()
        let statement = try Statement(text)
        return try database.read { try statement.resolve(in: $0, parameters) }.map(\.json)
    }

    @Test("columns, aliases, expressions, and their names")
    func columns() throws {
        #expect(
            try json("SELECT id, b.title AS name, year % 100, META().id AS k FROM Novel b WHERE id = 3")
                == [#"{"id":3,"name":"Solaris","year % 100":61,"k":3}"#])
        #expect(try json("SELECT * FROM Novelist WHERE id = 3") == [#"{"id":3,"name":"Nobody","born":null}"#])
        #expect(try json("SELECT VALUE name FROM Novelist ORDER BY name DESC LIMIT 2") == [#""Nobody""#, #""Lem""#])
        #expect(
            try json("SELECT a.*, b.id AS book FROM Novel b JOIN b.author AS a WHERE b.id = 3")
                == [#"{"id":2,"name":"Lem","born":1921,"book":3}"#])
        #expect(
            try json("SELECT * FROM Novelist a JOIN a.books AS b WHERE b.id = 4").first?.contains(
                #""a.id":2,"name":"Lem""#)
                == true)
    }

    @Test("mixed orders, ties by id, nulls first or as requested, limit and offset")
    func order() throws {
        #expect(try json("SELECT id FROM Novelist ORDER BY born").count == 3)
        #expect(try ids("SELECT id FROM Novelist ORDER BY born") == [3, 2, 1])
        #expect(try ids("SELECT id FROM Novelist ORDER BY born DESC") == [1, 2, 3])
        #expect(try ids("SELECT id FROM Novelist ORDER BY born NULLS LAST") == [2, 1, 3])
        #expect(try ids("SELECT id FROM Novelist ORDER BY born DESC NULLS FIRST") == [3, 1, 2])
        #expect(try ids("SELECT id FROM Novel ORDER BY array_length(tags) DESC, year") == [3, 1, 5, 2, 4])
        #expect(try ids("SELECT id, array_length(tags) AS n FROM Novel ORDER BY n, id DESC") == [4, 5, 2, 3, 1])
        #expect(try ids("SELECT id FROM Novel ORDER BY year LIMIT 2 OFFSET 1") == [3, 2])
        #expect(try ids("SELECT id FROM Novel ORDER BY year + 0 LIMIT ? OFFSET ?", 2, 1) == [3, 2])
        #expect(try ids("SELECT id FROM Novel LIMIT 0").isEmpty)
        for clause in ["LIMIT -1", "LIMIT 'a'", "OFFSET -1", "LIMIT id"] {
            #expect(throws: HornbeamError.self) { try json("SELECT id FROM Novel \(clause)") }
        }
    }

    private func ids(_ text: String, _ parameters: any ColumnValue...) throws -> [Int] {
        let database = try library()
        let statement = try Statement(text)
        return try database.read { (context) throws in
            try statement.resolve(in: context, parameters).map { try $0.value("id", as: Int.self) }
        }
    }

    @Test("joins along relations, inner and outer, and paths through them")
    func relations() throws {
        #expect(
            try json("SELECT a.name, b.title FROM Novelist a JOIN a.books AS b WHERE b.year > 1970 ORDER BY b.year")
                == [
                    #"{"name":"Le Guin","title":"The Lathe of Heaven"}"#,
                    #"{"name":"Le Guin","title":"The Dispossessed"}"#,
                    #"{"name":"Lem","title":"Fiasco"}"#,
                ])
        #expect(
            try json("SELECT a.name, b.id FROM Novelist a LEFT JOIN a.books AS b WHERE a.id = 3")
                == [#"{"name":"Nobody","id":null}"#])
        #expect(try ids("SELECT id FROM Novel WHERE author.name = 'Lem' ORDER BY id") == [3, 4])
        #expect(try ids("SELECT id FROM Novel WHERE author.name IS NULL") == [5])
        #expect(try ids("SELECT id FROM Novel WHERE author.born + 0 = 1929 ORDER BY id") == [1, 2])
        #expect(try ids("SELECT id FROM Novel WHERE author = 1 ORDER BY id") == [1, 2])
        #expect(
            try json("SELECT author, author.name FROM Novel WHERE id > 3") == [
                #"{"author":2,"name":"Lem"}"#, #"{"author":null,"name":null}"#,
            ])
        #expect(
            try json("SELECT books, array_length(books) AS n FROM Novelist")
                == [#"{"books":[1,2],"n":2}"#, #"{"books":[3,4],"n":2}"#, #"{"books":[],"n":0}"#])
        #expect(try ids("SELECT id FROM Novelist WHERE ANY b IN books SATISFIES b.year < 1970 END") == [2])
        #expect(
            try json(
                "SELECT t, COUNT(*) AS n FROM Novelist a UNNEST a.books b UNNEST b.tags t GROUP BY t ORDER BY n, t"
            )
                == [#"{"t":"ocean","n":1}"#, #"{"t":"utopia","n":1}"#, #"{"t":"sf","n":3}"#])
    }

    @Test("joins of types by a condition, inner and outer")
    func types() throws {
        let condition = "ON b.year - a.born > 40 AND b.year - a.born < 46"
        #expect(
            try json("SELECT a.id, b.id AS book FROM Novelist a JOIN Novel b \(condition) ORDER BY a.id, book")
                == [#"{"id":1,"book":1}"#, #"{"id":1,"book":2}"#])
        #expect(
            try json("SELECT a.id, b.id AS book FROM Novelist a LEFT JOIN Novel b \(condition) ORDER BY a.id, book")
                == [#"{"id":1,"book":1}"#, #"{"id":1,"book":2}"#, #"{"id":2,"book":null}"#, #"{"id":3,"book":null}"#])
        #expect(
            try json("SELECT x.id, y.id AS y FROM Novel x JOIN Novel y ON META(y).id = x.id + 1 WHERE y.year < x.year")
                == [#"{"id":1,"y":2}"#, #"{"id":2,"y":3}"#, #"{"id":4,"y":5}"#])
        #expect(try json("SELECT b.id FROM Novelist a JOIN Novel b ON b.author.id = a.id WHERE a.id = 2").count == 2)
    }

    @Test("aggregates, also without rows; groups, HAVING, DISTINCT")
    func groups() throws {
        #expect(
            try json(
                "SELECT COUNT(*) AS n, SUM(year) AS s, AVG(year) AS a, MIN(title) AS l, MAX(price) AS p FROM Novel")
                == [#"{"n":5,"s":8892,"a":1778.4,"l":"Beowulf","p":9.5}"#])
        #expect(
            try json("SELECT COUNT(*) AS n, SUM(year) AS s, AVG(year) AS a, MIN(year) AS m FROM Novel WHERE id > 9")
                == [#"{"n":0,"s":null,"a":null,"m":null}"#])
        #expect(try json("SELECT COUNT(price) AS n FROM Novel") == [#"{"n":3}"#])
        #expect(try json("SELECT year FROM Novel WHERE id > 9 GROUP BY year").isEmpty)
        #expect(
            try json(
                """
                SELECT author.name AS name, COUNT(*) AS n, GROUP_CONCAT(title, '; ') AS titles, ARRAY_AGG(id) AS ids
                FROM Novel GROUP BY author.name HAVING COUNT(*) > 1 ORDER BY n DESC, name
                """)
                == [
                    #"{"name":"Le Guin","n":2,"titles":"The Dispossessed; The Lathe of Heaven","ids":[1,2]}"#,
                    #"{"name":"Lem","n":2,"titles":"Solaris; Fiasco","ids":[3,4]}"#,
                ])
        #expect(
            try json("SELECT idiv(year, 100) AS c, COUNT(*) + 1 AS n FROM Novel GROUP BY c HAVING n > 1 ORDER BY -c")
                == [#"{"c":19,"n":5}"#, #"{"c":10,"n":2}"#])
        #expect(try json("SELECT SUM(price) AS s FROM Novel") == [#"{"s":24.75}"#])
        #expect(
            try json("SELECT DISTINCT author FROM Novel ORDER BY author") == [
                #"{"author":null}"#, #"{"author":1}"#, #"{"author":2}"#,
            ])
        #expect(try json("SELECT DISTINCT array_length(tags) AS n FROM Novel LIMIT 2") == [#"{"n":2}"#, #"{"n":1}"#])
        for wrong in [
            "SELECT title, COUNT(*) FROM Novel", "SELECT id FROM Novel GROUP BY year", "SELECT SUM(title) FROM Novel",
            "SELECT id FROM Novel WHERE COUNT(*) > 1", "SELECT id FROM Novel GROUP BY COUNT(*)",
            "SELECT SUM(*) FROM Novel",
            "SELECT * FROM Novel GROUP BY year", "SELECT year FROM Novel GROUP BY year ORDER BY title",
        ] {
            #expect(throws: HornbeamError.self, "\(wrong)") { try json(wrong) }
        }
    }

    @Test("full text in WHERE, with its rank")
    func match() throws {
        #expect(try ids("SELECT id FROM Novel WHERE MATCH(search, 'dreams') ORDER BY id") == [2, 3])
        #expect(try ids("SELECT id FROM Novel WHERE MATCH(search, 'dreams') ORDER BY RANK() DESC") == [3, 2])
        #expect(try ids("SELECT id FROM Novel WHERE MATCH(search, 'dreams') ORDER BY RANK() DESC LIMIT 1") == [3])
        #expect(
            try ids("SELECT id FROM Novel WHERE MATCH(search, ?) AND year > 1970 ORDER BY RANK() DESC", "dreams") == [2]
        )
        #expect(try ids("SELECT id FROM Novel WHERE MATCH(title, 'the') ORDER BY id") == [1, 2])
        #expect(try ids("SELECT id FROM Novel WHERE NOT MATCH(search, 'dreams OR dragon') ORDER BY id") == [1, 4])
        #expect(try ids("SELECT id FROM Novel WHERE MATCH(search, 'dreams') OR year = 1986 ORDER BY id") == [2, 3, 4])
        #expect(
            try ids("SELECT id FROM Novel WHERE MATCH(search, 'dreams') OR year + 0 = 1986 ORDER BY id") == [2, 3, 4])
        let rows = try json("SELECT id, RANK() AS r FROM Novel WHERE MATCH(search, 'dreams') ORDER BY r")
        #expect(rows.count == 2 && rows[0].hasPrefix(#"{"id":2,"r":0."#), "\(rows)")
        #expect(
            try json("SELECT a.id FROM Novelist a JOIN a.books AS b WHERE MATCH(b.search, 'ocean')") == [#"{"id":2}"#])
        for wrong in [
            "SELECT id FROM Novel WHERE MATCH(serch, 'x')", "SELECT id FROM Novel WHERE MATCH(search, year)",
            "SELECT id FROM Novel WHERE MATCH(title, 'x') ORDER BY RANK()", "SELECT RANK() FROM Novel",
            "SELECT id FROM Novel WHERE MATCH(search, '\"a')",
        ] {
            #expect(throws: HornbeamError.self, "\(wrong)") { try json(wrong) }
        }
    }

    @Test("snippets of MATCH, with the requested number of words, between the given marks")
    func snippets() throws {
        func texts(_ text: String, _ parameters: any ColumnValue...) throws -> [String?] {
            let database = try library()
            let statement = try Statement(text)
            return try database.read { (context) throws in
                try statement.resolve(in: context, parameters).map { try $0.value("s", as: String?.self) }
            }
        }
        #expect(
            try texts("SELECT SNIPPET() AS s FROM Novel WHERE MATCH(search, 'dreams') ORDER BY RANK() DESC")
                == ["an ocean **dreams** **dreams**", "**dreams** that come true"])
        #expect(
            try texts("SELECT SNIPPET(1) AS s FROM Novel WHERE MATCH(search, 'ocean')")
                == ["…**ocean**…"])
        #expect(
            try texts("SELECT SNIPPET(?, '<b>', '</b>', '...') AS s FROM Novel WHERE MATCH(search, 'come')", 1)
                == ["...<b>come</b>..."])
        #expect(try texts("SELECT SNIPPET(1, '_') AS s FROM Novel WHERE MATCH(title, 'lathe')") == ["…_Lathe_…"])
        #expect(try texts("SELECT SNIPPET() AS s FROM Novel WHERE MATCH(search, ?) OR id = 1", String?.none) == [nil])
        // The snippet has the words of the row in any case, even without a match.
        #expect(try texts("SELECT SNIPPET(1) AS s FROM Novel WHERE MATCH(search, 'x') OR id = 4") == ["Fiasco"])
        #expect(
            try texts(
                "SELECT SNIPPET() AS s FROM Novelist a JOIN a.books AS b WHERE MATCH(b.search, 'fiasco')")
                == ["**Fiasco**"])
        for (wrong, place, what) in [
            ("SELECT SNIPPET() FROM Novel", 8, "there is none"),
            ("SELECT SNIPPET(0) FROM Novel WHERE MATCH(search, 'a')", 16, "1 to 1000 words"),
            ("SELECT SNIPPET(1, 2) FROM Novel WHERE MATCH(search, 'a')", 19, "texts"),
            ("SELECT SNIPPET(year) FROM Novel WHERE MATCH(search, 'a')", 16, "the same for all rows"),
            ("SELECT SNIPPET(1, 'a', 'b', 'c', 'd') FROM Novel WHERE MATCH(search, 'a')", 8, "0 to 4 arguments"),
            ("SELECT SNIPPET(), COUNT(*) FROM Novel WHERE MATCH(search, 'a') GROUP BY year", 8, "neither grouped"),
            ("SELECT SNIPPET() FROM Novel WHERE MATCH(search, 'a') OR MATCH(search, 'b')", 8, "there are 2"),
        ] {
            let error = #expect(throws: HornbeamError.self, "\(wrong)") { try texts(wrong) }
            #expect(error?.message.contains(what) == true, "\(wrong): \(String(describing: error))")
            #expect(error?.message.contains("character \(place):") == true, "\(wrong): \(String(describing: error))")
        }
    }

    @Test("conditions for the planner are left to it")
    func explained() throws {
        let database = try library()
        func plan(_ text: String) throws -> String {
            try database.query("EXPLAIN " + text).map { try $0.value("plan", as: String.self) }.joined(separator: "\n")
        }
        #expect(
            try plan("SELECT title FROM Novel WHERE year BETWEEN 1970 AND 1980 ORDER BY year DESC LIMIT 1")
                == """
                Novel: index byYear, one range of 2 entries, backwards
                  limit 1 within the access
                  count known without reading
                """)
        #expect(
            try plan("SELECT id FROM Novel UNNEST tags AS t WHERE t = 'sf'").contains(#"tags contains any of ["sf"]"#))
        #expect(try ids("SELECT id FROM Novel UNNEST tags AS t WHERE t = 'sf' ORDER BY id") == [1, 2, 3])
        #expect(try plan("SELECT id FROM Novel WHERE year + 1 > 1970").contains("test a condition of WHERE"))
        #expect(try plan("SELECT id FROM Novelist WHERE name LIKE 'Le%'").contains(#"name < "Lf""#))
        #expect(
            try plan("SELECT id FROM Novel WHERE author.name = 'Lem'")
                == """
                Novel: join along author from about 1 targets
                  follow Novel.author to Novelist
                """)
        #expect(try plan("SELECT COUNT(*) FROM Novel WHERE year > 1970").contains("count rows by the query"))
        #expect(
            try plan("SELECT id FROM Novel WHERE MATCH(search, 'a') ORDER BY RANK() DESC").contains("ranked search"))
        #expect(
            try plan("SELECT a.id FROM Novelist a JOIN Novel b ON b.year = a.born + 45").contains(
                "for each, query Novel as b"))
    }

    @Test("dates, decimals and the like are compared with texts and numbers of the same value")
    func typed() throws {
        #expect(try ids("SELECT id FROM Novel WHERE added > '2001-01-03' ORDER BY id") == [3, 4])
        #expect(try ids("SELECT id FROM Novel WHERE NOT added <= '2001-01-03' ORDER BY id") == [3, 4])
        #expect(try ids("SELECT id FROM Novel WHERE price = 7.25") == [3])
        #expect(try ids("SELECT id FROM Novel WHERE price IN (8, 9.5) ORDER BY id") == [1, 2])
        #expect(try ids("SELECT id FROM Novel WHERE NOT price > 8 ORDER BY id") == [2, 3])
        #expect(try ids("SELECT id FROM Novel WHERE year = 'x'").isEmpty)
        #expect(try ids("SELECT id FROM Novel WHERE added = ?", Date(timeIntervalSinceReferenceDate: 86_400)) == [1])
        #expect(try ids("SELECT id FROM Novel WHERE 'ocean' IN tags") == [3])
        #expect(try ids("SELECT id FROM Novel WHERE ANY t IN tags SATISFIES t = 'utopia' END") == [1])
    }

    @Test("rows have values by name and position, and are read as types of the program")
    func rows() throws {
        struct Line: Decodable, Equatable {
            var id: Int
            var title: String
            var added: Date
            var price: Double?
        }
        let rows = try library().query("SELECT id, title, added, price FROM Novel WHERE id IN (3, 4)")
        #expect(rows[0].names == ["id", "title", "added", "price"])
        #expect(rows[0]["title"] == .string("Solaris") && rows[0][1] == .string("Solaris"))
        #expect(rows[0]["none"] == nil && rows[0][9] == nil)
        let start = Date(timeIntervalSinceReferenceDate: 0)
        #expect(
            try rows.map { try $0.decode(Line.self) } == [
                Line(id: 3, title: "Solaris", added: start + 3 * 86_400, price: 7.25),
                Line(id: 4, title: "Fiasco", added: start + 4 * 86_400, price: nil),
            ])
        #expect(try rows[1].value("price", as: Decimal?.self) == nil)
        #expect(try rows[0].value("added", as: Date.self) == start + 3 * 86_400)
        #expect(throws: HornbeamError.self) { try rows[0].value("title", as: Int.self) }
        #expect(throws: HornbeamError.self) { try rows[0].value("titel", as: String.self) }
    }

    @Test("a stopped run reads no more rows, and finds writes of the same transaction")
    func streaming() throws {
        let database = try library()
        let statement = try Statement("SELECT id, author.name FROM Novel WHERE tags IS NOT NULL")
        try database.write { (context) throws in
            try Novel(id: 6, title: "New", text: "dreams", year: 2020, price: nil, tags: [], added: Date())
                .save(to: &context)
            var seen = 0
            try statement.forEach(in: context) { _ in
                seen += 1
                return seen < 2
            }
            #expect(seen == 2)
            let found = try Statement("SELECT id FROM Novel WHERE MATCH(search, 'dreams')").resolve(in: context)
            #expect(found.count == 3)
        }
    }

    @Test("names that are ambiguous, unknown or taken are errors")
    func names() throws {
        for (wrong, problem) in [
            ("SELECT id FROM Novelist a JOIN a.books b", "“id” may be a.id or b.id"),
            ("SELECT * FROM Novl", "did you mean Novel?"), ("SELECT titel FROM Novel", "did you mean title?"),
            ("SELECT b.titel FROM Novel b", "did you mean title?"), ("SELECT * FROM _", "“_” stands for the only"),
            ("SELECT id, b.id FROM Novel b", "two columns of the result are called “id”"),
            ("SELECT a.id FROM Novelist a JOIN Novel a ON TRUE", "two sources are called “a”"),
            ("SELECT books.title FROM Novelist", "leads to many"), ("SELECT x.* FROM Novel", "no source is called “x”"),
            ("SELECT id FROM Novel b JOIN b.title AS t", "is no relation"), ("SELECT year.x FROM Novel", "has no “x”"),
        ] {
            let error = #expect(throws: HornbeamError.self, "\(wrong)") { try json(wrong) }
            #expect(error?.message.contains(problem) == true, "\(wrong): \(error?.message ?? "")")
        }
    }
}
