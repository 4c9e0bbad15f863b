// SPDX-License-Identifier: Apache-2.0
// The vocabulary of a snapshot in order: the stored terms and those that pending records speak of, in step. A record
// names every term of its document before and now; so of a term that none names the stored entry says all there is.

import HornbeamPages
import HornbeamTree

/// Walks forward through the terms that a document holds. Those that agree in their first 200 bytes come in any order.
struct TermWalk: ~Copyable {
    private let snapshot: TextSnapshot
    private let dictionary: TermDictionary
    private var cursor: Cursor
    private var pending: PendingTermCursor
    /// Whether the cursors stand on a term, and whether that is the current one.
    private var (isThere, hasPending): (Bool, Bool)
    private var (isStored, isPending) = (false, false)
    /// The current term, if it is stored and longer than a key.
    private var long: [UInt8] = []
    /// What is pending for the current term: which of the part's segments speak of it, and as which of their terms.
    private var part = PendingPart.none
    private var places: [(segment: Int, term: Int)] = []

    /// Before the first term that isn't before `start`; `next` goes to it.
    init(_ snapshot: TextSnapshot, from start: [UInt8]) throws(StorageError) {
        self.snapshot = snapshot
        dictionary = TermDictionary(
            transaction: snapshot.transaction, tree: snapshot.trees.terms, index: snapshot.index)
        var stored = try snapshot.transaction.cursor(snapshot.trees.terms)
        isThere = try start.isEmpty ? stored.first() : stored.seek(start)
        cursor = stored
        var pending = snapshot.pending.whole.terms()
        start.withBytes { pending.seek($0) }
        hasPending = pending.advance()
        self.pending = pending
    }

    /// Goes to the next term; false at the end.
    @inline(__always)
    mutating func next() throws(StorageError) -> Bool {
        if isStored { isThere = try cursor.next() }
        if isPending { hasPending = pending.advance() }
        guard isThere, !hasPending, !TermDictionary.isLong(cursor.key) else { return try settle() }
        standOnPlain()
        return true
    }

    /// Goes to the first term that isn't before `target`, which must be above the current one; false at the end.
    mutating func seek(_ target: [UInt8]) throws(StorageError) -> Bool {
        isThere = try cursor.seek(target)
        // Else a walk of a damaged tree might never end.
        guard !isThere || target.withBytes({ cursor.key.order($0) }) >= 0 else {
            throw snapshot.index.corrupt(snapshot.index.termsName, "terms are out of order")
        }
        target.withBytes { pending.seek($0) }
        hasPending = pending.advance()
        return try settle()
    }

    /// The current term's bytes, for the length of `body`.
    @inline(__always)
    func withTerm<Result, Failure: Error>(_ body: (Bytes) throws(Failure) -> Result) throws(Failure) -> Result {
        if !isStored { return try pending.withText(body) }
        return try long.isEmpty ? body(cursor.key) : long.withBytes(body)
    }

    /// Whether nothing pending bears on the current term.
    @inline(__always)
    var isPlain: Bool { places.isEmpty }

    /// What is stored of it.
    func entry() throws(StorageError) -> TermEntry? {
        guard isStored else { return nil }
        return try long.isEmpty ? dictionary.entry(cursor.value) : dictionary.read(cursor).entry
    }

    /// How many documents hold it, and how often they do.
    func frequencies() throws(StorageError) -> (documents: UInt64, occurrences: UInt64) {
        let added: PendingPostings = isPlain ? .none : part.postings(at: places)
        return try TextSnapshot.frequencies(try entry(), added, snapshot.index)
    }

    /// Its postings, stored and pending. The pending ones are not kept: a walk through the vocabulary would drive out
    /// those of the words that are asked for over and over.
    func postings() throws(StorageError) -> TermPostings? {
        let added: PendingPostings = isPlain ? .none : part.postings(at: places)
        return try snapshot.postings(try entry(), added)
    }

    private mutating func standOnPlain() {
        (isStored, isPending) = (true, false)
        if !long.isEmpty { long = [] }
        if !places.isEmpty { places.removeAll(keepingCapacity: true) }
    }

    /// Makes the first of where both stand the current term, if a document holds it.
    private mutating func settle() throws(StorageError) -> Bool {
        while isThere || hasPending {
            long = isThere && TermDictionary.isLong(cursor.key) ? try dictionary.read(cursor).term : []
            let order = order()
            if order < 0, long.isEmpty {
                standOnPlain()
                return true
            }
            (isStored, isPending) = (order <= 0, order >= 0)
            if try stand() { return true }
            if isStored { isThere = try cursor.next() }
            if isPending { hasPending = pending.advance() }
        }
        return false
    }

    /// Of the stored term beside the pending one. A long term stands by its first 200 bytes, before which all others
    /// that are less have come.
    private func order() -> Int {
        if !isThere { return 1 }
        if !hasPending { return -1 }
        return pending.withText { (text) in
            long.isEmpty ? cursor.key.order(text) : long.withBytes { $0.order(text) }
        }
    }

    /// Finds what is pending for the current term; whether a document holds it.
    private mutating func stand() throws(StorageError) -> Bool {
        places.removeAll(keepingCapacity: true)
        part = withTerm { snapshot.part($0) }
        if isPending, isStored || withTerm({ $0.count }) <= TermDictionary.plainLimit {
            // The part's segments are the last ones of all.
            let first = snapshot.pending.whole.segments.count - part.segments.count
            for (segment, term) in pending.current where segment >= first { places.append((segment - first, term)) }
        } else {
            // A stored one that stands elsewhere is told when its place comes.
            if !isStored, try withTerm({ (term) throws(StorageError) in try dictionary.find(term) }) != nil {
                return false
            }
            places = withTerm { part.places(of: $0) }
        }
        if places.isEmpty { return isStored }
        if part.surelyAdds(places) { return true }
        return try frequencies().documents > 0
    }
}
