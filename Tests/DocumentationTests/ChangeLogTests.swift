// SPDX-License-Identifier: Apache-2.0
// The code of Docs/observation.md on the change log, and a consumer as the guide “Observing changes” shows it.

import Hornbeam
import Testing

@EntityModel
struct Invoice {
    let id: Int
    var price: Int
}

@EntityModel
struct InvoiceTotal {
    let id: Int
    var count: Int
}

private func totals(of batch: ChangeBatch, in context: Context) throws -> InvoiceTotal {
    let former: InvoiceTotal? = try context.find(1)
    return InvoiceTotal(id: 1, count: (former?.count ?? 0) + batch.changes.count { $0.kind == .inserted })
}

@Suite("The guide “The change log”")
struct ChangeLogTests {
    private func database() throws -> Database { try Database.inMemory(models: Invoice.self, InvoiceTotal.self) }

    @Test("An upload")
    func upload() throws {
        let database = try database()
        let upload = try database.consumer(named: "upload", of: Invoice.self)
        try database.write { context in
            for id in 1...3 { try Invoice(id: id, price: id).save(to: &context) }
        }
        var sent: [String] = []
        func send(_ id: Int, _ kind: ChangeKind) throws { sent.append("\(kind) \(id)") }
        while case .batch(let batch) = try upload.next(limit: 50) {
            for change in batch.changes {
                guard let id = change.id(of: Invoice.self) else { continue }
                try send(id, change.kind)
            }
            try upload.acknowledge(batch)
        }
        #expect(sent == ["inserted 1", "inserted 2", "inserted 3"])
        try database.write { context in try Invoice(id: 4, price: 4).save(to: &context) }
        guard case .batch(let batch) = try upload.next() else { throw HornbeamError(.invalid, "no batch") }
        try database.write { context in
            try totals(of: batch, in: context).save(to: &context)
            try upload.acknowledge(batch, in: &context)
        }
        let count = try database.read { context in try InvoiceTotal.query(1).resolve(in: context)?.count }
        #expect(count == 1)
        try database.unregisterConsumer(named: "upload")
        #expect(try database.changeConsumers() == [])
    }

    @Test("A note is kept with the consumer's position")
    func note() throws {
        let database = try database()
        let upload = try database.consumer(named: "upload", of: Invoice.self)
        try database.write { context in try Invoice(id: 1, price: 5).save(to: &context) }
        let receipt = Array("r-17".utf8)
        guard case .batch(let batch) = try upload.next() else {
            Issue.record("nothing is told")
            return
        }
        try database.write { context in
            try upload.acknowledge(batch, in: &context)
            try upload.setNote(receipt, in: &context)
        }
        #expect(try database.read { try upload.note(in: $0) } == receipt)
    }

    @Test("Acknowledged changes are removed")
    func bound() throws {
        let database = try database()
        let mirror = try database.consumer(named: "mirror", of: Invoice.self, retention: 1000)
        try database.write { context in
            for id in 1...1500 { try Invoice(id: id, price: id).save(to: &context) }
        }
        var missed: UInt64 = 0
        switch try mirror.next() {
        case .batch(let batch): try mirror.acknowledge(batch)
        case .gap(_, let last):
            missed = last
            try mirror.acknowledge(through: last)
        case .none: break
        }
        #expect(missed == 500)
        #expect(try database.changeConsumers().map(\.pending) == [1000])
    }
}
