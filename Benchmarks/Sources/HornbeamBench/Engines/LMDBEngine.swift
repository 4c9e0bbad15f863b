// SPDX-License-Identifier: Apache-2.0
// LMDB as its documentation recommends it: one environment file, default (synchronous) durability.

#if PEER_LMDB
    import CLMDB

    final class LMDBEngine: Engine {
        static let name = "lmdb"

        private var environment: OpaquePointer?
        private var database: MDB_dbi = 0

        init(path: String) throws {
            try Self.check(mdb_env_create(&environment))
            try Self.check(mdb_env_set_mapsize(environment, 64 << 30))
            try Self.check(mdb_env_open(environment, path, UInt32(MDB_NOSUBDIR), 0o644))
            var transaction: OpaquePointer?
            try Self.check(mdb_txn_begin(environment, nil, 0, &transaction))
            try Self.check(mdb_dbi_open(transaction, nil, 0, &database))
            try Self.check(mdb_txn_commit(transaction))
        }

        private static func check(_ code: Int32) throws {
            guard code == 0 else { throw EngineError("lmdb: \(String(cString: mdb_strerror(code)))") }
        }

        private func reading<Result>(_ body: (OpaquePointer?) throws -> Result) throws -> Result {
            var transaction: OpaquePointer?
            try Self.check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
            defer { mdb_txn_abort(transaction) }
            return try body(transaction)
        }

        private func value(_ bytes: UnsafeRawBufferPointer) -> MDB_val {
            MDB_val(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
        }

        func write(_ entries: Entries, _ range: Range<Int>) throws {
            var transaction: OpaquePointer?
            try Self.check(mdb_txn_begin(environment, nil, 0, &transaction))
            for index in range {
                let code = entries.withKey(index) { key in
                    entries.withValue(index) { data in
                        var key = value(key)
                        var data = value(data)
                        return mdb_put(transaction, database, &key, &data, 0)
                    }
                }
                try Self.check(code)
            }
            try Self.check(mdb_txn_commit(transaction))
        }

        func read(_ entries: Entries, _ order: [Int]) throws -> Int {
            try reading { transaction in
                var sum = 0
                var data = MDB_val()
                for index in order {
                    let code = entries.withKey(index) { bytes in
                        var key = value(bytes)
                        return mdb_get(transaction, database, &key, &data)
                    }
                    if code == 0, let bytes = data.mv_data { sum &+= Int(bytes.load(as: UInt8.self)) }
                }
                return sum
            }
        }

        func scan() throws -> Int {
            try reading { transaction in
                try walking(transaction) { cursor in
                    var bytes = 0
                    var key = MDB_val()
                    var data = MDB_val()
                    while mdb_cursor_get(cursor, &key, &data, MDB_NEXT) == 0 { bytes += key.mv_size + data.mv_size }
                    return bytes
                }
            }
        }

        func scan(_ entries: Entries, from starts: [Int], length: Int) throws -> Int {
            try reading { transaction in
                try walking(transaction) { cursor in
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
                                code = mdb_cursor_get(cursor, &key, &data, MDB_NEXT)
                            }
                        }
                    }
                    return bytes
                }
            }
        }

        private func walking<Result>(
            _ transaction: OpaquePointer?, _ body: (OpaquePointer?) -> Result
        ) throws -> Result {
            var cursor: OpaquePointer?
            try Self.check(mdb_cursor_open(transaction, database, &cursor))
            defer { mdb_cursor_close(cursor) }
            return body(cursor)
        }

        func count(from: [UInt8], to: [UInt8]) throws -> Int {
            // LMDB keeps no counts: the range has to be walked.
            try reading { transaction in
                try walking(transaction) { cursor in
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
        }

        func close() throws {
            mdb_env_close(environment)
        }
    }
#endif
