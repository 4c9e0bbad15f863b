// SPDX-License-Identifier: Apache-2.0
// RocksDB with its log synced, or only written if only the end of the process must be survived; a block cache that
// holds the data, bloom filters of ten bits, no compression unless requested.

#if PEER_ROCKSDB
    import BenchHarness
    import CRocksDB
    import Foundation

    final class RocksDBEngine: Engine {
        static let name = "rocksdb"
        static let features: Set<Feature> = [.getMany, .compression]

        fileprivate struct Handles: @unchecked Sendable {
            let database: OpaquePointer?
            let family: OpaquePointer?
            let writeOptions: OpaquePointer?
        }

        private let handles: Handles

        init(path: String, settings: StoreSettings) throws {
            let options = rocksdb_options_create()
            rocksdb_options_set_create_if_missing(options, 1)
            rocksdb_options_set_compression(
                options, Int32(settings.isCompressed ? rocksdb_lz4_compression : rocksdb_no_compression))
            let table = rocksdb_block_based_options_create()
            rocksdb_block_based_options_set_block_cache(table, rocksdb_cache_create_lru(2 << 30))
            rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10))
            rocksdb_options_set_block_based_table_factory(options, table)
            var message: UnsafeMutablePointer<CChar>?
            // Calls for many keys need the column family.
            var family: OpaquePointer?
            let database = "default".withCString { name in
                var names: UnsafePointer<CChar>? = name
                var familyOptions: OpaquePointer? = options
                return rocksdb_open_column_families(options, path, 1, &names, &familyOptions, &family, &message)
            }
            try RocksDBSession.check(message)
            let writeOptions = rocksdb_writeoptions_create()
            rocksdb_writeoptions_set_sync(writeOptions, settings.durability == .full ? 1 : 0)
            handles = Handles(database: database, family: family, writeOptions: writeOptions)
        }

        func session() throws -> any Session {
            RocksDBSession(handles)
        }

        func close() throws {
            rocksdb_column_family_handle_destroy(handles.family)
            rocksdb_close(handles.database)
        }
    }

    final class RocksDBSession: Session {
        private let database: OpaquePointer?
        private let family: OpaquePointer?
        private let writeOptions: OpaquePointer?
        private let readOptions: OpaquePointer?
        private let batch: OpaquePointer?

        fileprivate init(_ handles: RocksDBEngine.Handles) {
            database = handles.database
            family = handles.family
            writeOptions = handles.writeOptions
            readOptions = rocksdb_readoptions_create()
            batch = rocksdb_writebatch_create()
        }

        deinit {
            rocksdb_readoptions_destroy(readOptions)
            rocksdb_writebatch_destroy(batch)
        }

        static func check(_ message: UnsafeMutablePointer<CChar>?) throws {
            guard let message else { return }
            defer { free(message) }
            throw BenchError("rocksdb: \(String(cString: message))")
        }

        @inline(__always)
        private func characters(_ bytes: UnsafeRawBufferPointer) -> UnsafePointer<CChar>? {
            bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        }

        private func commit() throws {
            var message: UnsafeMutablePointer<CChar>?
            rocksdb_write(database, writeOptions, batch, &message)
            rocksdb_writebatch_clear(batch)
            try Self.check(message)
        }

        func put(_ entries: Entries, _ order: ArraySlice<Int>) throws {
            for index in order {
                entries.withKey(index) { key in
                    entries.withValue(index) { value in
                        rocksdb_writebatch_put(batch, characters(key), key.count, characters(value), value.count)
                    }
                }
            }
            try commit()
        }

        func delete(_ entries: Entries, _ order: ArraySlice<Int>) throws {
            for index in order {
                entries.withKey(index) { rocksdb_writebatch_delete(batch, characters($0), $0.count) }
            }
            try commit()
        }

        @inline(__always)
        private func find(_ entries: Entries, _ index: Int, _ body: (UnsafeRawBufferPointer) -> Void) throws {
            var message: UnsafeMutablePointer<CChar>?
            let found = entries.withKey(index) {
                rocksdb_get_pinned(database, readOptions, characters($0), $0.count, &message)
            }
            try Self.check(message)
            guard let found else { return }
            var size = 0
            if let bytes = rocksdb_pinnableslice_value(found, &size) {
                body(UnsafeRawBufferPointer(start: bytes, count: size))
            }
            rocksdb_pinnableslice_destroy(found)
        }

        func getEach(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int {
            var sum = 0
            for index in order { try find(entries, index) { sum &+= Int($0[0]) } }
            return sum
        }

        /// A single look-up needs no snapshot.
        private func inSnapshot<Result>(of count: Int, _ body: () throws -> Result) rethrows -> Result {
            guard count > 1 else { return try body() }
            let snapshot = rocksdb_create_snapshot(database)
            rocksdb_readoptions_set_snapshot(readOptions, snapshot)
            defer {
                rocksdb_readoptions_set_snapshot(readOptions, nil)
                rocksdb_release_snapshot(database, snapshot)
            }
            return try body()
        }

        func get(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int {
            try inSnapshot(of: order.count) { try getEach(entries, order) }
        }

        func getMany(_ entries: Entries, _ order: ArraySlice<Int>, batch: Int) throws -> Int {
            try inSnapshot(of: order.count) {
                var sum = 0
                var keys = [UnsafePointer<CChar>?](repeating: nil, count: batch)
                var sizes = [Int](repeating: entries.keySize, count: batch)
                var values = [OpaquePointer?](repeating: nil, count: batch)
                var messages = [UnsafeMutablePointer<CChar>?](repeating: nil, count: batch)
                var start = order.startIndex
                while start < order.endIndex {
                    let count = min(batch, order.endIndex - start)
                    for place in 0..<count { keys[place] = entries.withKey(order[start + place]) { characters($0) } }
                    rocksdb_batched_multi_get_cf(
                        database, readOptions, family, count, &keys, &sizes, &values, &messages, false)
                    for place in 0..<count {
                        try Self.check(messages[place])
                        guard let value = values[place] else { continue }
                        var size = 0
                        if let bytes = rocksdb_pinnableslice_value(value, &size) {
                            sum &+= Int(UInt8(bitPattern: bytes[0]))
                        }
                        rocksdb_pinnableslice_destroy(value)
                    }
                    start += count
                }
                return sum
            }
        }

        func copy(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int {
            try inSnapshot(of: order.count) {
                var sum = 0
                try withUnsafeTemporaryAllocation(byteCount: entries.valueSize, alignment: 8) { buffer in
                    for index in order {
                        try find(entries, index) {
                            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(buffer.count)))
                        }
                        sum &+= Int(buffer[buffer.count - 1])
                    }
                }
                return sum
            }
        }

        private func walking<Result>(_ body: (OpaquePointer?) throws -> Result) rethrows -> Result {
            let iterator = rocksdb_create_iterator(database, readOptions)
            defer { rocksdb_iter_destroy(iterator) }
            return try body(iterator)
        }

        @inline(__always)
        private func entrySize(_ iterator: OpaquePointer?) -> Int {
            var key = 0
            var value = 0
            _ = rocksdb_iter_key(iterator, &key)
            _ = rocksdb_iter_value(iterator, &value)
            return key + value
        }

        func scan(isReverse: Bool) throws -> Int {
            walking { iterator in
                var bytes = 0
                if isReverse { rocksdb_iter_seek_to_last(iterator) } else { rocksdb_iter_seek_to_first(iterator) }
                while rocksdb_iter_valid(iterator) != 0 {
                    bytes += entrySize(iterator)
                    if isReverse { rocksdb_iter_prev(iterator) } else { rocksdb_iter_next(iterator) }
                }
                return bytes
            }
        }

        func scan(_ entries: Entries, from starts: ArraySlice<Int>, length: Int) throws -> Int {
            walking { iterator in
                var bytes = 0
                for start in starts {
                    var left = length
                    entries.withKey(start) { rocksdb_iter_seek(iterator, characters($0), $0.count) }
                    while left > 0, rocksdb_iter_valid(iterator) != 0 {
                        bytes += entrySize(iterator)
                        left -= 1
                        if left > 0 { rocksdb_iter_next(iterator) }
                    }
                }
                return bytes
            }
        }

        /// RocksDB keeps no counts, so the range is walked.
        func count(from: [UInt8], to: [UInt8]) throws -> Int {
            walking { iterator in
                var count = 0
                from.withUnsafeBytes { rocksdb_iter_seek(iterator, characters($0), $0.count) }
                while rocksdb_iter_valid(iterator) != 0 {
                    var size = 0
                    guard let key = rocksdb_iter_key(iterator, &size) else { break }
                    if memcmp(key, to, min(size, to.count)) >= 0 { break }
                    count += 1
                    rocksdb_iter_next(iterator)
                }
                return count
            }
        }

        func entry(at index: Int) throws -> Int {
            walking { iterator in
                rocksdb_iter_seek_to_first(iterator)
                for _ in 0..<index { rocksdb_iter_next(iterator) }
                var size = 0
                return rocksdb_iter_key(iterator, &size) == nil ? 0 : size
            }
        }
    }
#endif
