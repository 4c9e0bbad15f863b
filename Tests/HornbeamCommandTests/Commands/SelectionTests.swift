// SPDX-License-Identifier: Apache-2.0
// Names in options against the names of the schema.

import Hornbeam
import Testing

@testable import HornbeamCommand
@testable import HornbeamEngine

@Suite("Names in options")
struct SelectionTests {
    private static let schema = [
        EntityDescription(
            name: "Package",
            columns: [
                ColumnDescription(name: "id", type: .string), ColumnDescription(name: "size", type: .int64),
                ColumnDescription(name: "tags", type: .array(.string)),
            ],
            relations: [
                RelationDescription(name: "maintainer", target: "Person", toMany: false),
                RelationDescription(name: "needs", target: "Package", toMany: true),
            ]),
        EntityDescription(name: "Person", columns: [ColumnDescription(name: "id", type: .int64)]),
    ]
    private let package = Self.schema[0]

    private func problem(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch { return "\(error)" }
    }

    @Test("columns come in the order of the option, or all of them")
    func columns() throws {
        #expect(try Selection.columns(["size", "id"], of: package) == [1, 0])
        #expect(try Selection.columns([], of: package) == [0, 1, 2])
    }

    @Test("a dash sorts downward")
    func sort() throws {
        let order = try Selection.sort(["-size", "id"], of: package)
        #expect(order.map(\.column) == [1, 0] && order.map(\.descending) == [true, false])
    }

    @Test("relations nest by dots and share their prefixes")
    func relations() throws {
        let tree = try RelationTree(["needs.maintainer", "needs.needs", "maintainer"], of: package, in: Self.schema)
        #expect(tree.branches.map(\.relation.name) == ["needs", "maintainer"])
        #expect(tree.branches[0].below.branches.map(\.relation.name) == ["maintainer", "needs"])
        #expect(tree.branches[1].below.isEmpty)
    }

    @Test("unknown names get a hint, or a list of the known names")
    func unknown() {
        #expect(
            problem { _ = try Selection.type("package", in: Self.schema) }
                == "there is no entity type “package”; did you mean Package?")
        #expect(
            problem { _ = try Selection.type("X", in: []) }
                == "the store has no entity types; 'hornbeam schema apply' makes some")
        #expect(
            problem { _ = try Selection.columns(["weight"], of: package) }
                == "Package has no column “weight”; known are id, size, tags")
        #expect(
            problem { _ = try Selection.sort(["-siez"], of: package) }
                == "Package has no column “siez”; did you mean size?")
        #expect(
            problem { _ = try Selection.sort(["tags"], of: package) }
                == "Package.tags is a [string], which has no order")
        #expect(
            problem { _ = try Selection.columns(["maintainer"], of: package) }
                == "Package.maintainer is a relation, no column: --with prints what it leads to")
        #expect(
            problem { _ = try RelationTree(["size"], of: package, in: Self.schema) }
                == "Package.size is a column, no relation: --columns prints it")
        #expect(
            problem { _ = try RelationTree(["needs.maintianer"], of: package, in: Self.schema) }
                == "Package has no relation “maintianer”; did you mean maintainer?")
        #expect(
            problem { _ = try RelationTree(["maintainer.x"], of: package, in: Self.schema) }
                == "Person has no relation “x”; there are none")
    }
}
