// SPDX-License-Identifier: Apache-2.0
// The data set's files: JSON lines, one record a line, as Scripts/make_debian.py writes them.

import Foundation

struct SectionRecord: Decodable {
    let id: Int
    let name: String
}

struct MaintainerRecord: Decodable {
    let id: Int
    let name: String
    let email: String
}

struct TagRecord: Decodable {
    let id: Int
    let facet: String
    let name: String
}

struct PackageRecord: Decodable {
    let id: Int
    let name: String
    let version: String
    let section: Int
    let maintainer: Int
    let priority: String
    let installed_size: Int
    let size: Int
    let homepage: String?
    let tags: [Int]
    let short: String
    let long: String
}

struct RelationRecord: Decodable {
    let from: Int
    let to: Int
    let kind: String
}

/// The whole data set in memory, as its files contain it.
struct CatalogueFiles {
    let sections: [SectionRecord]
    let maintainers: [MaintainerRecord]
    let tags: [TagRecord]
    let packages: [PackageRecord]
    /// Package id → ids of the packages it depends on, in the order of its control file.
    let dependencies: [Int: [Int]]

    init(folder: String) throws {
        sections = try Self.lines(of: "\(folder)/sections.jsonl")
        maintainers = try Self.lines(of: "\(folder)/maintainers.jsonl")
        tags = try Self.lines(of: "\(folder)/tags.jsonl")
        packages = try Self.lines(of: "\(folder)/packages.jsonl")
        var edges: [Int: [Int]] = [:]
        for edge in try Self.lines(of: "\(folder)/relations.jsonl") as [RelationRecord]
        where edge.kind == "depends" || edge.kind == "pre-depends" {
            edges[edge.from, default: []].append(edge.to)
        }
        dependencies = edges
    }

    private static func lines<Record: Decodable>(of path: String) throws -> [Record] {
        let decoder = JSONDecoder()
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        return try data.split(separator: UInt8(ascii: "\n")).map { try decoder.decode(Record.self, from: $0) }
    }
}
