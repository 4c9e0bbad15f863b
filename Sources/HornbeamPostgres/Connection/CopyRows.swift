// SPDX-License-Identifier: Apache-2.0
// The text format of COPY: a line for each row, tabs between its fields, `\N` for NULL, and a backslash before each
// character of a field that would be read as one of these.

import Hornbeam

/// Rows on their way to the server.
struct CopyRows {
    private var bytes: [UInt8] = []
    private var isFirst = true
    private let send: ([UInt8]) throws(HornbeamError) -> Void

    /// Number of bytes that are gathered before they are sent.
    private static let batch = 1 << 16

    init(_ send: @escaping ([UInt8]) throws(HornbeamError) -> Void) {
        self.send = send
        bytes.reserveCapacity(Self.batch + 4096)
    }

    private mutating func begin() {
        if !isFirst { bytes.append(UInt8(ascii: "\t")) }
        isFirst = false
    }

    mutating func null() {
        begin()
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(UInt8(ascii: "N"))
    }

    mutating func field(_ text: some Sequence<UInt8>) {
        begin()
        for byte in text {
            switch byte {
            case UInt8(ascii: "\\"): escape(UInt8(ascii: "\\"))
            case UInt8(ascii: "\t"): escape(UInt8(ascii: "t"))
            case UInt8(ascii: "\n"): escape(UInt8(ascii: "n"))
            case UInt8(ascii: "\r"): escape(UInt8(ascii: "r"))
            default: bytes.append(byte)
            }
        }
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
    }

    mutating func endRow() throws(HornbeamError) {
        bytes.append(UInt8(ascii: "\n"))
        isFirst = true
        if bytes.count >= Self.batch { try flush() }
    }

    mutating func flush() throws(HornbeamError) {
        if bytes.isEmpty { return }
        try send(bytes)
        bytes.removeAll(keepingCapacity: true)
    }
}

/// A row that came from the server.
struct CopiedRow: ~Copyable {
    private var bytes: [UInt8] = []
    /// The range of each field in `bytes`. Nil for NULL.
    private var fields: [Range<Int>?] = []

    /// Calls `body` with a field's bytes, nil for NULL or a field that isn't there.
    func field<Result>(_ number: Int, _ body: (UnsafeRawBufferPointer?) throws -> Result) throws -> Result {
        guard fields.indices.contains(number), let place = fields[number] else { return try body(nil) }
        return try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[place])) }
    }

    /// Reads a line, with or without its end.
    mutating func read(_ line: UnsafeRawBufferPointer) throws(HornbeamError) {
        bytes.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
        var start = 0
        var isNull = false
        var place = 0
        while place < line.count {
            let byte = line[place]
            place += 1
            switch byte {
            case UInt8(ascii: "\t"), UInt8(ascii: "\n"):
                fields.append(isNull ? nil : start..<bytes.count)
                (start, isNull) = (bytes.count, false)
                if byte == UInt8(ascii: "\n") { return }
            case UInt8(ascii: "\\"):
                guard place < line.count else {
                    throw HornbeamError(.server, "a row that the server sends ends within a field")
                }
                let escaped = line[place]
                place += 1
                if escaped == UInt8(ascii: "N") { isNull = true } else { bytes.append(Self.plain(escaped)) }
            default: bytes.append(byte)
            }
        }
        fields.append(isNull ? nil : start..<bytes.count)
    }

    private static func plain(_ escaped: UInt8) -> UInt8 {
        switch escaped {
        case UInt8(ascii: "b"): 8
        case UInt8(ascii: "t"): 9
        case UInt8(ascii: "n"): 10
        case UInt8(ascii: "v"): 11
        case UInt8(ascii: "f"): 12
        case UInt8(ascii: "r"): 13
        default: escaped
        }
    }
}
