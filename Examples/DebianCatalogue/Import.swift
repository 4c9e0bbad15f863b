// SPDX-License-Identifier: Apache-2.0
// Imports the data set into a store: small types in one transaction, packages in batches of one transaction each.

import Hornbeam

/// Number of packages in one transaction.
let batchSize = 4_000

/// Saves the whole catalogue; packages are marked with `edition`. Calls `committed` after each durable batch, with
/// the number of durable packages.
func importCatalogue(
    _ files: CatalogueFiles, into database: Database, edition: Int, committed: (Int) throws -> Void
) throws {
    let sectionNames = Dictionary(uniqueKeysWithValues: files.sections.map { ($0.id, $0.name) })
    try database.write { context in
        for record in files.sections {
            try Section(id: record.id, name: record.name).save(to: &context)
        }
        for record in files.maintainers {
            try Maintainer(id: record.id, name: record.name, email: record.email).save(to: &context)
        }
        for record in files.tags {
            try Tag(id: record.id, facet: record.facet, name: record.name).save(to: &context)
        }
    }
    for start in stride(from: 0, to: files.packages.count, by: batchSize) {
        let end = min(start + batchSize, files.packages.count)
        try database.write { context in
            for record in files.packages[start..<end] {
                try package(record, files, sectionNames, edition).save(to: &context)
            }
        }
        try committed(end)
    }
}

private func package(
    _ record: PackageRecord, _ files: CatalogueFiles, _ sectionNames: [Int: String], _ edition: Int
) -> Package {
    Package(
        id: record.id, name: record.name, version: record.version,
        sectionName: sectionNames[record.section] ?? "", priority: record.priority,
        installedSize: record.installed_size, size: record.size, homepage: record.homepage,
        summary: record.short, details: record.long, edition: edition,
        section: .id(record.section), maintainer: .id(record.maintainer), tags: .ids(record.tags),
        dependencies: .ids(files.dependencies[record.id] ?? []))
}
