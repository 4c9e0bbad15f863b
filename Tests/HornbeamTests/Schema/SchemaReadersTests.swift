// SPDX-License-Identifier: Apache-2.0
// Schema changes beside readers: readers in this process continue in their state, and readers in another process get
// an error that asks them to open the file again.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam
@testable import HornbeamEngine

@EntityModel
private struct Note {
    let id: Int
    var text: String
}

@Suite("Schema changes beside readers")
struct SchemaReadersTests {
    private func note(_ indexes: [IndexDescription]) -> EntityDescription {
        EntityDescription(name: "Note", columns: [column("id", .int64), column("text", .string)], indexes: indexes)
    }

    @Test("while an index is built, reads continue and see the state before")
    func readersGoOn() throws {
        let store = try CoreStore([note([])])
        for number in 0..<5000 { try store.save("Note", [.int(Int64(number)), .string("text \(number)")]) }
        try store.core.commit()
        let write = try store.store.beginWrite()
        var reads = 0
        let index = IndexDescription(name: "byText", kind: .unique, components: [.init(column: "text")])
        _ = try SchemaCatalogue.open(
            [note([index])], in: write,
            progress: { step in
                // During the build: a read begins, runs and ends without waiting for the writer.
                guard step.done < step.total else { return }
                let read = try store.store.beginRead()
                defer { read.abort() }
                let core = StoreTransaction(read, schema: try SchemaCatalogue.load(read))
                #expect(try core.store("Note").count() == 5000)
                #expect(try core.schema.type("Note").description.indexes.isEmpty)
                reads += 1
            })
        try write.commit()
        #expect(reads >= 4)
        let read = try store.store.beginRead()
        defer { read.abort() }
        #expect(try SchemaCatalogue.load(read).type("Note").description.indexes == [index])
    }

    @Test("a reader in another process is refused, not misled, once a writer has changed the schema")
    func otherProcess() throws {
        let disk = try SimulatedDisk()
        let shared = SimulatedProcess.Shared()
        let models = try ModelSet([Note.self])
        // As the models describe it: with the hidden column and the type of deleted entities.
        let described = models.descriptions
        func writing(_ types: [EntityDescription], _ steps: [MigrationStep]) throws {
            let file = try SimulatedProcess(on: disk, shared, options: StoreOptions())
            let store = try TreeStore.open(file: file)
            let transaction = try store.beginWrite()
            let schema = try SchemaCatalogue.open(types, in: transaction, migrations: steps)
            try StoreTransaction(transaction, schema: require(schema)).commit()
            try store.close()
        }
        try writing(described, [])
        var options = StoreOptions()
        options.readOnly = true
        let reader = try Database(SchemaOpening(models: models, isReadOnly: true)) { () throws(StorageError) in
            try TreeStore.follow(try SimulatedProcess(on: disk, shared, options: options), options: options)
        }
        #expect(try reader.read { try Note.query().count(in: $0) } == 0)
        var changed = described
        let place = try #require(changed.firstIndex { $0.name == "Note" })
        changed[place].columns[1].type = .int64
        let conversion = MigrationStep.Conversion(type: "Note", column: changed[place].columns[1], from: .string) { _ in
            .int(5)
        }
        try writing(changed, [.convert(conversion)])
        #expect {
            try reader.read { try Note.query().count(in: $0) }
        } throws: { error in
            guard let error = error as? HornbeamError else { return false }
            return error.code == .schemaMismatch && error.message.contains("open the database anew")
        }
        try reader.close()
    }
}
