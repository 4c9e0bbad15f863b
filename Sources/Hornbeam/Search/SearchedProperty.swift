// SPDX-License-Identifier: Apache-2.0
// A property whose words are searched or shown: a text, or an array of texts, each of which is a section of its own.

import HornbeamText

/// A property with text to search: its column if it is stored as text, and the function that reads it from an entity.
struct SearchedProperty<Entity: EntityModelProtocol>: Sendable {
    /// The column, −1 if the property isn't stored as its text.
    let column: Int
    let texts: @Sendable (Entity) -> [String]
    private let keyPath: any PartialKeyPath<Entity> & Sendable

    init<Text: SearchableText>(_ keyPath: KeyPath<Entity, Text>) {
        column = TextProperty<Entity>.column(keyPath) ?? -1
        let keyPath = keyPath.shared
        texts = { $0[keyPath: keyPath].searchedTexts }
        self.keyPath = keyPath
    }

    /// The property's name, for people.
    var label: String { keyPath.label }

    /// A pack of key paths as a list.
    static func list<each Text: SearchableText>(
        _ keyPaths: repeat KeyPath<Entity, each Text>
    ) -> [Self] {
        var properties: [Self] = []
        for keyPath in repeat each keyPaths { properties.append(Self(keyPath)) }
        return properties
    }
}

/// The texts that are searched for matches, each with its property and its index in an array.
struct ShownTexts {
    private(set) var sections: [TextSection] = []
    private(set) var places: [(property: Int, element: Int)] = []

    /// - Parameter field: returns the field of a column, −1 if it isn't searched.
    init<Entity>(_ properties: [SearchedProperty<Entity>], of entity: Entity, field: (_ column: Int) -> Int) {
        for (number, property) in properties.enumerated() {
            for (element, text) in property.texts(entity).enumerated() {
                sections.append(TextSection(field: field(property.column), text: text))
                places.append((number, element))
            }
        }
    }

    /// Returns the matches of a query in each of the texts.
    func highlights(_ matcher: QueryMatcher) -> [ElementHighlight] {
        sections.indices.flatMap { number in
            matcher.highlights(in: sections[number]).map {
                ElementHighlight(element: places[number].element, range: $0)
            }
        }
    }
}
