// SPDX-License-Identifier: Apache-2.0
// Hornbeam through its public C interface.

import BenchHarness
import CHornbeam

final class HornbeamEngine: Engine {
    static let name = "hornbeam"
    static let version = hb_version().map { String(cString: $0) } ?? ""
    #if PEER_POSTGRES
        private static let peers: Set<Feature> = [.mirror]
    #else
        private static let peers: Set<Feature> = []
    #endif
    static let features = peers.union([.getMany, .counts, .compression, .typed, .live, .coding, .machine])

    private let store: Store
    private let tree: hb_tree

    /// A store's handles, which may be used from any thread.
    private struct Store: @unchecked Sendable {
        let handle: OpaquePointer?
    }

    convenience init(path: String, settings: StoreSettings) throws {
        try self.init(path: path, settings: settings, key: nil)
    }

    /// Opens a store that is encrypted with `key`, or isn't encrypted if it is nil. `cacheBytes`: 0 for the default.
    init(path: String, settings: StoreSettings, key: [UInt8]? = nil, cacheBytes: UInt64 = 0) throws {
        var options = hb_options()
        options.struct_size = MemoryLayout<hb_options>.size
        options.cache_bytes = cacheBytes
        options.durability = UInt32(settings.durability == .full ? HB_DURABLE_FULL : HB_DURABLE_PROCESS)
        var store: OpaquePointer?
        var more = hb_more_options()
        more.struct_size = MemoryLayout<hb_more_options>.size
        try (key ?? []).withUnsafeBytes { key in
            if !key.isEmpty { (more.key, more.key_size) = (key.baseAddress, key.count) }
            try HornbeamEngine.check(hb_open_with(path, &options, &more, &store))
        }
        self.store = Store(handle: store)
        var transaction: OpaquePointer?
        var tree: hb_tree = 0
        try HornbeamEngine.check(hb_begin(store, UInt32(HB_READ), &transaction))
        let found = hb_tree_open(transaction, "bench", 0, &tree)
        hb_abort(transaction)
        if found == Int32(HB_NOT_FOUND) {
            let flags = HB_TREE_CREATE | (settings.isCompressed ? HB_TREE_LZ4 : 0)
            try HornbeamEngine.check(hb_begin(store, UInt32(HB_WRITE), &transaction))
            try HornbeamEngine.check(hb_tree_open(transaction, "bench", UInt32(flags), &tree))
            try HornbeamEngine.check(hb_commit(transaction))
        }
        self.tree = tree
    }

    func session() throws -> any Session { HornbeamSession(store: store.handle, tree: tree) }

    func close() throws { try Self.check(hb_close(store.handle)) }

    /// Throws the library's message for a failed call.
    static func check(_ code: Int32) throws {
        guard code == Int32(HB_OK) else {
            throw BenchError("hornbeam: \(hb_error().map { String(cString: $0) } ?? "error \(code)")")
        }
    }
}

/// Stores with options that aren't the defaults.
protocol SpecialHornbeamEngine: Engine {
    var engine: HornbeamEngine { get }
}

extension SpecialHornbeamEngine {
    static var features: Set<Feature> { [.getMany, .counts, .compression] }
    static var isDefault: Bool { false }

    func session() throws -> any Session { try engine.session() }

    func close() throws { try engine.close() }
}

/// An encrypted store.
final class EncryptedHornbeamEngine: SpecialHornbeamEngine {
    static let name = "hornbeam-encrypted"

    let engine: HornbeamEngine

    init(path: String, settings: StoreSettings) throws {
        engine = try HornbeamEngine(path: path, settings: settings, key: [UInt8](repeating: 0x5A, count: 32))
    }
}

/// A store with a cache of 256 MiB, four times the default.
final class LargeCacheHornbeamEngine: SpecialHornbeamEngine {
    static let name = "hornbeam-256"

    let engine: HornbeamEngine

    init(path: String, settings: StoreSettings) throws {
        engine = try HornbeamEngine(path: path, settings: settings, cacheBytes: 256 << 20)
    }
}

final class HornbeamSession: Session {
    private let store: OpaquePointer?
    private let tree: hb_tree

    init(store: OpaquePointer?, tree: hb_tree) {
        self.store = store
        self.tree = tree
    }

    @inline(__always)
    private func slice(_ bytes: UnsafeRawBufferPointer) -> hb_slice {
        hb_slice(data: bytes.baseAddress, size: bytes.count)
    }

    private func reading<Result>(_ body: (OpaquePointer?) throws -> Result) throws -> Result {
        var transaction: OpaquePointer?
        try HornbeamEngine.check(hb_begin(store, UInt32(HB_READ), &transaction))
        defer { hb_abort(transaction) }
        return try body(transaction)
    }

    private func writing(_ body: (OpaquePointer?) throws -> Void) throws {
        var transaction: OpaquePointer?
        try HornbeamEngine.check(hb_begin(store, UInt32(HB_WRITE), &transaction))
        do {
            try body(transaction)
        } catch {
            hb_abort(transaction)
            throw error
        }
        try HornbeamEngine.check(hb_commit(transaction))
    }

    private func walking<Result>(_ body: (OpaquePointer?) throws -> Result) throws -> Result {
        try reading { transaction in
            var cursor: OpaquePointer?
            try HornbeamEngine.check(hb_cursor_open(transaction, tree, &cursor))
            defer { hb_cursor_close(cursor) }
            return try body(cursor)
        }
    }

    func put(_ entries: Entries, _ order: ArraySlice<Int>) throws { try put(entries, order, isAppend: false) }

    func append(_ entries: Entries, _ order: ArraySlice<Int>) throws { try put(entries, order, isAppend: true) }

    private func put(_ entries: Entries, _ order: ArraySlice<Int>, isAppend: Bool) throws {
        try writing { transaction in
            for index in order {
                let code = entries.withKey(index) { key in
                    entries.withValue(index) { value in
                        isAppend
                            ? hb_append(transaction, tree, slice(key), slice(value))
                            : hb_put(transaction, tree, slice(key), slice(value))
                    }
                }
                try HornbeamEngine.check(code)
            }
        }
    }

    func delete(_ entries: Entries, _ order: ArraySlice<Int>) throws {
        try writing { transaction in
            for index in order {
                try HornbeamEngine.check(entries.withKey(index) { hb_delete(transaction, tree, slice($0)) })
            }
        }
    }

    func get(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int {
        try reading { transaction in
            var sum = 0
            var value = hb_slice()
            for index in order {
                let code = entries.withKey(index) { hb_get(transaction, tree, slice($0), &value) }
                if code == 0, let data = value.data { sum &+= Int(data.load(as: UInt8.self)) }
            }
            return sum
        }
    }

    func getEach(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int {
        var sum = 0
        var value = hb_slice()
        for index in order {
            try reading { transaction in
                let code = entries.withKey(index) { hb_get(transaction, tree, slice($0), &value) }
                if code == 0, let data = value.data { sum &+= Int(data.load(as: UInt8.self)) }
            }
        }
        return sum
    }

    func getMany(_ entries: Entries, _ order: ArraySlice<Int>, batch: Int) throws -> Int {
        try reading { transaction in
            var sum = 0
            try withUnsafeTemporaryAllocation(of: hb_slice.self, capacity: 2 * batch) { slices in
                slices.initialize(repeating: hb_slice())
                guard let keys = slices.baseAddress else { return }
                let values = keys + batch
                var start = order.startIndex
                while start < order.endIndex {
                    let count = min(batch, order.endIndex - start)
                    for place in 0..<count { keys[place] = entries.withKey(order[start + place]) { slice($0) } }
                    try HornbeamEngine.check(hb_get_many(transaction, tree, keys, values, count))
                    for place in 0..<count {
                        if let data = values[place].data { sum &+= Int(data.load(as: UInt8.self)) }
                    }
                    start += count
                }
            }
            return sum
        }
    }

    func copy(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int {
        try reading { transaction in
            var sum = 0
            var value = hb_slice()
            withUnsafeTemporaryAllocation(byteCount: entries.valueSize, alignment: 8) { buffer in
                for index in order {
                    let code = entries.withKey(index) { hb_get(transaction, tree, slice($0), &value) }
                    guard code == 0, let data = value.data else { continue }
                    buffer.copyMemory(from: UnsafeRawBufferPointer(start: data, count: min(value.size, buffer.count)))
                    sum &+= Int(buffer[buffer.count - 1])
                }
            }
            return sum
        }
    }

    func scan(isReverse: Bool) throws -> Int {
        try walking { cursor in
            var bytes = 0
            try withPlaces { keys, values in
                var code = isReverse ? hb_cursor_last(cursor) : hb_cursor_first(cursor)
                while code == 0 {
                    var count = 0
                    code =
                        isReverse
                        ? hb_cursor_read_back(cursor, keys, values, Self.places, &count)
                        : hb_cursor_read(cursor, keys, values, Self.places, &count)
                    try HornbeamEngine.check(code)
                    for index in 0..<count { bytes &+= keys[index].size &+ values[index].size }
                    code = isReverse ? hb_cursor_prev(cursor) : hb_cursor_next(cursor)
                }
            }
            return bytes
        }
    }

    /// Greatest number of entries that a call of `hb_cursor_read` returns.
    private static var places: Int { 64 }

    private func withPlaces(
        _ body: (UnsafeMutablePointer<hb_slice>, UnsafeMutablePointer<hb_slice>) throws -> Void
    ) throws {
        let keys = UnsafeMutablePointer<hb_slice>.allocate(capacity: 2 * Self.places)
        defer { keys.deallocate() }
        try body(keys, keys + Self.places)
    }

    func scan(_ entries: Entries, from starts: ArraySlice<Int>, length: Int) throws -> Int {
        try walking { cursor in
            var bytes = 0
            try withPlaces { keys, values in
                for start in starts {
                    var left = length
                    var code = entries.withKey(start) { hb_cursor_seek(cursor, slice($0)) }
                    while code == 0, left > 0 {
                        var count = 0
                        try HornbeamEngine.check(
                            hb_cursor_read(cursor, keys, values, min(left, Self.places), &count))
                        for index in 0..<count { bytes &+= keys[index].size &+ values[index].size }
                        left -= count
                        if left > 0 { code = hb_cursor_next(cursor) }
                    }
                }
            }
            return bytes
        }
    }

    func count(from: [UInt8], to: [UInt8]) throws -> Int {
        try reading { transaction in
            var count: UInt64 = 0
            try HornbeamEngine.check(
                from.withUnsafeBytes { lower in
                    to.withUnsafeBytes { hb_count(transaction, tree, slice(lower), slice($0), &count) }
                })
            return Int(count)
        }
    }

    func entry(at index: Int) throws -> Int {
        try walking { cursor in
            try HornbeamEngine.check(hb_cursor_at(cursor, UInt64(index)))
            var key = hb_slice()
            var value = hb_slice()
            try HornbeamEngine.check(hb_cursor_entry(cursor, &key, &value))
            return key.size
        }
    }
}
