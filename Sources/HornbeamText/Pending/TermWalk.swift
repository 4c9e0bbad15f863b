// SPDX-License-Identifier: Apache-2.0
// The vocabulary of a snapshot in order: the stored terms and the terms of pending records, side by side. A record
// names every term of its document's former and new text. So the stored entry of a term that no record names is
// complete.

import HornbeamPages
import HornbeamTree

/// Walks forward through the terms that a document holds. Terms with the same first 200 bytes come in any order.
struct TermWalk: ~Copyable {
    private let snapshot: TextSnapshot
    private let dictionary: TermDictionary
    private var cursor: Cursor
    private var pending: PendingTermCursor
    /// Whether each cursor is at a term, and whether that term is the current one.
    private var (isThere, hasPending): (Bool, Bool)
    private var (isStored, isPending) = (false, false)
    /// The current term, if it is stored and longer than a key.
    private var long: [UInt8] = []
    /// The pending part for the current term, its segments that have the term, and the term's number in each.
    private var part = PendingPart.none
    private var places: [(segment: Int, term: Int)] = []

    /// Starts before the first term that isn't below `start`. Call `next` to move to it.
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

    /// Moves to the next term. Returns false at the end.
    @inline(__always)
    mutating func next() throws(StorageError) -> Bool {
        if isStored { isThere = try cursor.next() }
        if isPending { hasPending = pending.advance() }
        guard isThere, !hasPending, !TermDictionary.isLong(cursor.key) else { return try settle() }
        standOnPlain()
        return true
    }

    /// Moves to the first term that isn't below `target`, which must be above the current term. Returns false at the
    /// end.
    mutating func seek(_ target: [UInt8]) throws(StorageError) -> Bool {
        isThere = try cursor.seek(target)
        // Otherwise the walk of a damaged tree might never end.
        guard !isThere || target.withBytes({ cursor.key.order($0) }) >= 0 else {
            throw snapshot.index.corrupt(snapshot.index.termsName, "terms are out of order")
        }
        target.withBytes { pending.seek($0) }
        hasPending = pending.advance()
        return try settle()
    }

    /// Calls `body` with the current term's bytes, which are valid during the call.
    @inline(__always)
    func withTerm<Result, Failure: Error>(_ body: (Bytes) throws(Failure) -> Result) throws(Failure) -> Result {
        if !isStored { return try pending.withText(body) }
        return try long.isEmpty ? body(cursor.key) : long.withBytes(body)
    }

    /// Whether no pending record names the current term.
    @inline(__always)
    var isPlain: Bool { places.isEmpty }

    /// Returns the stored entry of the current term.
    func entry() throws(StorageError) -> TermEntry? {
        guard isStored else { return nil }
        return try long.isEmpty ? dictionary.entry(cursor.value) : dictionary.read(cursor).entry
    }

    /// Returns the numbers of documents and occurrences of the current term.
    func frequencies() throws(StorageError) -> (documents: UInt64, occurrences: UInt64) {
        let added: PendingPostings = isPlain ? .none : part.postings(at: places)
        return try TextSnapshot.frequencies(try entry(), added, snapshot.index)
    }

    /// Returns the postings of the current term, stored and pending. Doesn't cache the pending ones: a walk through the
    /// vocabulary would displace the words that are asked for often.
    func postings() throws(StorageError) -> TermPostings? {
        let added: PendingPostings = isPlain ? .none : part.postings(at: places)
        return try snapshot.postings(try entry(), added)
    }

    private mutating func standOnPlain() {
        (isStored, isPending) = (true, false)
        if !long.isEmpty { long = [] }
        if !places.isEmpty { places.removeAll(keepingCapacity: true) }
    }

    /// Makes the smaller of the two cursors' terms current, if a document holds it. Otherwise moves on.
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

    /// Compares the stored term with the pending one. A long term comes in the order of its first 200 bytes, behind all
    /// other terms that are smaller.
    private func order() -> Int {
        if !isThere { return 1 }
        if !hasPending { return -1 }
        return pending.withText { (text) in
            long.isEmpty ? cursor.key.order(text) : long.withBytes { $0.order(text) }
        }
    }

    /// Finds the pending changes of the current term. Returns whether a document holds it.
    private mutating func stand() throws(StorageError) -> Bool {
        places.removeAll(keepingCapacity: true)
        part = withTerm { snapshot.part($0) }
        if isPending, isStored || withTerm({ $0.count }) <= TermDictionary.plainLimit {
            // The part's segments are the last ones of all segments.
            let first = snapshot.pending.whole.segments.count - part.segments.count
            for (segment, term) in pending.current where segment >= first { places.append((segment - first, term)) }
        } else {
            // A long term that is also stored is reported when the stored cursor reaches it.
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
