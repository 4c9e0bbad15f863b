// SPDX-License-Identifier: Apache-2.0
// What a transaction has changed and not yet written: for each term a chain of (document, how many occurrences more or
// fewer). Occurrences are summed, not states, so the order of changes doesn't matter and what cancels out vanishes.
//
// A change in a chain is a varint, and mostly one or two bytes: how far its document is from the one of the change
// before (both by their places among the documents, which are given in order), and a bit.
//
//   distance · 2         the distance is positive, the difference 1
//   distance′ · 2 + 1    distance′ is zigzag-coded; the difference follows, a zigzag-coded varint

import HornbeamPages

/// All changes since the last flush. Large buffers: it can't be copied.
struct ChangeBuffer: ~Copyable {
    private(set) var documents = ChangedDocuments()
    private var terms = TermTable()
    private var chains = ByteChains()

    var isEmpty: Bool { documents.isEmpty }

    /// Bytes in use, roughly: what the budget limits.
    var size: Int { terms.size + chains.used + documents.size }

    /// The change of the document, nil if it has none so far.
    func document(_ docno: UInt64) -> DocumentChange? { documents.place(of: docno).map { documents[$0] } }

    /// The place of a document that has a change.
    func place(of docno: UInt64) -> UInt32? { documents.place(of: docno) }

    /// The place of a document that has none yet; until more is known it is one that isn't there.
    mutating func addDocument(_ docno: UInt64) -> UInt32 { documents.add(docno) }

    mutating func setOldLength(_ length: Int64, at place: UInt32) { documents[place].oldLength = length }

    mutating func setNewLength(_ length: Int64, at place: UInt32) { documents[place].newLength = length }

    /// Counts the tokens of `text` in the document at `place` as so many occurrences more (1) or fewer (−1); how many
    /// there are.
    mutating func count(
        _ text: Bytes, document place: UInt32, difference: Int32, _ tokenizer: inout Tokenizer
    ) -> Int64 {
        var count: Int64 = 0
        tokenizer.forEachToken(in: text) { token in
            add(token, document: place, difference: difference)
            count &+= 1
        }
        return count
    }

    /// - Parameter token: from the tokenizer, so memory goes on behind it.
    @inline(__always)
    private mutating func add(_ token: Bytes, document place: UInt32, difference: Int32) {
        let term = terms.find(token)
        if term.pointee.place != place {
            if term.pointee.place != TermTable.none { settle(term) }
            (term.pointee.place, term.pointee.difference) = (place, difference)
        } else {
            // The size of a text is limited so that no sum overflows.
            term.pointee.difference &+= difference
        }
    }

    /// Moves the last change of a term into its chain, since one of another document comes.
    @inline(__always)
    private mutating func settle(_ term: UnsafeMutablePointer<ChangedTerm>) {
        // There are far fewer than 2³¹ documents, and “before the first” is −1.
        let distance = Int32(bitPattern: term.pointee.place &- term.pointee.before)
        if distance > 0, term.pointee.difference == 1 {
            chains.append(varint: UInt64(distance) << 1, to: &term.pointee.chain)
        } else {
            chains.append(varint: Self.zigzag(distance) << 1 | 1, to: &term.pointee.chain)
            chains.append(varint: Self.zigzag(term.pointee.difference), to: &term.pointee.chain)
        }
        term.pointee.before = term.pointee.place
        term.pointee.count &+= 1
    }

    private static func zigzag(_ value: Int32) -> UInt64 { UInt64(UInt32(bitPattern: value << 1 ^ value >> 31)) }

    @inline(__always)
    fileprivate static func unzigzag(_ code: UInt64) -> Int32 {
        let bits = UInt32(truncatingIfNeeded: code)
        return Int32(bitPattern: bits >> 1) ^ -Int32(bitPattern: bits & 1)
    }

    /// Forgets everything; keeps the memory.
    mutating func removeAll() {
        documents.removeAll()
        terms.removeAll()
        chains.removeAll()
    }
}

// Reading it, term by term.
extension ChangeBuffer {
    /// The terms in byte order, those longer than `plainLimit` behind all others.
    func sortedTerms(plainLimit: Int) -> [Int] { terms.sorted(plainLimit: plainLimit) }

    /// The bytes of a term, for the length of `body`.
    func withTerm<Result, Failure: Error>(
        _ number: Int, _ body: (Bytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try terms.withText(terms.term(number), body)
    }

    /// The term's changes, ascending by document, one a document, without those that change nothing.
    func collect(_ number: Int) -> [PostingChange] {
        var (ascends, cancels) = (true, false)
        var changes = documents.withAll { documents in
            let term = terms.term(number).pointee
            return [PostingChange](unsafeUninitializedCapacity: Int(term.count) + 1) { target, count in
                (ascends, cancels) = read(term, documents, to: target)
                count = target.count
            }
        }
        if !ascends {
            Self.sortAndCombine(&changes)
            cancels = true
        }
        if cancels {
            changes.removeAll { $0.difference == 0 && !(document($0.docno)?.shrinks ?? false) }
        }
        return changes
    }

    /// Fills `target` with the term's changes in the order in which they came. Whether they ascend by document, one a
    /// document, and whether any is of no occurrence.
    private func read(
        _ term: ChangedTerm, _ documents: UnsafeBufferPointer<DocumentChange>,
        to target: UnsafeMutableBufferPointer<PostingChange>
    ) -> (ascends: Bool, cancels: Bool) {
        var reader = chains.reader(term.chain)
        var place = UInt32.max
        var (ascends, cancels) = (true, false)
        var last: UInt64 = 0
        for index in 0...Int(term.count) {
            var difference: Int32 = 1
            if index == term.count {
                (place, difference) = (term.place, term.difference)
            } else {
                let code = reader.varint()
                if code & 1 == 0 {
                    place &+= UInt32(truncatingIfNeeded: code >> 1)
                } else {
                    place &+= UInt32(bitPattern: Self.unzigzag(code >> 1))
                    difference = Self.unzigzag(reader.varint())
                }
            }
            let document = documents[Int(place)]
            if document.docno <= last, index > 0 { ascends = false }
            if difference == 0 { cancels = true }
            last = document.docno
            target.initializeElement(
                at: index,
                to: PostingChange(docno: last, difference: Int64(difference), length: document.newLength))
        }
        return (ascends, cancels)
    }

    private static func sortAndCombine(_ changes: inout [PostingChange]) {
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
