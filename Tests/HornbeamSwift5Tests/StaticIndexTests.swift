// SPDX-License-Identifier: Apache-2.0
// Index properties as statics, as the model's README writes them. Only Swift 5 mode compiles this, so only this
// target is built in that mode.

import Hornbeam
import Testing

@EntityModel
struct LegacyUser {
    @Index<Self>(\.age) private static var ageIndex
    @Index<Self>(\.lastName, \.firstName) private static var nameIndex
    @Unique<Self>(\.email, collisions: .throw) private static var uniqueEmail
    @FullTextIndex<Self>(\.about) private static var search

    let id: String
    let firstName: String
    let lastName: String
    let age: Int
    var email: String
    var about = ""
}

@Suite("Index properties as statics")
struct StaticIndexTests {
    @Test("they work like index properties of the instance")
    func staticIndexes() throws {
        var context = Context()
        for number in 1...20 {
            let user = LegacyUser(
                id: "\(number)", firstName: "f\(number)", lastName: "l\(number % 3)", age: number, email: "\(number)@x",
                about: "about \(number)")
            try user.save(to: &context)
        }
        let plan = try LegacyUser.filter(\.age > 19, in: context).explain(in: context)
        #expect(plan.access == .index(name: "ageIndex", ranges: 1, entries: 1, reversed: false))
        #expect(try LegacyUser.filter(.string(\.about, matches: "17"), in: context).resolve().map(\.id) == ["17"])
        let sorted = try LegacyUser.query(in: context).sorted(by: \.lastName, \.firstName).resolve()
        #expect(sorted.first?.lastName == "l0")
        let taken = LegacyUser(id: "x", firstName: "", lastName: "", age: 0, email: "3@x")
        #expect(throws: HornbeamError.self) { try taken.save(to: &context) }
    }
}
