// SPDX-License-Identifier: Apache-2.0
// Words that complete a statement around the cursor; the shell's tests have those at its end.

import Hornbeam
import Testing

@testable import HornbeamCommand

@Suite("Completion of statements")
struct StatementCompletionTests {
    private let completion = StatementCompletion([
        EntityDescription(
            name: "Author", columns: [.init(name: "id", type: .int64), .init(name: "name", type: .string)]),
        EntityDescription(
            name: "Book", columns: [.init(name: "id", type: .int64), .init(name: "title", type: .string)]),
    ])

    @Test("an alias may be declared behind the cursor")
    func behind() {
        #expect(completion.completions(of: "SELECT b.", followedBy: " FROM Book AS b").words == ["id", "title"])
        #expect(completion.completions(of: "SELECT b.").words == ["id", "name", "title"])
    }

    @Test("after INTO and UPDATE stand types")
    func changes() {
        #expect(completion.completions(of: "INSERT INTO ").words == ["Author", "Book"])
        #expect(completion.completions(of: "update bo").words == ["Book"])
    }

    @Test("names are quoted that a statement would read otherwise")
    func spelling() throws {
        #expect(StatementCompletion.spelling("name") == "name" && StatementCompletion.spelling("größe") == "größe")
        for name in ["order", "Set", "a b", "1a", "", "a`b", "naïve-ly", "x.y", "½"] {
            let spelling = StatementCompletion.spelling(name)
            #expect(spelling.first == "`", "\(name)")
            if !name.isEmpty { _ = try Statement("SELECT \(spelling) FROM \(spelling)") }
        }
    }
}
