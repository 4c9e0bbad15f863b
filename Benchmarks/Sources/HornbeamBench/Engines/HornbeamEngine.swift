// SPDX-License-Identifier: Apache-2.0
// Hornbeam through its public C interface.

import CHornbeam

final class HornbeamEngine: Engine {
    static let name = "hornbeam"

    private var store: OpaquePointer?
    private var tree: hb_tree = 0

    init(path: String) throws {
        try Self.check(hb_open(path, nil, &store))
        var transaction: OpaquePointer?
        try Self.check(hb_begin(store, UInt32(HB_WRITE), &transaction))
        try Self.check(hb_tree_open(transaction, "bench", UInt32(HB_TREE_CREATE), &tree))
        try Self.check(hb_commit(transaction))
    }

    private static func check(_ code: Int32) throws {
        guard code == Int32(HB_OK) else {
            throw EngineError("hornbeam: \(hb_error().map { String(cString: $0) } ?? "error \(code)")")
        }
    }

    private func reading<Result>(_ body: (OpaquePointer?) throws -> Result) throws -> Result {
        var transaction: OpaquePointer?
        try Self.check(hb_begin(store, UInt32(HB_READ), &transaction))
        defer { hb_abort(transaction) }
        return try body(transaction)
    }

    func write(_ entries: Entries, _ range: Range<Int>) throws {
        var transaction: OpaquePointer?
        try Self.check(hb_begin(store, UInt32(HB_WRITE), &transaction))
        for index in range {
            let code = entries.withKey(index) { key in
                entries.withValue(index) { value in
                    hb_put(
                        transaction, tree, hb_slice(data: key.baseAddress, size: key.count),
                        hb_slice(data: value.baseAddress, size: value.count))
                }
            }
            try Self.check(code)
        }
        try Self.check(hb_commit(transaction))
    }

    func read(_ entries: Entries, _ order: [Int]) throws -> Int {
        try reading { transaction in
            var sum = 0
            var value = hb_slice()
            for index in order {
                let code = entries.withKey(index) {
                    hb_get(transaction, tree, hb_slice(data: $0.baseAddress, size: $0.count), &value)
                }
                if code == 0, let data = value.data { sum &+= Int(data.load(as: UInt8.self)) }
            }
            return sum
        }
    }

    func scan() throws -> Int {
        try reading { transaction in
            var cursor: OpaquePointer?
            try Self.check(hb_cursor_open(transaction, tree, &cursor))
            defer { hb_cursor_close(cursor) }
            var bytes = 0
            var key = hb_slice()
            var value = hb_slice()
            var code = hb_cursor_first(cursor)
            while code == 0 {
                _ = hb_cursor_entry(cursor, &key, &value)
                bytes += key.size + value.size
                code = hb_cursor_next(cursor)
            }
            return bytes
        }
    }

    func scan(_ entries: Entries, from starts: [Int], length: Int) throws -> Int {
        try reading { transaction in
            var cursor: OpaquePointer?
            try Self.check(hb_cursor_open(transaction, tree, &cursor))
            defer { hb_cursor_close(cursor) }
            var bytes = 0
            var key = hb_slice()
            var value = hb_slice()
            for start in starts {
                var left = length
                var code = entries.withKey(start) {
                    hb_cursor_seek(cursor, hb_slice(data: $0.baseAddress, size: $0.count))
                }
                while code == 0, left > 0 {
                    _ = hb_cursor_entry(cursor, &key, &value)
                    bytes += key.size + value.size
                    left -= 1
                    code = hb_cursor_next(cursor)
                }
            }
            return bytes
        }
    }

    func count(from: [UInt8], to: [UInt8]) throws -> Int {
        try reading { transaction in
            var count: UInt64 = 0
            let code = from.withUnsafeBytes { lower in
                to.withUnsafeBytes { upper in
                    hb_count(
                        transaction, tree, hb_slice(data: lower.baseAddress, size: lower.count),
                        hb_slice(data: upper.baseAddress, size: upper.count), &count)
                }
            }
            try Self.check(code)
            return Int(count)
        }
    }

    func close() throws {
        try Self.check(hb_close(store))
    }
}
