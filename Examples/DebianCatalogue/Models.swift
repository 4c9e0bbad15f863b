// SPDX-License-Identifier: Apache-2.0
// The Debian package catalogue as entities: all declarations of a program that embeds Hornbeam.

import Hornbeam

@EntityModel
struct Package {
    @Index<Self>(\.installedSize) private var bySize
    @Index<Self>(\.sectionName, \.installedSize) private var bySection
    @Unique<Self>(\.name, \.version, collisions: .throw) private var byName
    // The analyzer `words`, so that the demo can check each rank in a few lines (`NaiveRanking`).
    @FullTextIndex<Self>(\.summary, \.details, analyzer: .words) private var text

    let id: Int
    var name: String
    var version: String
    var sectionName: String
    var priority: String
    /// In KiB.
    var installedSize: Int
    /// Size of the package file, in bytes.
    var size: Int
    var homepage: String?
    var summary: String
    var details: String
    /// The number of the import that wrote this entity last.
    var edition: Int

    @Relationship(.required, inverse: \.packages) var section: Section?
    @Relationship(.required, inverse: \.packages) var maintainer: Maintainer?
    @Relationship(inverse: \.packages) var tags: [Tag]?
    @Relationship(inverse: \.dependents) var dependencies: [Package]?
    @Relationship(inverse: \.dependencies) var dependents: [Package]?
}

@EntityModel
struct Section {
    @Unique<Self>(\.name, collisions: .throw) private var byName

    let id: Int
    var name: String

    @Relationship(inverse: \.section) var packages: [Package]?
}

@EntityModel
struct Maintainer {
    @Index<Self>(\.name) private var byName

    let id: Int
    var name: String
    var email: String

    @Relationship(inverse: \.maintainer) var packages: [Package]?
}

@EntityModel
struct Tag {
    let id: Int
    var facet: String
    var name: String

    @Relationship(inverse: \.tags) var packages: [Package]?
}

/// Opens the catalogue's store, and creates it if it doesn't exist.
func openCatalogue(at path: String) throws -> Database {
    try Database(at: path, models: Package.self, Section.self, Maintainer.self, Tag.self)
}
