// SPDX-License-Identifier: Apache-2.0
// One changed document that is not in the stored postings yet: its former and its new state. A small transaction
// appends one of these for each document at the right edge of one tree, instead of changing the posting list of every
// word.
//
//   key     sequence u64, big-endian: one more than the record before
//   value   offset  size  content
//              0     1    bit 0: the document existed before; bit 1: it exists now; bit 2: it has sections;
//                         bit 3: without positions
//              1     8    identity u64, little-endian: checksum of what follows, seeded with the identity of the record
//                         before. So two records with the same identity have the same history.
//              9   1-…    varints: row, document; then for the whole index, after this change: documents, tokens, next
//                         document number, largest row ever, weight of all records ever; fields − 1, up to the last one
//                         with tokens (0 if there is none), and the tokens of each field but the first
//              …     4    if the document exists now: the fingerprint of its text, u32 little-endian
//              …   1-…    varints, if the bits say so: tokens before; tokens now; size of the sections in bytes
//              …     …    the sections now, as the index keeps them
//              …   1-…    varint: terms
//              …     …    the terms of both states, ascending by their bytes
//
//   term       0     1    bytes shared with the term before (high half; 15: a varint follows) and bytes of its own
//                         (low half; 15: a varint follows)
//              …     …    its own bytes
//              …   1-…    varints, if the bits say so: occurrences before, occurrences now (0: none)
//              …     …    unless bit 3 is set: varints, one for each occurrence now: position − position before − 1,
//                         the first one as it is

import HornbeamPages

/// The state of a record's document, and of the index after the record.
struct PendingHeader: Equatable, Sendable {
    /// The counts of the whole index that ranking needs.
    struct Totals: Equatable, Sendable {
        var documentCount: UInt64 = 0
        var totalLength: UInt64 = 0
        var nextDocno: UInt32 = 0
        /// The largest row that was ever added.
        var largestRow: UInt64 = 0
        /// The work to fold all records, counted from the index's beginning. Each record adds its `weight`.
        var weight: UInt64 = 0
        /// Tokens of each field but the first, which has all others. The last of them isn't 0.
        var laterFields: [UInt64] = []

        /// Upper bound of these numbers. Sums and differences of them never overflow.
        static let weightLimit: UInt64 = 1 << 62

        var fieldTotals: FieldTotals {
            // Reading a record checks that they don't exceed the total.
            let first = totalLength &- laterFields.reduce(0, &+)
            return FieldTotals(first == 0 && laterFields.isEmpty ? [] : [first] + laterFields)
        }
    }

    /// Returns the approximate cost of folding a record. A document costs as much as some terms, and many positions as
    /// much as one. Many bytes do, too: this limits the number of texts in memory that consist of one long word.
    static func weight(terms: Int, tokens: Int64, bytes: Int) -> UInt64 {
        UInt64(terms) + UInt64(max(tokens, 0)) / 16 + UInt64(max(bytes, 0)) / 512 + 8
    }

    var row: UInt64
    var docno: UInt32
    /// Number of tokens before and now. −1 means that the document doesn't exist. At most one of them is −1.
    var oldLength: Int64
    var newLength: Int64
    /// The new sections as `DocumentSections` encodes them. Empty if there is a single section.
    var sections: [UInt8] = []
    /// Whether the record has the positions of each term.
    var hasPositions = true
    /// The fingerprint of the new text.
    var fingerprint: UInt32 = 0
    var totals = Totals()

    /// Longer lengths, which no text has, are refused.
    static let lengthLimit: Int64 = 1 << 31
}

/// The change of one term in one document.
struct PendingTerm {
    var oldFrequency: UInt32
    var newFrequency: UInt32
    /// The new positions in the record's encoding.
    var positions: Bytes
}

/// Writes records, one after the other, and reuses its memory. Terms are added in ascending order.
struct PendingRecordWriter: ~Copyable {
    private var bytes = GrowingMemory<UInt8>(capacity: 1024)
    private var hasOld = false
    private var hasNew = false
    private var hasPositions = false
    /// The term before.
    private var last = TermBytes()
    private var missingTerms = 0

    static let identityOffset = 1
    static let contentOffset = 9
    /// Maximum size of a varint of 32 bits.
    private static let varintLimit = 5

    init() {}

    init(_ header: PendingHeader, termCount: Int) { begin(header, termCount: termCount) }

    /// Size of its memory in bytes.
    var byteCount: Int { bytes.byteCount }

    /// Begins a record. The bytes of the record before become invalid.
    mutating func begin(_ header: PendingHeader, termCount: Int) {
        hasOld = header.oldLength >= 0
        hasNew = header.newLength >= 0
        hasPositions = header.hasPositions
        missingTerms = termCount
        last.removeAll()
        bytes.removeAll()
        append(header)
        append(varint: UInt64(termCount))
    }

    private mutating func append(_ header: PendingHeader) {
        bytes.append(
            (hasOld ? 1 : 0) | (hasNew ? 2 : 0) | (header.sections.isEmpty ? 0 : 4)
                | (header.hasPositions ? 0 : 8))
        for _ in Self.identityOffset..<Self.contentOffset { bytes.append(0) }
        append(varint: header.row)
        append(varint: UInt64(header.docno))
        append(varint: header.totals.documentCount)
        append(varint: header.totals.totalLength)
        append(varint: UInt64(header.totals.nextDocno))
        append(varint: header.totals.largestRow)
        append(varint: header.totals.weight)
        append(varint: UInt64(header.totals.laterFields.count))
        for tokens in header.totals.laterFields { append(varint: tokens) }
        if hasNew {
            for shift in stride(from: UInt32(0), to: 32, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: header.fingerprint >> shift))
            }
        }
        if hasOld { append(varint: UInt64(header.oldLength)) }
        if hasNew { append(varint: UInt64(header.newLength)) }
        if !header.sections.isEmpty {
            append(varint: UInt64(header.sections.count))
            for byte in header.sections { bytes.append(byte) }
        }
    }

    private mutating func append(varint value: UInt64) {
        let room = UnsafeMutableRawPointer(bytes.room(for: 2 * Self.varintLimit))
        bytes.setEnd(room.storeVarint(value).assumingMemoryBound(to: UInt8.self))
    }

    /// Adds a term, which must be greater than the terms before.
    /// - Parameter positions: ascending, as many as `newFrequency`. Ignored in a record without positions.
    mutating func add(
        _ term: Bytes, oldFrequency: UInt32, newFrequency: UInt32, positions: UnsafeBufferPointer<UInt32>
    ) {
        missingTerms &-= 1
        guard let text = term.baseAddress else { return }
        let shared = sharedSize(text, term.count)
        let own = term.count &- shared
        let room = bytes.room(for: 1 + (4 &+ positions.count) &* Self.varintLimit &+ own)
        var target = UnsafeMutableRawPointer(room)
        target.storeBytes(of: UInt8(min(shared, 15)) << 4 | UInt8(min(own, 15)), as: UInt8.self)
        target += 1
        if shared >= 15 { target = target.storeVarint(UInt64(shared &- 15)) }
        if own >= 15 { target = target.storeVarint(UInt64(own &- 15)) }
        target.copyShort(text + shared, own)
        target += own
        last.replace(from: shared, with: Bytes(start: text + shared, count: own))
        if hasOld { target = target.storeVarint(UInt64(oldFrequency)) }
        if hasNew {
            target = target.storeVarint(UInt64(newFrequency))
            if hasPositions {
                var next: UInt32 = 0
                for position in positions {
                    target = target.storeVarint(UInt64(position &- next))
                    next = position &+ 1
                }
            }
        }
        bytes.setEnd(target.assumingMemoryBound(to: UInt8.self))
    }

    /// Returns the number of bytes that the term shares with the one before.
    @inline(__always)
    private func sharedSize(_ text: UnsafeRawPointer, _ count: Int) -> Int {
        guard let last = last.bytes.baseAddress else { return 0 }
        let limit = min(self.last.count, count)
        var shared = 0
        while shared < limit,
            last.load(fromByteOffset: shared, as: UInt8.self) == text.load(fromByteOffset: shared, as: UInt8.self)
        { shared &+= 1 }
        return shared
    }

    /// Completes the record, which follows one with identity `previous`. Returns its bytes, valid until the next record
    /// is begun, and its own identity.
    mutating func finish(after previous: UInt64) -> (bytes: Bytes, identity: UInt64) {
        assert(missingTerms == 0, "a record has other terms than it was begun with")
        let record = Bytes(start: bytes.start, count: bytes.count)
        let identity = PendingRecord.identity(of: record, after: previous)
        UnsafeMutableRawPointer(bytes.start)
            .storeBytes(of: identity.littleEndian, toByteOffset: Self.identityOffset, as: UInt64.self)
        return (record, identity)
    }
}

/// A record to be read: its header at once, its terms one after the other. Borrows the bytes.
struct PendingRecord {
    let header: PendingHeader
    let identity: UInt64
    let termCount: Int
    /// The whole record.
    let bytes: Bytes
    private var reader: ByteReader
    private var readTerms = 0
    private var oldTokens: Int64 = 0
    private var newTokens: Int64 = 0

    private var hasOld: Bool { header.oldLength >= 0 }
    private var hasNew: Bool { header.newLength >= 0 }

    /// Reads a record's header. Returns nil if the bytes are not a record. Doesn't read the terms.
    init?(_ bytes: Bytes) {
        var reader = ByteReader(bytes)
        guard let flags = reader.byte(), let identity = reader.fixed(UInt64.self) else { return nil }
        let (hasOld, hasNew) = (flags & 1 != 0, flags & 2 != 0)
        guard flags < 16, hasOld || hasNew, hasNew || flags & 4 == 0 else { return nil }
        guard let row = reader.varint(), let docno = reader.varint32(), let documents = reader.varint(),
            let tokens = reader.varint(), tokens < TextStatistics.lengthLimit, let next = reader.varint32(),
            docno < next,
            let largest = reader.varint(), let weight = reader.varint(), weight < PendingHeader.Totals.weightLimit,
            let laterFields = Self.laterFields(&reader, of: tokens)
        else { return nil }
        var header = PendingHeader(row: row, docno: docno, oldLength: -1, newLength: -1)
        header.totals = PendingHeader.Totals(
            documentCount: documents, totalLength: tokens, nextDocno: next, largestRow: largest, weight: weight,
            laterFields: laterFields)
        header.hasPositions = flags & 8 == 0
        if hasNew {
            guard let fingerprint = reader.fixed(UInt32.self) else { return nil }
            header.fingerprint = fingerprint
        }
        if hasOld {
            guard let length = Self.length(&reader) else { return nil }
            header.oldLength = length
        }
        if hasNew {
            guard let length = Self.length(&reader), documents > 0, UInt64(length) <= tokens else { return nil }
            header.newLength = length
        }
        if flags & 4 != 0 {
            guard let size = reader.varint(), size > 0, let sections = reader.slice(size) else { return nil }
            header.sections = [UInt8](sections)
        }
        // A term takes at least three bytes.
        guard let terms = reader.varint(), terms <= UInt64(reader.rest.count / 3) else { return nil }
        self.bytes = bytes
        self.identity = identity
        self.header = header
        self.reader = reader
        termCount = Int(terms)
    }

    private static func laterFields(_ reader: inout ByteReader, of tokens: UInt64) -> [UInt64]? {
        // Each takes a byte.
        guard let count = reader.varint(), count <= UInt64(reader.rest.count) else { return nil }
        if count == 0 { return [] }
        var fields: [UInt64] = []
        var rest = tokens
        for _ in 0..<count {
            guard let field = reader.varint(), field <= rest else { return nil }
            rest -= field
            fields.append(field)
        }
        return fields.last == 0 ? nil : fields
    }

    private static func length(_ reader: inout ByteReader) -> Int64? {
        guard let length = reader.varint(), length < UInt64(PendingHeader.lengthLimit) else { return nil }
        return Int64(length)
    }

    /// Whether these bytes are a record that follows one with identity `previous`, by its checksum.
    static func follows(_ bytes: Bytes, after previous: UInt64) -> Bool {
        guard bytes.count > PendingRecordWriter.contentOffset else { return false }
        let stored = bytes.loadUnaligned(fromByteOffset: PendingRecordWriter.identityOffset, as: UInt64.self)
        return UInt64(littleEndian: stored) == identity(of: bytes, after: previous)
    }

    /// Returns the identity computed from a record's bytes. Ignores the identity stored in them.
    static func identity(of bytes: Bytes, after previous: UInt64) -> UInt64 {
        let content = Bytes(rebasing: bytes[PendingRecordWriter.contentOffset...])
        return Checksum.of(content, seed: previous &+ UInt64(bytes[0]))
    }

    /// Reads the next term into `term`. Returns nil behind the last one (then `isWhole` is true), or if the record is
    /// damaged.
    @inline(__always)
    mutating func next(into term: inout TermBytes) -> PendingTerm? {
        guard readTerms < termCount, readText(into: &term) else { return nil }
        var change = PendingTerm(oldFrequency: 0, newFrequency: 0, positions: Bytes(start: nil, count: 0))
        if hasOld {
            guard let frequency = reader.varint32() else { return nil }
            change.oldFrequency = frequency
            oldTokens &+= Int64(frequency)
        }
        if hasNew {
            guard let frequency = reader.varint32(),
                let positions = header.hasPositions ? readPositions(frequency) : change.positions
            else { return nil }
            change.newFrequency = frequency
            change.positions = positions
            newTokens &+= Int64(frequency)
        }
        guard change.oldFrequency > 0 || change.newFrequency > 0 else { return nil }
        readTerms += 1
        return change
    }

    /// Whether all terms were read and agree with the header.
    var isWhole: Bool {
        readTerms == termCount && reader.isAtEnd && oldTokens == max(header.oldLength, 0)
            && newTokens == max(header.newLength, 0)
    }

    @inline(__always)
    private mutating func readText(into term: inout TermBytes) -> Bool {
        guard let sizes = reader.byte() else { return false }
        var (shared, own) = (UInt64(sizes >> 4), UInt64(sizes & 15))
        if shared == 15 {
            guard let more = reader.varint(), more <= UInt64(term.count) else { return false }
            shared += more
        }
        if own == 15 {
            guard let more = reader.varint(), more < UInt64(PendingHeader.lengthLimit) else { return false }
            own += more
        }
        guard own > 0, shared <= UInt64(term.count), let bytes = reader.slice(own) else { return false }
        // Terms ascend: its first own byte is greater than the byte there in the term before, or that term is its
        // prefix.
        if readTerms > 0, shared < UInt64(term.count) {
            guard bytes[0] > term.bytes[Int(shared)] else { return false }
        }
        if readTerms == 0, shared > 0 { return false }
        term.replace(from: Int(shared), with: bytes)
        return true
    }

    @inline(__always)
    private mutating func readPositions(_ count: UInt32) -> Bytes? {
        let start = reader.rest
        var next: UInt64 = 0
        // A position takes at least a byte.
        guard UInt64(count) <= UInt64(start.count) else { return nil }
        for _ in 0..<count {
            guard let delta = reader.varint(), delta <= UInt64(UInt32.max) else { return nil }
            next += delta + 1
            guard next <= UInt64(UInt32.max) else { return nil }
        }
        return Bytes(rebasing: start[..<(start.count - reader.rest.count)])
    }
}

/// A term that is built from the one before. It is padded, so that a word of memory can be read at each of its bytes.
struct TermBytes: ~Copyable {
    private var start: UnsafeMutableRawPointer
    private var capacity = 256
    private(set) var count = 0

    static let padding = 8

    init() {
        start = .allocate(byteCount: 256 + Self.padding, alignment: 8)
        start.initializeMemory(as: UInt8.self, repeating: 0, count: 256 + Self.padding)
    }

    deinit { start.deallocate() }

    /// Valid until the next change.
    var bytes: Bytes { Bytes(start: start, count: count) }

    mutating func removeAll() { count = 0 }

    /// - Parameter kept: at most `count`.
    @inline(__always)
    mutating func replace(from kept: Int, with bytes: Bytes) {
        let size = kept + bytes.count
        if size > capacity { grow(to: size) }
        if let source = bytes.baseAddress { (start + kept).copyMemory(from: source, byteCount: bytes.count) }
        count = size
    }

    private mutating func grow(to size: Int) {
        let larger = max(size, 2 * capacity)
        let new = UnsafeMutableRawPointer.allocate(byteCount: larger + Self.padding, alignment: 8)
        new.initializeMemory(as: UInt8.self, repeating: 0, count: larger + Self.padding)
        new.copyMemory(from: start, byteCount: count)
        start.deallocate()
        (start, capacity) = (new, larger)
    }
}
