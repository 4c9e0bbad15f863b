// SPDX-License-Identifier: Apache-2.0
// LMDB as its documentation recommends it: one environment file, and default durability, or MDB_NOSYNC if only the
// end of the process must be survived.

#if PEER_LMDB
    import BenchHarness
    import CLMDB

    final class LMDBEngine: Engine {
        static let name = "lmdb"
        static let features: Set<Feature> = []

        private let environment: Environment
        private let database: MDB_dbi

        /// An environment, which may be used from any thread.
        private struct Environment: @unchecked Sendable {
            let handle: OpaquePointer?
        }

        init(path: String, settings: StoreSettings) throws {
            var environment: OpaquePointer?
            var database: MDB_dbi = 0
            try LMDBSession.check(mdb_env_create(&environment))
            try LMDBSession.check(mdb_env_set_mapsize(environment, 64 << 30))
            let flags = MDB_NOSUBDIR | (settings.durability == .full ? 0 : MDB_NOSYNC)
            try LMDBSession.check(mdb_env_open(environment, path, UInt32(flags), 0o644))
            var transaction: OpaquePointer?
            try LMDBSession.check(mdb_txn_begin(environment, nil, 0, &transaction))
            try LMDBSession.check(mdb_dbi_open(transaction, nil, 0, &database))
            try LMDBSession.check(mdb_txn_commit(transaction))
            self.environment = Environment(handle: environment)
            self.database = database
        }

        func session() throws -> any Session { LMDBSession(environment: environment.handle, database: database) }

        func close() throws { mdb_env_close(environment.handle) }
    }

    final class LMDBSession: Session {
        private let environment: OpaquePointer?
        private let database: MDB_dbi
        /// A read transaction that is renewed, as LMDB advises for many short reads.
        private var reader: OpaquePointer?

        init(environment: OpaquePointer?, database: MDB_dbi) {
            self.environment = environment
            self.database = database
        }

        deinit {
            if let reader { mdb_txn_abort(reader) }
        }

        static func check(_ code: Int32) throws {
            guard code == 0 else { throw BenchError("lmdb: \(String(cString: mdb_strerror(code)))") }
        }

        private func reading<Result>(_ body: (OpaquePointer?) throws -> Result) throws -> Result {
            if let reader {
                try Self.check(mdb_txn_renew(reader))
            } else {
                try Self.check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &reader))
            }
            defer { mdb_txn_reset(reader) }
            return try body(reader)
        }

        private func writing(_ body: (OpaquePointer?) throws -> Void) throws {
            var transaction: OpaquePointer?
            try Self.check(mdb_txn_begin(environment, nil, 0, &transaction))
            do {
                try body(transaction)
            } catch {
                mdb_txn_abort(transaction)
                throw error
            }
            try Self.check(mdb_txn_commit(transaction))
        }

        @inline(__always)
        private func value(_ bytes: UnsafeRawBufferPointer) -> MDB_val {
            MDB_val(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
        }

        func put(_ entries: Entries, _ order: ArraySlice<Int>) throws { try put(entries, order, flags: 0) }

        func append(_ entries: Entries, _ order: ArraySlice<Int>) throws {
            try put(entries, order, flags: UInt32(MDB_APPEND))
        }

        private func put(_ entries: Entries, _ order: ArraySlice<Int>, flags: UInt32) throws {
            try writing { transaction in
                for index in order {
                    try Self.check(
                        entries.withKey(index) { key in
                            entries.withValue(index) { data in
                                var key = value(key)
                                var data = value(data)
                                return mdb_put(transaction, database, &key, &data, flags)
                            }
                        })
                }
            }
        }

        func delete(_ entries: Entries, _ order: ArraySlice<Int>) throws {
            try writing { transaction in
                for index in order {
                    try Self.check(
                        entries.withKey(index) { key in
                            var key = value(key)
                            return mdb_del(transaction, database, &key, nil)
                        })
                }
            }
        }

        @inline(__always)
        private func find(_ entries: Entries, _ index: Int, _ data: inout MDB_val, _ transaction: OpaquePointer?)
            -> Bool
        {
            entries.withKey(index) { bytes in
                var key = value(bytes)
                return mdb_get(transaction, database, &key, &data) == 0
            }
        }

        func get(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int {
            try reading { transaction in
                var sum = 0
                var data = MDB_val()
                for index in order where find(entries, index, &data, transaction) {
                    if let bytes = data.mv_data { sum &+= Int(bytes.load(as: UInt8.self)) }
                }
                return sum
            }
        }

        func getEach(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int {
            var sum = 0
            var data = MDB_val()
            for index in order {
                try reading { transaction in
                    if find(entries, index, &data, transaction), let bytes = data.mv_data {
                        sum &+= Int(bytes.load(as: UInt8.self))
                    }
                }
            }
            return sum
        }

        func copy(_ entries: Entries, _ order: ArraySlice<Int>) throws -> Int {
            try reading { transaction in
                var sum = 0
                var data = MDB_val()
                withUnsafeTemporaryAllocation(byteCount: entries.valueSize, alignment: 8) { buffer in
                    for index in order where find(entries, index, &data, transaction) {
                        let bytes = UnsafeRawBufferPointer(start: data.mv_data, count: min(data.mv_size, buffer.count))
                        buffer.copyMemory(from: bytes)
                        sum &+= Int(buffer[buffer.count - 1])
                    }
                }
                return sum
            }
        }

        private func walking<Result>(_ body: (OpaquePointer?, OpaquePointer?) throws -> Result) throws -> Result {
            try reading { transaction in
                var cursor: OpaquePointer?
                try Self.check(mdb_cursor_open(transaction, database, &cursor))
                defer { mdb_cursor_close(cursor) }
                return try body(transaction, cursor)
            }
        }

        func scan(isReverse: Bool) throws -> Int {
            try walking { _, cursor in
                var bytes = 0
                var key = MDB_val()
                var data = MDB_val()
                let step = isReverse ? MDB_PREV : MDB_NEXT
                while mdb_cursor_get(cursor, &key, &data, step) == 0 { bytes += key.mv_size + data.mv_size }
                return bytes
            }
        }

        func scan(_ entries: Entries, from starts: ArraySlice<Int>, length: Int) throws -> Int {
            try walking { _, cursor in
                var bytes = 0
                var data = MDB_val()
                for start in starts {
                    var left = length
                    entries.withKey(start) { first in
                        var key = value(first)
                        var code = mdb_cursor_get(cursor, &key, &data, MDB_SET_RANGE)
                        while code == 0, left > 0 {
                            bytes += key.mv_size + data.mv_size
                            left -= 1
                            if left > 0 { code = mdb_cursor_get(cursor, &key, &data, MDB_NEXT) }
                        }
                    }
                }
                return bytes
            }
        }

        /// LMDB keeps no counts, so the range is walked.
        func count(from: [UInt8], to: [UInt8]) throws -> Int {
            try walking { transaction, cursor in
                var count = 0
                var data = MDB_val()
                from.withUnsafeBytes { lower in
                    to.withUnsafeBytes { upper in
                        var key = value(lower)
                        var end = value(upper)
                        var code = mdb_cursor_get(cursor, &key, &data, MDB_SET_RANGE)
                        while code == 0, mdb_cmp(transaction, database, &key, &end) < 0 {
                            count += 1
                            code = mdb_cursor_get(cursor, &key, &data, MDB_NEXT)
                        }
                    }
                }
                return count
            }
        }

        func entry(at index: Int) throws -> Int {
            try walking { _, cursor in
                var key = MDB_val()
                var data = MDB_val()
                for _ in 0...index { _ = mdb_cursor_get(cursor, &key, &data, MDB_NEXT) }
                return key.mv_size
            }
        }
    }
#endif
