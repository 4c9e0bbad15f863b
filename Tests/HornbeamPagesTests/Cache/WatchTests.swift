// SPDX-License-Identifier: Apache-2.0
// Faults while a page is being verified. Until the page is trusted, its zeros affect only the verifier; from then on
// they affect every reader.

import Foundation
import Glibc
import HornbeamTestSupport
import Synchronization
import Testing

@testable import HornbeamPages

@Suite("A page that can't be read while it is verified")
struct WatchTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path("store") }
    private let hook = Hook()

    init() throws { folder = try TemporaryFolder() }

    /// An action that runs during the next verification of a leaf, after its checksum was found right.
    private final class Hook: Sendable {
        private let body = Mutex<(@Sendable () -> Void)?>(nil)
        func set(_ new: @escaping @Sendable () -> Void) { body.withLock { $0 = new } }
        func run() {
            let body = body.withLock { body in
                defer { body = nil }
                return body
            }
            body?()
        }
    }

    /// Returns a mapped store whose leaves were never read, and one of these leaves.
    private func store() throws -> (store: PageStore, leaf: Verification.Expectation) {
        var options = StoreOptions.withLargeRing
        options.access = .mapped
        let hook = hook
        func open() throws -> PageStore {
            try PageStore.open(
                path: path, options: options,
                structure: { page, kind in
                    if kind == .leaf { hook.run() }
                    return Toy.structure(page, kind)
                }, replay: Toy.replay)
        }
        let first = try open()
        try Toy.commit(ToyChange(cell: 1, value: 5), to: first)
        let view = try first.beginRead()
        let root = view.root
        first.endRead(view)
        try first.close()
        let store = try open()
        let reading = try store.beginRead()
        defer { store.endRead(reading) }
        let branch = try reading.page(root.page, birth: root.birth, kind: .branch, level: 1)
        let number = branch.load(fromByteOffset: 32 + 16, as: UInt64.self)
        let birth = branch.load(fromByteOffset: 32 + 24, as: UInt64.self)
        let sectors = UInt32(store.pageSize / FileFormat.sectorSize)
        return (
            store,
            Verification.Expectation(number: number, birth: birth, kind: .leaf, level: 0, sectors: sectors)
        )
    }

    /// Cuts the file off before the leaf, and touches the leaf if it is mapped.
    private static func lose(
        _ leaf: Verification.Expectation, _ path: String, _ mapping: Mapping
    ) -> UInt8 {
        truncate(path, Int(leaf.byteOffset))
        return mapping.bytes(at: leaf.byteOffset, count: leaf.byteCount)[16]
    }

    private final class Seen: Sendable {
        private let flags = Mutex((isTrusted: false, isHidden: false, isDone: false))
        var isTrusted: Bool {
            get { flags.withLock { $0.isTrusted } }
            set { flags.withLock { $0.isTrusted = newValue } }
        }
        var isHidden: Bool {
            get { flags.withLock { $0.isHidden } }
            set { flags.withLock { $0.isHidden = newValue } }
        }
        var isDone: Bool {
            get { flags.withLock { $0.isDone } }
            set { flags.withLock { $0.isDone = newValue } }
        }
    }

    // A check watched every page that it read. If a sector had become zeros that others trusted, only the check got
    // the error, and the others read zeros.
    @Test("is lost for all readers if it was verified before, whichever meets it first")
    func trusted() throws {
        let (store, leaf) = try store()
        let mapping = try #require(store.verification.mapping)
        let view = try store.beginRead()
        _ = try view.page(leaf.number, birth: leaf.birth, kind: .leaf, level: 0)
        let seen = Seen()
        let path = path
        hook.set {
            let kind = Self.lose(leaf, path, mapping)
            if kind == 0, mapping.lost.pointee.load(ordering: .relaxed) == 0 {
                seen.isHidden = true
            }
        }
        _ = try? store.verifyWholePage(leaf.number, birth: leaf.birth, kind: .leaf, level: 0)
        #expect(!seen.isHidden)
        #expect(throws: StorageError.self) {
            _ = try view.page(leaf.number, birth: leaf.birth, kind: .leaf, level: 0)
            try view.checkIsWhole()
        }
        store.endRead(view)
    }

    // Two threads that met a page for the first time both verified it: one could trust it while the other still
    // watched, and got zeros that only the other knew of.
    @Test("is not trusted by one thread while another one verifies it")
    func together() throws {
        let (store, leaf) = try store()
        let mapping = try #require(store.verification.mapping)
        let seen = Seen()
        let path = path
        hook.set {
            Thread.detachNewThread {
                seen.isTrusted = (try? Self.touch(leaf, store)) ?? false
                seen.isDone = true
            }
            // Long enough for the other thread to get through if it can.
            for _ in 0..<300 where !seen.isDone { usleep(1000) }
            let isTrusted = seen.isTrusted
            let kind = Self.lose(leaf, path, mapping)
            if isTrusted, kind == 0, mapping.lost.pointee.load(ordering: .relaxed) == 0 {
                seen.isHidden = true
            }
        }
        #expect(throws: StorageError.self) { try Self.touch(leaf, store) }
        while !seen.isDone { usleep(1000) }
        #expect(!seen.isHidden)
    }

    private static func touch(_ leaf: Verification.Expectation, _ store: PageStore) throws -> Bool {
        let view = try store.beginRead()
        defer { store.endRead(view) }
        _ = try view.page(leaf.number, birth: leaf.birth, kind: .leaf, level: 0)
        return true
    }

    // `check` names the unreadable page, and continues with the others.
    @Test("is an error of only this page for a check, which continues")
    func check() throws {
        let (store, leaf) = try store()
        truncate(path, Int(leaf.byteOffset))
        #expect {
            try store.verifyWholePage(leaf.number, birth: leaf.birth, kind: .leaf, level: 0)
        } throws: { error in
            guard case StorageError.io(_, _, EIO) = error else { return false }
            return true
        }
        let mapping = try #require(store.verification.mapping)
        #expect(mapping.lost.pointee.load(ordering: .relaxed) == 0)
    }
}
