// SPDX-License-Identifier: Apache-2.0
// Entities and views for the tests of views, and a list as a model of a view.

import Foundation
import HornbeamMapReduce
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import Hornbeam

@EntityModel
struct Mail: Equatable {
    @FullTextIndex<Self>(\.subject) private var search

    let id: Int
    var folder: String?
    var rank: Int
    var subject: String = ""
    var size: Double?
    var isSpam = false
}

/// An entity whose id isn't a row id.
@EntityModel
struct Consignment: Equatable {
    let id: String
    var weight: Int
}

typealias MailView = View<Mail, String>

/// A view by folder, the highest ranks first, then by subject; without spam.
func mailView(_ version: String = "1") -> MailView {
    MailView(
        "inbox", version: version, groupedBy: \.folder, sortedBy: .descending(\.rank), .ascending(\.subject),
        where: { !$0.isSpam })
}

/// The expected view.
struct NaiveView: Equatable {
    var sections: [(group: String, mails: [Mail])] = []

    init(_ mails: some Sequence<Mail>) {
        let seen = mails.filter { !$0.isSpam && $0.folder != nil }
        for group in Set(seen.compactMap(\.folder)).sorted() {
            let members = seen.filter { $0.folder == group }.sorted {
                ($1.rank, $0.subject, $0.id) < ($0.rank, $1.subject, $1.id)
            }
            sections.append((group, members))
        }
    }

    static func == (left: Self, right: Self) -> Bool {
        left.sections.elementsEqual(right.sections) { $0.group == $1.group && $0.mails == $1.mails }
    }
}

/// Random writes of mails, with the mails that they leave.
struct MailWrites {
    struct Undone: Error {}

    var random: SeededGenerator
    var mails: [Int: Mail] = [:]

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    private static let folders = ["a", "b", "ç", "d", nil]

    mutating func mail(_ id: Int) -> Mail {
        Mail(
            id: id, folder: Self.folders[random.below(5)], rank: random.below(4),
            subject: ["red", "red green", "blue", "Ärger", ""][random.below(5)],
            size: random.oneIn(3) ? nil : Double(random.below(5)), isSpam: random.oneIn(6))
    }

    mutating func change(_ context: inout Context, ids: Int = 40) throws {
        let id = random.below(ids)
        switch random.below(10) {
        case 0...4:
            let mail = mail(id)
            mails[id] = mail
            try mail.save(to: &context)
        case 5:
            // A property that no view reads.
            guard var mail = mails[id] else { return }
            mail.size = Double(random.below(1000))
            mails[id] = mail
            try mail.save(to: &context)
        case 6, 7:
            guard var mail = mails[id] else { return }
            mail.rank = random.below(4)
            mails[id] = mail
            try mail.save(to: &context)
        default:
            mails[id] = nil
            _ = try Mail.query(id).delete(from: &context)
        }
    }

    /// Makes a write of some changes, of which some are undone.
    mutating func write(_ database: Database, changes: Int, ids: Int = 40) throws {
        let before = mails
        do {
            var writes = self
            try database.write { context in
                for _ in 0..<changes { try writes.change(&context, ids: ids) }
                if writes.random.oneIn(8) { throw Undone() }
            }
            self = writes
        } catch is Undone {
            mails = before
            _ = random.next()
        }
    }
}

extension Database {
    /// A database on a disk of its own that is read without a mapping, so that the cache counts its pages.
    static func counting(_ models: any EntityModelProtocol.Type...) throws -> Database {
        var options = StoreOptions()
        options.access = .read
        let opening = SchemaOpening(models: try ModelSet(models), migrations: [])
        let disk = try SimulatedDisk()
        return try Database(opening) { () throws(StorageError) in try TreeStore.open(file: disk, options: options) }
    }

    /// Returns the number of pages that `body` reads in a read of its own, counted after its end.
    func pagesRead(_ body: (Context) throws -> Void) throws -> Int {
        let before = store.statistics.cache
        try read(body)
        let after = store.statistics.cache
        return Int(after.hits + after.misses - before.hits - before.misses)
    }

    /// Returns the number of pages that `body` reads when it is repeated.
    func pagesReadAgain(_ body: (Context) throws -> Void) throws -> Int {
        _ = try pagesRead(body)
        return try pagesRead(body)
    }
}
