// SPDX-License-Identifier: Apache-2.0
// A file that two versions of a program write in turn; the earlier one lacks properties.

import Foundation
import Testing

@testable import Hornbeam

@EntityModel
private struct Parcel {
    @Index<Self>(\.label) private var byLabel
    let id: String
    var name: String
    var count = 1
    var label = "none"
    var note: String?
}

@Suite("Later models")
struct LaterModelTests {
    private func withFile(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "hornbeam-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appending(path: "parcels.hornbeam").path)
    }

    private func withDatabase(_ path: String, _ body: (Database) throws -> Void) throws {
        let database = try Database(at: path, models: Parcel.self)
        try body(database)
        var problems: [String] = []
        #expect(try database.check { problems.append($0) }, "\(problems)")
        try database.close()
    }

    private func text(_ id: String, _ database: Database) throws -> String? {
        try database.read { context in
            try context.find(id).map { (parcel: Parcel) in
                "\(parcel.name) \(parcel.count) \(parcel.label) \(parcel.note ?? "-")"
            }
        }
    }

    @Test("a version that doesn't know a property leaves its values in entities that it replaces")
    func laterFirst() throws {
        try withFile { path in
            try withDatabase(path) { database throws in
                try database.write { context in
                    try Parcel(id: "a", name: "first", count: 5, label: "red", note: "fragile").save(to: &context)
                    try Parcel(id: "b", name: "first", count: 6, label: "", note: nil).save(to: &context)
                }
            }
            try saveAsEarlierVersion(["a", "b", "c"], name: "second, and longer", at: path)
            try withDatabase(path) { database throws in
                #expect(try text("a", database) == "second, and longer 5 red fragile")
                #expect(try text("b", database) == "second, and longer 6  -")
                // The earlier version made this entity, so it has the defaults.
                #expect(try text("c", database) == "second, and longer 1 none -")
            }
        }
    }

    @Test("a version that doesn't know a property, nor an index, reads the file as it is")
    func readers() throws {
        try withFile { path in
            try withDatabase(path) { database throws in
                try database.write { context in
                    try Parcel(id: "a", name: "first", label: "red").save(to: &context)
                    try Parcel(id: "b", name: "second").save(to: &context)
                }
            }
            #expect(try readAsEarlierVersion(at: path) == ["a": "first", "b": "second"])
            // No record makes a program read the rows again, and the index is complete.
            try withDatabase(path) { database throws in
                let query = Parcel.filter(\.label == "red")
                #expect(try database.read { try query.ids(in: $0) } == ["a"])
            }
        }
    }

    @Test("values also stay if the version without the property made the file")
    func earlierFirst() throws {
        try withFile { path in
            try saveAsEarlierVersion(["a", "b"], name: "first", at: path)
            try withDatabase(path) { database throws in
                #expect(try text("b", database) == "first 1 none -")
                try database.write { context in
                    try Parcel(id: "a", name: "second", count: 9, label: "blue", note: "heavy").save(to: &context)
                }
            }
            try saveAsEarlierVersion(["a", "b", "c"], name: "third", at: path)
            try withDatabase(path) { database throws in
                #expect(try text("a", database) == "third 9 blue heavy")
                #expect(try text("b", database) == "third 1 none -")
                #expect(try text("c", database) == "third 1 none -")
                // Filters read the rows, which the earlier version made without the property.
                #expect(try database.read { try Parcel.filter(\.count == 1).ids(in: $0).sorted() } == ["b", "c"])
                #expect(try database.read { try Parcel.filter(\.label == "none").count(in: $0) } == 2)
            }
        }
    }
}
