// SPDX-License-Identifier: Apache-2.0
// Filter text says what it means, and errors show the place.

import Testing

@testable import Hornbeam
@testable import HornbeamEngine

private let models = [
    EntityDescription(
        name: "Package",
        columns: [
            ColumnDescription(name: "id", type: .int64), ColumnDescription(name: "name", type: .string),
            ColumnDescription(name: "size", type: .int64), ColumnDescription(name: "section", type: .optional(.string)),
            ColumnDescription(name: "at", type: .date),
        ],
        relations: [RelationDescription(name: "maintainer", target: "Person", toMany: false, inverse: "packages")]),
    EntityDescription(
        name: "Person", columns: [ColumnDescription(name: "id", type: .string)],
        relations: [RelationDescription(name: "packages", target: "Package", toMany: true)]),
]

private func store() throws -> CoreStore {
    let store = try CoreStore(models)
    let rows: [[Value]] = [
        [.int(1), .string("libc"), .int(100), .string("libs"), .date(0)],
        [.int(2), .string("curl"), .int(2000), .string("net"), .date(86_400)],
        [.int(3), .string("LibreOffice"), .int(5), .null, .date(172_800)],
    ]
    for row in rows { try store.save("Package", row) }
    let side = try store["Package"].type.relation("maintainer")
    let person = try store["Person"].ensureRowID(of: .string("ann"))
    try store.session.edges.set(side, RowID(rawValue: 2), [person])
    return store
}

private func found(_ text: String, sort: String = "", in store: CoreStore) throws -> [Int64] {
    let type = try store["Package"].type
    let query = EntityQuery(
        type: "Package", filter: try FilterText.filter(text, for: type), sort: try FilterText.sort(sort, for: type))
    return try store.ids(query).map { id in
        guard case .int(let number) = id else { return -1 }
        return number
    }
}

@Suite("Filter text")
struct FilterTextTests {
    @Test(
        "says what it means",
        arguments: [
            ("", [1, 2, 3]), ("section == \"net\" && size > 1000 || name hasPrefix \"lib\"", [1, 2, 3]),
            ("name hasPrefix 'lib' caseSensitive", [1]), ("section == nil", [3]), ("section != \"net\"", [1, 3]),
            ("!(size < 100)", [1, 2]), ("size in [5, 100]", [1, 3]),
            ("size not in [5, 100]", [2]), ("section not in [\"net\"]", [1, 3]), ("section not in [nil]", [1, 2]),
            ("name, section contains \"lib\"", [1, 3]),
            ("name not contains \"lib\"", [2]), ("at >= \"2001-01-02\"", [2, 3]), ("maintainer == \"ann\"", [2]),
            ("maintainer != \"ann\"", [1, 3]), ("name matches \"CURL libc\"", [1, 2]), ("size == -5", []),
            ("(size > 1 && (size < 6))", [3]),
        ] as [(String, [Int64])])
    func meaning(_ text: String, _ expected: [Int64]) throws {
        #expect(try found(text, in: store()) == expected)
    }

    @Test("sorts by several properties, either way")
    func sorting() throws {
        #expect(try found("", sort: "section desc, size", in: store()) == [2, 1, 3])
        #expect(try found("", sort: "size asc", in: store()) == [3, 1, 2])
    }

    @Test(
        "errors show the place",
        arguments: [
            ("sise > 3", "size"), ("size > \"x\"", "character 8"), ("size >", "character 7"),
            ("size > 3 name", "expected &&"),
            ("name contains 3", "character 15"), ("(size > 3", "expected )"), ("name == \"x", "no end"),
            ("size # 3", "unexpected"), ("size contains \"x\"", "no string"),
            ("size == 3.5", "not an int64: it must be a whole number"),
            ("x > 3", "has no property “x”; it has "), ("size = 3", "unexpected “=”: write =="),
            ("size > 1e30", "not an int64: it must be -9223372036854775808 to 9223372036854775807"),
            (String(repeating: "(", count: 500), "100 levels"),
            (String(repeating: "!", count: 500) + "size == 1", "100 levels"),
        ])
    func errors(_ text: String, _ expected: String) throws {
        let type = try store()["Package"].type
        #expect {
            try FilterText.filter(text, for: type)
        } throws: { "\($0)".contains(expected) }
    }
}
