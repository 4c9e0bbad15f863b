// SPDX-License-Identifier: Apache-2.0
// Encrypted stores: the keys that open them, the data that a thief can see in their files, and files that were
// changed.

import Glibc
import HornbeamCipher
import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamTree

@Suite("An encrypted store")
struct EncryptedStoreTests {
    private static let key = StoreKey(key: [UInt8](0..<32))

    private static func options(_ key: (any StoreEncryption)? = key) -> StoreOptions {
        var options = StoreOptions()
        options.encryption = key
        options.pageSize = 4096
        return options
    }

    /// Returns words that occur only in the store.
    private func word(_ number: Int) -> [UInt8] { Array("secret-\(number * 7919 % 1_000_003)-word".utf8) }

    /// Fills two trees, one of them compressed, with short and long values.
    private func fill(_ store: TreeStore, count: Int) throws {
        let write = try store.beginWrite()
        let trees = [
            try #require(try write.tree("plain-tree-name", create: true)),
            try #require(
                try write.tree("packed-tree-name", create: true, options: TreeOptions(isCompressed: true))),
        ]
        for tree in trees {
            for number in 0..<count {
                let size = number % 50 == 0 ? 150_000 : number % 20 == 0 ? 5000 : 40
                var value: [UInt8] = []
                while value.count < size { value += word(number) }
                try word(number).withBytes { (key) throws(StorageError) in
                    try value.withBytes { (value) throws(StorageError) in try write.put(tree, key, value) }
                }
            }
        }
        try write.commit()
    }

    private func content(_ store: TreeStore) throws -> [[UInt8]] {
        let read = try store.beginRead()
        defer { read.abort() }
        var content: [[UInt8]] = []
        for name in try read.treeNames() {
            let tree = try #require(try read.tree(name))
            var cursor = try read.cursor(tree)
            while try cursor.next() { content.append(Array(cursor.key) + [0] + Array(cursor.value)) }
        }
        return content
    }

    @Test("is opened by its key, and by nothing else")
    func keys() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: Self.options())
        try fill(store, count: 100)
        let content = try content(store)
        #expect(try store.check { Issue.record("\($0)") })
        let killed = try #require(disk.killedImage())
        try store.close()
        let closed = try #require(disk.killedImage())
        for image in [killed, closed] {
            let again = try TreeStore.open(file: try SimulatedDisk(image: image), options: Self.options())
            #expect(try self.content(again) == content)
            #expect(try again.check { Issue.record("\($0)") })
            #expect(throws: StorageError.keyNeeded(path: "simulated disk")) {
                try TreeStore.open(file: try SimulatedDisk(image: image), options: Self.options(nil))
            }
            let other = StoreKey(key: [UInt8](1..<33))
            #expect(throws: StorageError.wrongKey(path: "simulated disk")) {
                try TreeStore.open(file: try SimulatedDisk(image: image), options: Self.options(other))
            }
        }
        let plain = try SimulatedDisk()
        try TreeStore.open(file: plain, options: Self.options(nil)).close()
        let image = try #require(plain.killedImage())
        #expect(throws: StorageError.notEncrypted(path: "simulated disk")) {
            try TreeStore.open(file: try SimulatedDisk(image: image), options: Self.options())
        }
    }

    @Test("shows none of its keys, values and names in the file, at any moment")
    func secrecy() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: Self.options())
        try fill(store, count: 60)
        for _ in 0..<2 {
            let image = try #require(disk.killedImage())
            for number in 0..<60 { #expect(!image.contains(Array(word(number)[0..<10]))) }
            for name in ["plain-tree", "packed-tree"] { #expect(!image.contains(Array(name.utf8))) }
            #expect(!image.contains(Array("secret-".utf8)))
            try store.checkpoint()
        }
        // Proves that the search finds words that are there.
        let plain = try SimulatedDisk()
        let open = try TreeStore.open(file: plain, options: Self.options(nil))
        try fill(open, count: 60)
        #expect(try #require(plain.killedImage()).contains(Array("secret-".utf8)))
    }

    @Test("finds pages that a checkpoint has just written in its cache, and decrypts none of them")
    func written() throws {
        let store = try TreeStore.open(file: try SimulatedDisk(), options: Self.options())
        // Commits that fit in the journal: larger ones are written at once.
        for first in stride(from: 0, to: 2000, by: 200) {
            let write = try store.beginWrite()
            let tree = try #require(try write.tree("t", create: true))
            for number in first..<first + 200 {
                try word(number).withBytes { (key) throws(StorageError) in try write.put(tree, key, key) }
            }
            try write.commit()
        }
        try store.checkpoint()
        let before = store.statistics.cache
        #expect(try content(store).count == 2000)
        #expect(store.statistics.cache.misses == before.misses)
        #expect(store.statistics.cache.hits > before.hits + 10)
    }

    @Test("with any sector changed, moved or put back gives right answers or errors", .seeded)
    func tampering() throws {
        var random = SeededGenerator()
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: Self.options())
        try fill(store, count: 6)
        try store.checkpoint()
        let older = try #require(disk.killedImage())
        // A copy that is used further under the same key.
        let copy = try SimulatedDisk(image: older)
        let otherLife = try TreeStore.open(file: copy, options: Self.options())
        try fill(otherLife, count: 7)
        try otherLife.close()
        let other = try #require(copy.killedImage())
        try fill(store, count: 8)
        let right = try content(store)
        let target = try SimulatedDisk()
        let isWhole = try store.backup(to: target)
        #expect(isWhole)
        let backup = try #require(target.killedImage())
        try store.close()
        let image = try #require(disk.killedImage())
        var refused = 0
        for sector in 0..<image.count / 4096 {
            let range = sector * 4096..<(sector + 1) * 4096
            var replacements = [
                older.count >= range.upperBound ? Array(older[range]) : [],
                other.count >= range.upperBound ? Array(other[range]) : [],
                backup.count >= range.upperBound ? Array(backup[range]) : [],
                (0..<4096).map { _ in UInt8(random.below(256)) },
            ]
            let elsewhere = random.below(image.count / 4096)
            replacements.append(Array(image[elsewhere * 4096..<(elsewhere + 1) * 4096]))
            for bytes in replacements where !bytes.isEmpty && bytes != Array(image[range]) {
                var changed = image
                changed.replaceSubrange(range, with: bytes)
                do {
                    let store = try TreeStore.open(file: try SimulatedDisk(image: changed), options: Self.options())
                    #expect(try content(store) == right, "sector \(sector): a wrong answer in silence")
                } catch let error as StorageError {
                    guard case .corrupt = error else { throw error }
                    refused += 1
                }
            }
        }
        #expect(refused > 20)
    }

    @Test("never uses a nonce twice, across crashes, reopenings, and copies that are used further")
    func nonces() throws {
        let recorder = RecordingEncryption(Self.key)
        var image: [UInt8]?
        for life in 0..<9 {
            let disk = try image.map { try SimulatedDisk(image: $0) } ?? SimulatedDisk()
            let store = try TreeStore.open(file: disk, options: Self.options(recorder))
            for round in 0..<5 {
                try fill(store, count: 5 + life * 2 + round)
                if round == 3 { try store.checkpoint() }
            }
            // Every third life is discarded: the next one continues from the same file.
            if life % 3 != 0 { image = disk.killedImage() }
        }
        #expect(recorder.nonces.count > 300)
        #expect(Set(recorder.nonces).count == recorder.nonces.count)
    }

    @Test("is backed up encrypted, with the same keys, and can be salvaged with its key")
    func copies() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: Self.options())
        try fill(store, count: 100)
        let content = try content(store)
        let target = try SimulatedDisk()
        #expect(try store.backup(to: target))
        let backup = try #require(target.killedImage())
        #expect(!backup.contains(Array("secret-".utf8)))
        let copy = try TreeStore.open(file: try SimulatedDisk(image: backup), options: Self.options())
        #expect(try self.content(copy) == content)
        #expect(try copy.check { Issue.record("\($0)") })

        var image = try #require(disk.killedImage())
        #expect(throws: StorageError.keyNeeded(path: "simulated disk")) {
            try DamagedFile(file: try SimulatedDisk(image: image))
        }
        // Without one header slot, all data is found.
        image.replaceSubrange(0..<4096, with: repeatElement(7, count: 4096))
        #expect(try salvaged(image) == content)
        // Key slots and identifier are enough of the other slot: a crash tore it, in its middle or near its end.
        try store.checkpoint()
        image = try #require(disk.killedImage())
        image.replaceSubrange(0..<4096, with: repeatElement(7, count: 4096))
        for torn in [4096 + 48..<4096 + 512, 4096 + 2048..<8192] {
            var image = image
            image.replaceSubrange(torn, with: repeatElement(7, count: torn.count))
            #expect(try salvaged(image) == content)
            #expect(throws: StorageError.keyNeeded(path: "simulated disk")) {
                try DamagedFile(file: try SimulatedDisk(image: image))
            }
        }
        // The key slots of the first slot are damaged, so they look like those of a later version.
        var halves = try #require(disk.killedImage())
        halves.replaceSubrange(512..<4096, with: repeatElement(7, count: 4096 - 512))
        halves.replaceSubrange(4096 + 2048..<8192, with: repeatElement(7, count: 2048))
        #expect(try salvaged(halves) == content)
        // Without both slots, there is no way to the data key.
        image.replaceSubrange(4096..<8192, with: repeatElement(7, count: 4096))
        let error = #expect(throws: StorageError.self) {
            try DamagedFile(file: try SimulatedDisk(image: image), encryption: Self.key)
        }
        #expect(try #require(error).description.contains("the key opens none of their key slots"))
    }

    /// Returns the content of the store that salvage makes from a damaged file.
    private func salvaged(_ image: [UInt8]) throws -> [[UInt8]] {
        let rescued = try SimulatedDisk()
        let file = try DamagedFile(file: try SimulatedDisk(image: image), encryption: Self.key)
        let report = try Salvage.run(file, to: rescued) { () throws(StorageError) in try rescued.giveName() }
        #expect(report.trees.count == 2)
        let found = try #require(rescued.killedImage())
        #expect(!found.contains(Array("secret-".utf8)))
        return try content(try TreeStore.open(file: try SimulatedDisk(image: found), options: Self.options()))
    }

    @Test("and a plain one whose headers are lost are distinguished by their pages")
    func lostHeaders() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: Self.options(nil))
        try fill(store, count: 100)
        try store.close()
        var image = try #require(disk.killedImage())
        image.replaceSubrange(0..<8192, with: repeatElement(7, count: 8192))
        #expect(throws: StorageError.notEncrypted(path: "simulated disk")) {
            try DamagedFile(file: try SimulatedDisk(image: image), encryption: Self.key)
        }
        #expect(try !DamagedFile(file: try SimulatedDisk(image: image)).isSealed)
    }

    @Test("gets other keys without a change of its pages, at any moment of a crash")
    func rekey() throws {
        let disk = try SimulatedDisk()
        let store = try TreeStore.open(file: disk, options: Self.options())
        try fill(store, count: 20)
        let content = try content(store)
        let second = StoreKey(key: [UInt8](100..<132))
        let third = StoreKey(passphrase: Array("a long one".utf8), logCost: 10)
        func opens(_ key: any StoreEncryption, _ image: [UInt8]) throws -> Bool {
            do {
                let store = try TreeStore.open(file: try SimulatedDisk(image: image), options: Self.options(key))
                #expect(try self.content(store) == content)
                return true
            } catch StorageError.wrongKey {
                return false
            }
        }
        try store.pages.rekey(second, keepsOthers: true)
        let both = try #require(disk.killedImage())
        #expect(try opens(Self.key, both) && opens(second, both))
        #expect(try !opens(third, both))
        let cuts = Cuts()
        disk.whenCalled = { cuts.note($0.killedImage()) }
        try store.pages.rekey(third, keepsOthers: false)
        disk.whenCalled = nil
        let last = try #require(disk.killedImage())
        #expect(try opens(third, last))
        #expect(try !opens(Self.key, last) && !opens(second, last))
        let images = cuts.images
        for image in images {
            // The key that opens the file after the crash also opens it later.
            let key: any StoreEncryption = try opens(second, image) ? second : third
            let life = try SimulatedDisk(image: image)
            try TreeStore.open(file: life, options: Self.options(key)).close()
            #expect(try opens(key, try #require(life.killedImage())))
        }
        #expect(!images.isEmpty)
        try fill(store, count: 25)
        try store.close()
    }
}

/// Collects the images that a crash would leave, one for each call.
private final class Cuts: @unchecked Sendable {
    // Sendable: one thread uses it.
    private(set) var images: [[UInt8]] = []

    func note(_ image: [UInt8]?) { if let image { images.append(image) } }
}

/// Encryption that records each nonce.
private final class RecordingEncryption: StoreEncryption, @unchecked Sendable {
    // Sendable: one thread uses it.
    private let base: any StoreEncryption
    fileprivate var nonces: [[UInt8]] = []

    init(_ base: any StoreEncryption) { self.base = base }

    func create() throws(StorageError) -> (slots: KeySlots, cipher: any PageCipher) {
        let (slots, cipher) = try base.create()
        return (slots, RecordingCipher(self, cipher))
    }

    func unlock(_ slots: KeySlots) throws(StorageError) -> (any PageCipher)? {
        try base.unlock(slots).map { RecordingCipher(self, $0) }
    }

    func wrap(_ cipher: any PageCipher, beside slots: KeySlots?) throws(StorageError) -> KeySlots {
        guard let cipher = cipher as? RecordingCipher else { throw .invalid("another cipher") }
        return try base.wrap(cipher.base, beside: slots)
    }

    final class RecordingCipher: PageCipher, @unchecked Sendable {
        private let recorder: RecordingEncryption
        let base: any PageCipher

        init(_ recorder: RecordingEncryption, _ base: any PageCipher) { (self.recorder, self.base) = (recorder, base) }

        private func note(_ nonce: UnsafeMutableRawPointer) {
            recorder.nonces.append(Array(UnsafeRawBufferPointer(start: nonce, count: 20)))
        }

        func bound(to identifier: StoreIdentifier) throws(StorageError) -> any PageCipher {
            RecordingCipher(recorder, try base.bound(to: identifier))
        }

        func makeNonce(_ nonce: UnsafeMutableRawPointer) throws(StorageError) {
            try base.makeNonce(nonce)
            note(nonce)
        }

        func sealBlock(
            _ block: UInt32, _ bytes: UnsafeMutableRawBufferPointer, context: Bytes, nonce: UnsafeRawPointer,
            tag: UnsafeMutableRawPointer
        ) throws(StorageError) {
            try base.sealBlock(block, bytes, context: context, nonce: nonce, tag: tag)
        }

        func open(
            _ block: UInt32, _ bytes: UnsafeMutableRawBufferPointer, context: Bytes, nonce: UnsafeRawPointer,
            tag: UnsafeRawPointer
        ) -> Bool { base.open(block, bytes, context: context, nonce: nonce, tag: tag) }
    }
}

extension [UInt8] {
    fileprivate func contains(_ part: [UInt8]) -> Bool {
        withUnsafeBytes { (bytes) -> Bool in
            var rest = bytes[...]
            // By the first byte, so that the C library does the search.
            while let start = rest.first.map({ _ in UnsafeRawBufferPointer(rebasing: rest) })?.baseAddress,
                let found = memchr(start, Int32(part[0]), rest.count)
            {
                rest = rest.dropFirst(UnsafeRawPointer(found) - start)
                if rest.starts(with: part) { return true }
                rest = rest.dropFirst()
            }
            return false
        }
    }
}
