// SPDX-License-Identifier: Apache-2.0
// hornbeam sql with statements that change data.

import HornbeamTestSupport
import Testing

@Suite("hornbeam sql that changes data")
struct SQLTests {
    private let library: Library

    init() throws { library = try Library() }

    @Test("a statement is one transaction, prints what it returns, and says how many entities it has changed")
    func changes() throws {
        let update = try CommandRun(
            "sql", library.file, "UPDATE Book SET year = year + ? WHERE author = 2 RETURNING id, year", "--param",
            "100",
            "--json")
        #expect(update.code == 0 && update.errors == "2 entities changed\n", "\(update)")
        #expect(update.output == "{\"id\":\"sol\",\"year\":2061}\n{\"id\":\"cyb\",\"year\":2065}\n", "\(update)")
        let insert = try CommandRun("sql", library.file, "INSERT INTO Author (name) VALUES ('Ada') RETURNING id, name")
        #expect(insert.output.contains("Ada") && insert.errors == "1 entity changed\n", "\(insert)")
        let refused = try CommandRun("sql", library.file, "DELETE FROM Book WHERE yeer = 1")
        #expect(refused.code != 0 && refused.errors.contains("Book has no “yeer”"), "\(refused)")
        #expect(try library.lines("sql", "EXPLAIN DELETE FROM Book WHERE year > 2000").last == "  delete")
        let delete = try CommandRun("sql", library.file, "DELETE FROM Book WHERE year > 2000")
        #expect(delete.output.isEmpty && delete.errors == "2 entities changed\n", "\(delete)")
        #expect(try library.lines("sql", "SELECT COUNT(*) AS n FROM Book", "--json") == [#"{"n":3}"#])
        #expect(try library.lines("check").contains { $0.contains("no problems") })
    }
}
