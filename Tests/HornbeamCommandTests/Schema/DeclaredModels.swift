// SPDX-License-Identifier: Apache-2.0
// What `hornbeam schema --swift` prints of a store that these types have made: `SchemaSwiftTests` compares it.

import Foundation
import Hornbeam

@EntityModel
struct Gallery {
    @Unique<Self>(\.name, nilsDistinct: false, collation: .unicode(locale: "sv")) private var byName

    let id: UUID
    var name: String?
    var isOpen: Bool
    // JSON: a Codable type of the program's.
    var address: Address
    var rooms: [Int8]
    var notes: [String?]?

    @Relationship(deleteRule: .cascade) var paintings: [Painting]?
    @Relationship() var founder: Painter?
}

@EntityModel
struct Painter {
    @HashIndex<Self>(\.link) private var byLink
    @Index<Self>(\.born.desc, \.name, collation: .caseInsensitive) private var byBirth

    let id: Int
    var name: String
    var born: Date
    var link: URL
    var fortune: Decimal?
    var weight: Float

    @Relationship(deleteRule: .deny, inverse: \.painter) var paintings: [Painting]?
}

@EntityModel
struct Painting {
    @Index<Self>(\.$painter.id, \.`default`.desc) private var byPainter
    @Index<Self>(.updatedAt) private var byUpdate
    @FullTextIndex<Self>(\.title, analyzer: .unicode(stemming: .english), positions: false) private var search
    @FullTextIndex<Self>(\.title, analyzer: .trigrams) private var parts
    @FullTextIndex<Self>(\.title) private var words

    let id: String
    var title: String
    var `default`: UInt
    var image: Data?
    var width: Double

    @Relationship(.required, inverse: \.paintings) var painter: Painter?
}
