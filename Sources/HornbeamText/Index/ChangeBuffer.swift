// SPDX-License-Identifier: Apache-2.0
// What a transaction has changed and not yet written: for each term a chain of (document, how many occurrences more or
// fewer). Occurrences are summed, not states, so the order of changes doesn't matter and what cancels out vanishes.
//
//   slots ──hash──▶ terms ──head──▶ postings ──next──▶ postings … (in order of the changes)
//                     └─ bytes of the term in `arena`     └─ document: an index into `documents`

import HornbeamPages

/// A document that changes: the length that its stored entry must have, and the length it has now; −1 is no document.
struct DocumentChange {
    let docno: UInt64
    var oldLength: Int64
    var newLength: Int64

    /// Whether blocks that keep a posting of it may claim too large a smallest length.
    var shrinks: Bool { newLength >= 0 && newLength < oldLength }
}

/// All changes since the last flush. A value with large buffers: keep it in one place.
struct ChangeBuffer {
    struct Term {
        var offset: Int
        var size: Int
        var hash: UInt64
        var head: UInt32
        var tail: UInt32
    }

    struct Posting {
        var document: UInt32
        /// Occurrences more (or fewer) than stored. A text's size is limited so that no sum overflows.
        var difference: Int32
        /// The term's next change, or `none`.
        var next: UInt32
    }

    static let none = UInt32.max

    private(set) var documents: [DocumentChange] = []
    private(set) var terms: [Term] = []
    private(set) var postings: [Posting] = []
    private var arena: [UInt8] = []
    private var documentPlaces: [UInt64: UInt32] = [:]
    /// Open addressing; index of a term + 1, 0 is free. A power of two, at most half full.
    private var slots = [UInt32](repeating: 0, count: 1024)
    /// Different in each buffer, so that nobody can write a text whose words all meet in one slot.
    private let seed = UInt64.random(in: .min ... .max)

    var isEmpty: Bool { documents.isEmpty }

    /// Bytes in use, roughly: what the budget limits.
    var size: Int {
        arena.count + terms.count * (MemoryLayout<Term>.stride + 8) + postings.count * MemoryLayout<Posting>.stride
            + documents.count * 64
    }

    /// The change of the document, nil if it has none so far.
    func document(_ docno: UInt64) -> DocumentChange? {
        documentPlaces[docno].map { documents[Int($0)] }
    }

    /// The place of a document that has a change.
    func place(of docno: UInt64) -> UInt32? { documentPlaces[docno] }

    /// The place of a document that has none yet; until more is known it is one that isn't there.
    mutating func addDocument(_ docno: UInt64) -> UInt32 {
        let place = UInt32(documents.count)
        documentPlaces[docno] = place
        documents.append(DocumentChange(docno: docno, oldLength: -1, newLength: -1))
        return place
    }

    mutating func setOldLength(_ length: Int64, at place: UInt32) { documents[Int(place)].oldLength = length }

    mutating func setNewLength(_ length: Int64, at place: UInt32) { documents[Int(place)].newLength = length }

    /// Adds one occurrence more (1) or fewer (−1) of `token` in the document at `place`.
    mutating func add(_ token: Bytes, document place: UInt32, difference: Int32) {
        let term = self.term(token)
        let tail = terms[term].tail
        if tail != Self.none, postings[Int(tail)].document == place {
            postings[Int(tail)].difference += difference
            return
        }
        let posting = UInt32(postings.count)
        postings.append(Posting(document: place, difference: difference, next: Self.none))
        if tail == Self.none { terms[term].head = posting } else { postings[Int(tail)].next = posting }
        terms[term].tail = posting
    }

    /// The index of the token's term, which is made if it is new.
    private mutating func term(_ token: Bytes) -> Int {
        let hash = Self.hash(token, seed: seed)
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let index = Int(slots[slot]) - 1
            if terms[index].hash == hash, withTerm(index, { $0.order(token) }) == 0 { return index }
            slot = (slot + 1) & (slots.count - 1)
        }
        let index = terms.count
        terms.append(Term(offset: arena.count, size: token.count, hash: hash, head: Self.none, tail: Self.none))
        arena.append(contentsOf: token)
        slots[slot] = UInt32(index + 1)
        if terms.count * 2 > slots.count { grow() }
        return index
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: slots.count * 2)
        for (index, term) in terms.enumerated() {
            var slot = Int(truncatingIfNeeded: term.hash) & (slots.count - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = UInt32(index + 1)
        }
    }

    /// The bytes of a term, for the length of `body`.
    @inline(__always)
    func withTerm<Result, Failure: Error>(
        _ index: Int, _ body: (Bytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let term = terms[index]
        return try arena.withBytes { (bytes) throws(Failure) in
            try body(Bytes(rebasing: bytes[term.offset..<term.offset + term.size]))
        }
    }

    /// The terms in byte order, those longer than `plainLimit` behind all others.
    func sortedTerms(plainLimit: Int) -> [Int] {
        // Most comparisons end within the first eight bytes.
        var heads: [(head: UInt64, index: Int)] = []
        heads.reserveCapacity(terms.count)
        for index in terms.indices {
            let head = withTerm(index) { bytes in
                var head: UInt64 = 0
                for byte in bytes.prefix(8) { head = head << 8 | UInt64(byte) }
                return head << UInt64(8 * (8 - min(8, bytes.count)))
            }
            heads.append((head, index))
        }
        heads.sort { left, right in
            let isLong = (terms[left.index].size > plainLimit, terms[right.index].size > plainLimit)
            if isLong.0 != isLong.1 { return isLong.1 }
            if left.head != right.head { return left.head < right.head }
            return withTerm(left.index) { leftBytes in withTerm(right.index) { leftBytes.order($0) } } < 0
        }
        return heads.map(\.index)
    }

    /// Forgets everything; keeps the memory.
    mutating func removeAll() {
        documents.removeAll(keepingCapacity: true)
        documentPlaces.removeAll(keepingCapacity: true)
        terms.removeAll(keepingCapacity: true)
        postings.removeAll(keepingCapacity: true)
        arena.removeAll(keepingCapacity: true)
        slots = [UInt32](repeating: 0, count: slots.count)
    }

    /// Eight bytes a step; only ever compared within this buffer.
    @inline(__always)
    private static func hash(_ bytes: Bytes, seed: UInt64) -> UInt64 {
        let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
        var hash = (seed ^ UInt64(truncatingIfNeeded: bytes.count)) &* factor
        var offset = 0
        while bytes.count &- offset >= 8 {
            hash = (hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) &* factor
            hash ^= hash >> 29
            offset &+= 8
        }
        var tail: UInt64 = 0
        while offset < bytes.count {
            tail = tail << 8 | UInt64(bytes[offset])
            offset &+= 1
        }
        hash = (hash ^ tail) &* factor
        return hash ^ hash >> 32
    }
}

// Reading it, term by term.
extension ChangeBuffer {
    /// The term's changes, ascending by document, one a document, without those that change nothing.
    func collect(_ term: Int, to changes: inout [PostingChange]) {
        changes.removeAll(keepingCapacity: true)
        var ascends = true
        var cancels = false
        var next = terms[term].head
        while next != ChangeBuffer.none {
            let posting = postings[Int(next)]
            let document = documents[Int(posting.document)]
            if let last = changes.last, last.docno >= document.docno { ascends = false }
            if posting.difference == 0 { cancels = true }
            changes.append(
                PostingChange(
                    docno: document.docno, difference: Int64(posting.difference), length: document.newLength))
            next = posting.next
        }
        if !ascends {
            sortAndCombine(&changes)
            cancels = true
        }
        if cancels {
            changes.removeAll { $0.difference == 0 && !(document($0.docno)?.shrinks ?? false) }
        }
    }

    private func sortAndCombine(_ changes: inout [PostingChange]) {
        changes.sort { $0.docno < $1.docno }
        var count = 0
        for change in changes {
            if count > 0, changes[count - 1].docno == change.docno {
                changes[count - 1].difference += change.difference
            } else {
                changes[count] = change
                count += 1
            }
        }
        changes.removeSubrange(count...)
    }
}
