// SPDX-License-Identifier: Apache-2.0
// One commit in the journal. A record begins at a multiple of 64 bytes: right after the one before it, or, if that is
// durable, in the next sector, so that a torn write can't damage an acknowledged neighbour. The rest of its last 64
// bytes, and the rest of the sector after the sector's last record, is zero. The payload is the tree layer's redo,
// opaque here.
//
//   offset size
//        0    4  magic "HBJR"
//        4    4  version of this layout, 1
//        8    8  size of the payload in bytes
//       16    8  generation of the journal: the header's
//       24    8  transaction
//       32    8  newest transaction known durable when this was written
//       40    8  checksum of the record before it; in the first record the generation
//       48    8  checksum: XXH3-64 of the payload, seeded with that of this header (with zero in this field)
//       56    4  first sector of the ring  } for a search that finds the record
//       60    4  sectors of the ring       } without a header
//       64       payload; in an encrypted store nonce 20 · redo, encrypted · tag 16, which also authenticates the
//                header without its checksum

struct JournalRecord: Equatable {
    var payloadSize: Int
    var generation: UInt64
    var transaction: UInt64
    var durable: UInt64
    var previous: UInt64
    var checksum: UInt64 = 0
    /// The ring that the record states. Not used if a header gives the ring.
    var ring: JournalRing

    static var headerSize: Int { 64 }
    static var magic: UInt32 { 0x524A_4248 }
    static var version: UInt32 { 1 }

    fileprivate static let zeros = [UInt8](repeating: 0, count: FileFormat.sectorSize)

    /// Alignment of records in bytes: a record may begin at any multiple of it.
    static var alignment: UInt64 { 64 }

    /// The largest payload in a ring of this size: a record may take half of it.
    static func maximumPayload(ringBytes: Int) -> Int { ringBytes / 2 - headerSize }
    /// Number of bytes that a record takes in the ring.
    static func size(payload: Int) -> UInt64 {
        (UInt64(headerSize + payload) + alignment - 1) / alignment * alignment
    }
    var size: UInt64 { Self.size(payload: payloadSize) }

    /// Appends the record, padded to its alignment, and returns its checksum.
    func append(payload: Bytes, to buffer: inout [UInt8]) -> UInt64 {
        precondition(payload.count == payloadSize, "a record's size is its payload's")
        let checksum = withHeader { header in
            let checksum = Self.checksum(header: Bytes(header), payload: payload)
            header.baseAddress?.set(checksum, at: 48)
            buffer.append(contentsOf: header)
            return checksum
        }
        buffer.append(contentsOf: payload)
        buffer.appendZeros(Int(size) - Self.headerSize - payload.count)
        return checksum
    }

    private func withHeader<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeTemporaryAllocation(byteCount: Self.headerSize, alignment: 8) { (buffer) throws(Failure) in
            buffer.initializeMemory(as: UInt8.self, repeating: 0)
            if let bytes = buffer.baseAddress {
                bytes.set(Self.magic, at: 0)
                bytes.set(Self.version, at: 4)
                bytes.set(UInt64(payloadSize), at: 8)
                bytes.set(generation, at: 16)
                bytes.set(transaction, at: 24)
                bytes.set(durable, at: 32)
                bytes.set(previous, at: 40)
                bytes.set(UInt32(truncatingIfNeeded: ring.first), at: 56)
                bytes.set(UInt32(truncatingIfNeeded: ring.count), at: 60)
            }
            return try body(buffer)
        }
    }

    /// The checksum of a record. The checksum field of `header` must be zero.
    private static func checksum(header: Bytes, payload: Bytes) -> UInt64 {
        Checksum.of(payload, seed: Checksum.of(header, seed: 0))
    }

    /// Whether this is the payload that the header was written for.
    func isWhole(payload: Bytes) -> Bool {
        withHeader { Self.checksum(header: Bytes($0), payload: payload) } == checksum
    }
}

// MARK: Encryption

extension JournalRecord {
    /// Encrypts `redo`. Returns the payload of an encrypted store's record: `payloadSize` bytes.
    func sealed(_ redo: Bytes, with cipher: any PageCipher) throws(StorageError) -> [UInt8] {
        var payload = [UInt8](repeating: 0, count: redo.count + PageSeal.reserve)
        try payload.withMutableBytes { (payload) throws(StorageError) in
            guard let start = payload.baseAddress else { return }
            let content = UnsafeMutableRawBufferPointer(
                rebasing: payload[PageSeal.nonceSize..<PageSeal.nonceSize + redo.count])
            content.copyMemory(from: redo)
            try withHeader { (header) throws(StorageError) in
                try cipher.seal(
                    content, context: Bytes(header), nonce: start,
                    tag: start + (PageSeal.nonceSize + redo.count))
            }
        }
        return payload
    }

    /// Returns the redo of an encrypted store's record, or nil if authentication fails.
    func open(_ payload: Bytes, with cipher: any PageCipher) -> [UInt8]? {
        guard payload.count >= PageSeal.reserve, let start = payload.baseAddress else { return nil }
        let end = payload.count - PageSeal.tagSize
        var redo = Array(payload[PageSeal.nonceSize..<end])
        let isOpen = redo.withMutableBytes { (redo) in
            withHeader { cipher.open(0, redo, context: Bytes($0), nonce: start, tag: start + end) }
        }
        return isOpen ? redo : nil
    }
}

extension JournalRecord {
    /// Reads a header (`headerSize` bytes). Returns nil if it is none. Doesn't check the payload: see `isWhole`.
    init?(reading header: UnsafeRawPointer) {
        let size = header.u64(8)
        guard header.u32(0) == Self.magic, header.u32(4) == Self.version,
            size < FileFormat.maximumJournalSectors << FileFormat.sectorShift,
            header.u64(24) < FileFormat.maximumNumber
        else { return nil }
        self.init(
            payloadSize: Int(size), generation: header.u64(16), transaction: header.u64(24), durable: header.u64(32),
            previous: header.u64(40), checksum: header.u64(48),
            ring: JournalRing(first: UInt64(header.u32(56)), count: UInt64(header.u32(60))))
    }
}

extension [UInt8] {
    /// Appends less than a sector of zeros.
    mutating func appendZeros(_ count: Int) {
        // A slice is copied at once, any other sequence element by element.
        append(contentsOf: JournalRecord.zeros[..<count])
    }
}
