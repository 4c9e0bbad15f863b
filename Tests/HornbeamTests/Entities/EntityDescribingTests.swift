// SPDX-License-Identifier: Apache-2.0
// The output of `print` and `dump` for entities: properties and relations as declared, without the wrappers.

import Hornbeam
import Testing

@EntityModel
private struct Plant: Equatable {
    @Index<Self>(\.name) private var byName
    @Unique<Self>(\.code, collisions: .replace) private var byCode
    let id: Int
    var name: String
    var code: Int?
    @Relationship() var parent: Plant?
    @Relationship() var others: [Plant]?
}

@EntityModel
private struct Told: CustomReflectable {
    let id: Int
    var customMirror: Mirror { Mirror(self, children: ["told": id], displayStyle: .struct) }
}

@Suite("Descriptions of entities")
struct EntityDescribingTests {
    private func described(
        _ parent: Relationship<Plant, Plant, Relations.OneWay, Relations.ToOne<Plant>, Relations.Optional>
    ) -> String {
        "\(Plant(id: 1, name: "a", parent: parent).$parent)"
    }

    private func described(
        _ others: Relationship<[Plant], Plant, Relations.OneWay, Relations.ToMany<Plant>, Relations.Required>
    ) -> String {
        "\(Plant(id: 1, name: "a", others: others).$others)"
    }

    @Test("of a relation show its content")
    func relations() {
        let other = Plant(id: 2, name: "b")
        let text = "Plant(id: 2, name: \"b\", code: nil, parent: none, others: none)"
        #expect(described(.none as Relationship<Plant, _, _, _, _>) == "none")
        #expect(described(.null) == "null")
        #expect(described(.id(2)) == "id(2)")
        #expect(described(.relation(other)) == text)
        #expect(described(.fragment(other)) == "fragment \(text)")
        #expect(described(.ids([])) == "[]")
        #expect(described(.ids([1, 2])) == "[1, 2]")
        #expect(described(.appending(ids: [1, 2])) == "appending [1, 2]")
        #expect(described(.relation([other])) == "[\(text)]")
        #expect(described(.appending(fragment: [other])) == "appending fragment [\(text)]")
        #expect("\(Message(id: "m", text: "", author: .id("1")).$author)" == #"id("1")"#)
    }

    @Test("of an entity have its properties and relations, and nothing of its indexes")
    func entities() {
        let plant = Plant(id: 1, name: "a", code: 3, parent: .id(2), others: .ids([3]))
        let text = "Plant(id: 1, name: \"a\", code: Optional(3), parent: id(2), others: [3])"
        #expect("\(plant)" == text)
        #expect(String(reflecting: plant).hasSuffix(text))
        #expect(Mirror(reflecting: plant).children.map(\.label) == ["id", "name", "code", "parent", "others"])
        var dumped = ""
        dump(plant, to: &dumped)
        let lines = dumped.split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } }
        #expect(
            lines.dropFirst() == [
                "- id: 1", "- name: \"a\"", "▿ code: Optional(3)", "- some: 3", "- parent: id(2)", "- others: [3]",
            ])
    }

    @Test("of a deleted entity show the entity; a type may have a description of its own")
    func others() {
        let told = "\(Deleted(Plant(id: 1, name: "a")))"
        #expect(
            told.contains("(entity: ")
                && told.hasSuffix("Plant(id: 1, name: \"a\", code: nil, parent: none, others: none))"))
        #expect("\(Told(id: 4))" == "Told(told: 4)")
    }
}
