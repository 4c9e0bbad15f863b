// SPDX-License-Identifier: Apache-2.0
// An earlier version of a program, in a file of its own because LaterModelTests.swift has a model of the same name.

import Testing

@testable import Hornbeam

@EntityModel
private struct Parcel {
    let id: String
    var name: String
}

/// Opens the file as the earlier version does, and saves entities named by their ids.
func saveAsEarlierVersion(_ ids: [String], name: String, at path: String) throws {
    let database = try Database(at: path, models: Parcel.self)
    try database.write { context in
        for id in ids { try Parcel(id: id, name: name).save(to: &context) }
    }
    try database.close()
}

/// Opens the file read-only as the earlier version does. Returns the ids and names of all entities.
func readAsEarlierVersion(at path: String) throws -> [String: String] {
    var options = Database.Options()
    options.isReadOnly = true
    let database = try Database(at: path, models: Parcel.self, options: options)
    defer { try? database.close() }
    return try database.read { context in
        let parcels = try Parcel.query().resolve(in: context)
        #expect(try Parcel.filter(\.name == "first").count(in: context) == parcels.count { $0.name == "first" })
        return Dictionary(uniqueKeysWithValues: parcels.map { ($0.id, $0.name) })
    }
}
