// SPDX-License-Identifier: Apache-2.0
// Two types with a relation of each form between them, and within one of them.

@testable import Hornbeam
@testable import HornbeamEngine

private func relation(_ name: String, _ target: String, many: Bool, inverse: String? = nil) -> RelationDescription {
    RelationDescription(name: name, target: target, toMany: many, inverse: inverse)
}

let edgeModels: [EntityDescription] = [
    EntityDescription(
        name: "A", columns: [ColumnDescription(name: "id", type: .int64)],
        relations: [
            relation("children", "B", many: true, inverse: "parent"),
            relation("others", "B", many: true, inverse: "as"),
            relation("twin", "B", many: false, inverse: "twin"), relation("seen", "B", many: true),
            relation("last", "B", many: false), relation("friends", "A", many: true, inverse: "friends"),
            relation("spouse", "A", many: false, inverse: "spouse"),
            relation("kids", "A", many: true, inverse: "mother"),
            relation("mother", "A", many: false, inverse: "kids"),
        ]),
    EntityDescription(
        name: "B", columns: [ColumnDescription(name: "id", type: .int64)],
        relations: [
            relation("parent", "A", many: false, inverse: "children"),
            relation("as", "A", many: true, inverse: "others"),
            relation("twin", "A", many: false, inverse: "twin"),
        ]),
]
