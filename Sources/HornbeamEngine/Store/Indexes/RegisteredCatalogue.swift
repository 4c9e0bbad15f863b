// SPDX-License-Identifier: Apache-2.0
// The file's catalogue of registered indexes. Each has an entry in the tree `schema`, `index:Name` → identity ‖ JSON,
// the tree of its entries, `m:Type:Name`, and the tree of the rows that it has missed, `c:Type:Name`. An index that is
// being built in the background is stored beside its predecessor, under the predecessor's name and one byte more, with
// `r:Type:Name:Number` for its sorted runs.

import FoundationEssentials
package import HornbeamPages
package import HornbeamTree
import Synchronization

/// A registered index as the file has it.
package struct StoredIndex: Sendable, Equatable {
    /// The data of an index besides its name and identity.
    package struct Record: Codable, Sendable, Equatable {
        package var entity: String
        package var kind: String
        package var version: String
        package var settings: [String: String]
        /// A hash of the entity type's columns when the index was built: with other columns, entities are read
        /// differently.
        package var columns: String
        /// Progress of the build, if it is running in the background.
        package var build: Build?
    }

    /// Progress of a background build. The rows as they were at its beginning can be read at any later time: a row is
    /// unchanged, or its first change has noted its former state as missed.
    package struct Build: Codable, Sendable, Equatable {
        /// The number of the write transaction that began it. It distinguishes builds of the same name.
        package var began: UInt64
        /// Number of complete sorted runs.
        package var runs = 0
        /// The last row in these runs.
        package var position: UInt64?
        /// Whether the tree has the entries of all rows, as they were when it began.
        package var isLoaded = false

        package init(began: UInt64, runs: Int = 0, position: UInt64? = nil, isLoaded: Bool = false) {
            self.began = began
            self.runs = runs
            self.position = position
            self.isLoaded = isLoaded
        }

        /// Upper bound of the number of runs, because a damaged file may claim any.
        package static let mostRuns = 1 << 20
    }

    package let name: String
    package let identity: [UInt8]
    package var record: Record

    package init(name: String, identity: [UInt8], record: Record) {
        self.name = name
        self.identity = identity
        self.record = record
    }

    /// The name of an index's build in the catalogue. No index can have this name.
    package static func buildName(of index: String) -> String { index + "\u{1}" }

    /// The name that the program knows it by.
    package var publicName: String { record.build == nil ? name : String(name.dropLast()) }

    var treeName: String { RegisteredCatalogue.treeName(of: name, record.entity) }
    package var missedName: String { RegisteredCatalogue.missedName(of: name, record.entity) }
    /// Names of the trees beside the first one.
    var otherNames: [String] {
        let count = Int(record.settings[IndexTrees.setting] ?? "") ?? 0
        // If the file claims more trees than any index has, there are none.
        guard (1...IndexTrees.mostOthers).contains(count) else { return [] }
        return (1...count).map { "m\($0):\(record.entity):\(name)" }
    }
    package func runName(_ number: Int) -> String { "r:\(record.entity):\(name):\(number)" }
    /// Names of all trees that it may have.
    var allNames: [String] {
        let names = [treeName, missedName, placesName] + otherNames
        // The run after the complete ones may have begun.
        return record.build.map { names + (0...$0.runs).map(runName) } ?? names
    }
}

extension StoredIndex.Record {
    /// The record of the index that was built.
    package var finished: Self {
        var record = self
        record.build = nil
        return record
    }
}

/// A decoded record of the catalogue. It is cached, because decoding takes longer than most queries. It can be used
/// again if the bytes are equal: they mean the same in any state of any file.
final class ReadRecord: Sendable {
    private let bytes: [UInt8]
    let treeName: String
    let missedName: String
    let otherNames: [String]

    init(_ bytes: [UInt8], _ index: StoredIndex) {
        self.bytes = bytes
        treeName = index.treeName
        missedName = index.missedName
        otherNames = index.otherNames
    }

    func isRead(from record: Bytes) -> Bool { bytes.withBytes { $0.order(record) == 0 } }
}

package enum RegisteredCatalogue {
    private static let prefix = Array("index:".utf8)
    private static let identitySize = 16

    package static func treeName(of index: String, _ entity: String) -> String { "m:\(entity):\(index)" }
    static func missedName(of index: String, _ entity: String) -> String { "c:\(entity):\(index)" }

    /// All registered indexes that can be read, in the order of their names.
    package static func read(_ transaction: Transaction) throws -> [StoredIndex] {
        var indexes: [StoredIndex] = []
        try forEachRecord(transaction) { name, value in
            if let index = decoded(name, value) { indexes.append(index) }
        }
        return indexes
    }

    /// The names of indexes whose records can't be read. Such damage affects no other index.
    package static func unreadable(_ transaction: Transaction) throws -> [String] {
        var names: [String] = []
        try forEachRecord(transaction) { name, value in
            if decoded(name, value) == nil { names.append(name.filter { $0 != "\u{1}" }) }
        }
        return names
    }

    private static func forEachRecord(
        _ transaction: Transaction, _ body: (_ name: String, _ value: [UInt8]) throws -> Void
    ) throws {
        guard let tree = try transaction.tree(SchemaTree.name) else { return }
        var cursor = try transaction.cursor(tree)
        var isValid = try cursor.seek(prefix)
        while isValid, cursor.key.starts(with: prefix) {
            try body(String(decoding: cursor.key.dropFirst(prefix.count), as: UTF8.self), Array(cursor.value))
            isValid = try cursor.next()
        }
    }

    package static func read(_ name: String, in transaction: Transaction) throws -> StoredIndex? {
        try record(of: name, in: transaction).map { try decode(name, Array($0)) }
    }

    /// The build of an index, if one has begun and is not done.
    package static func readBuild(of name: String, in transaction: Transaction) throws -> StoredIndex? {
        try read(StoredIndex.buildName(of: name), in: transaction)
    }

    /// The record of the index, if the file has it with this code's entries; nil otherwise. Throws `.corrupt` if the
    /// record can't be read: such an index doesn't follow changes of rows.
    static func held(by registration: IndexRegistration, in transaction: Transaction) throws -> ReadRecord? {
        guard let value = try record(of: registration.name, in: transaction) else { return nil }
        if let known = registration.lastRead.withLock({ $0 }), known.isRead(from: value) { return known }
        guard value.starts(with: registration.identity) else { return nil }
        let bytes = Array(value)
        let record = ReadRecord(bytes, try decode(registration.name, bytes))
        registration.lastRead.withLock { $0 = record }
        return record
    }

    /// The catalogue's record of an index as bytes; nil if there is none.
    package static func record(of name: String, in transaction: Transaction) throws -> Bytes? {
        guard let tree = try transaction.tree(SchemaTree.name) else { return nil }
        return try transaction.get(tree, prefix + Array(name.utf8))
    }

    /// Decodes a record. Throws `.corrupt` if it can't be read.
    private static func decode(_ name: String, _ value: [UInt8]) throws -> StoredIndex {
        if let index = decoded(name, value) { return index }
        throw StorageError.corrupt(
            Corruption(
                tree: SchemaTree.name,
                reason: "the registered index “\(name)” is not readable: drop it with unregister"))
    }

    private static func decoded(_ name: String, _ value: [UInt8]) -> StoredIndex? {
        guard value.count > identitySize,
            let record = try? JSONDecoder().decode(StoredIndex.Record.self, from: Data(value[identitySize...])),
            (record.build != nil) == (name.utf8.last == 1),
            (0...StoredIndex.Build.mostRuns).contains(record.build?.runs ?? 0)
        else { return nil }
        return StoredIndex(name: name, identity: Array(value[..<identitySize]), record: record)
    }

    /// Removes unreadable records of an index and of its build, and trees of its name that belong to no record. Returns
    /// whether there were any.
    @discardableResult
    package static func dropLost(_ name: String, in transaction: Transaction) throws -> Bool {
        guard let catalogue = try transaction.tree(SchemaTree.name) else { return false }
        var isFound = false
        for name in [name, StoredIndex.buildName(of: name)] {
            guard let value = try record(of: name, in: transaction).map({ Array($0) }), decoded(name, value) == nil
            else { continue }
            isFound = true
            _ = try transaction.delete(catalogue, prefix + Array(name.utf8))
        }
        for lost in try lostTrees(transaction) where lost.index == name {
            isFound = true
            _ = try transaction.dropTree(lost.tree)
        }
        return isFound
    }

    /// The trees of registered indexes that belong to no record, each with the name of its index: a damaged file has
    /// lost the record, or it can't be read.
    static func lostTrees(_ transaction: Transaction) throws -> [(tree: String, index: String)] {
        let kept = Set(try read(transaction).flatMap(\.allNames))
        return try transaction.treeNames().compactMap { tree in
            guard !kept.contains(tree), let index = index(ofTree: tree) else { return nil }
            return (tree, index)
        }
    }

    /// The name of the index that a tree belongs to, or is built for; nil if it belongs to none. No name of an entity
    /// type has a colon.
    private static func index(ofTree tree: String) -> String? {
        let parts = tree.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[1].isEmpty else { return nil }
        var name = parts[2]
        switch (parts[0].first, parts[0].dropFirst()) {
        // The other trees have a number after the letter.
        case ("m", let number) where number.allSatisfy { ("0"..."9").contains($0) }: break
        case ("c", ""), ("p", ""): break
        case ("r", ""):
            guard let end = name.lastIndex(of: ":") else { return nil }
            name = name[..<end]
        default: return nil
        }
        return name.isEmpty ? nil : name.filter { $0 != "\u{1}" }
    }

    package static func store(_ index: StoredIndex, in transaction: Transaction) throws {
        guard let tree = try transaction.tree(SchemaTree.name, create: true) else { return }
        try transaction.put(tree, prefix + Array(index.name.utf8), try encode(index))
    }

    /// Encodes a record as the catalogue holds it.
    package static func encode(_ index: StoredIndex) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return index.identity + Array(try encoder.encode(index.record))
    }

    /// Removes an index from the catalogue, and drops its trees.
    package static func drop(_ index: StoredIndex, in transaction: Transaction) throws {
        guard let tree = try transaction.tree(SchemaTree.name) else { return }
        _ = try transaction.delete(tree, prefix + Array(index.name.utf8))
        for name in index.allNames { _ = try transaction.dropTree(name) }
    }

    /// Stores an index that is to be built, and removes any former one of its name. Trees may exist even if the
    /// catalogue has lost their record.
    package static func begin(_ index: StoredIndex, in transaction: Transaction) throws {
        try drop(index, in: transaction)
        for lost in try lostTrees(transaction) where lost.index == index.publicName {
            _ = try transaction.dropTree(lost.tree)
        }
        try store(index, in: transaction)
    }

    /// Removes the build of an index. Returns whether there was one.
    @discardableResult
    package static func dropBuild(of name: String, in transaction: Transaction) throws -> Bool {
        guard let build = try readBuild(of: name, in: transaction) else { return false }
        try drop(build, in: transaction)
        return true
    }

    /// Replaces the index of its name with the finished build.
    package static func finish(_ build: StoredIndex, in transaction: Transaction) throws -> StoredIndex {
        let index = StoredIndex(name: build.publicName, identity: build.identity, record: build.record.finished)
        if let former = try read(index.name, in: transaction) { try drop(former, in: transaction) }
        // Trees that the catalogue has lost.
        try drop(index, in: transaction)
        for (old, new) in zip([build.treeName] + build.otherNames, [index.treeName] + index.otherNames) {
            _ = try transaction.renameTree(old, to: new)
        }
        try drop(build, in: transaction)
        try store(index, in: transaction)
        return index
    }

    /// Gives the indexes of a type the type's new name. If `new` is nil, drops them. Builds are always dropped. The
    /// identities still contain the old name, so the indexes are rebuilt when they are next registered.
    static func rename(_ entity: String, to new: String?, in transaction: Transaction) throws {
        for index in try read(transaction) where index.record.entity == entity || index.group == entity {
            guard let new, index.record.build == nil else {
                try drop(index, in: transaction)
                continue
            }
            var renamed = index
            if index.group == entity { renamed.record.settings[HandKeptKind.groupSetting] = new }
            if index.record.entity == entity {
                renamed.record.entity = new
                for name in [\StoredIndex.treeName, \.missedName, \.placesName] {
                    _ = try transaction.renameTree(index[keyPath: name], to: renamed[keyPath: name])
                }
                for (old, new) in zip(index.otherNames, renamed.otherNames) {
                    _ = try transaction.renameTree(old, to: new)
                }
            }
            try store(renamed, in: transaction)
        }
    }

    /// Gives the indexes of a type an identity that no code has, so that they are rebuilt when they are next
    /// registered. A migration changes rows without updating the indexes, and the noted former rows can't be read any
    /// more. Builds, which depend on such notes, are dropped. Hand-kept indexes, which only contain ids, stay as they
    /// are.
    static func outdate(_ entity: String, in transaction: Transaction) throws {
        for index in try read(transaction) where index.record.entity == entity && index.handKept == nil {
            if index.record.build != nil {
                try drop(index, in: transaction)
                continue
            }
            let unknown = [UInt8](repeating: 0, count: identitySize)
            try store(StoredIndex(name: index.name, identity: unknown, record: index.record), in: transaction)
            _ = try transaction.dropTree(index.missedName)
        }
    }

    /// The value of `StoredIndex.Record.columns` for a type.
    package static func fingerprint(_ type: EntityDescription) -> String {
        let parts = type.columns.map { "\($0.name):\($0.type)" }.sorted()
        return IndexKeyBytes.hashedText(Array(parts.joined(separator: "\n").utf8))
    }
}
