// SPDX-License-Identifier: Apache-2.0
// Applies a term's changes to its entry and its posting list. A list of at most `TermEntry.inlineCapacity` postings
// lives in the dictionary, a longer one in blocks of the postings tree; a term without postings has no entry. The one
// writer of both trees: after it, keys name the first document of their block and blocks of a list don't overlap.

import HornbeamPages
import HornbeamTree

/// What changes for one document of a term.
struct PostingChange {
    let docno: UInt64
    /// Occurrences more (or fewer) than stored; 0 only if the document became shorter.
    var difference: Int64
    /// The document's length now, −1 if it is gone.
    let length: Int64
}

/// Where posting lists are written. Lives for one flush.
struct PostingListEditor: ~Copyable {
    private let dictionary: TermDictionary
    private let tree: TreeID
    /// Whether the dictionary held nothing before: plain terms come in order and are appended.
    private let isNew: Bool
    private(set) var nextListNumber: UInt32

    private var cursor: Cursor
    private var decoded: DecodedBlock
    private var merged = Postings()
    private var value: [UInt8] = []
    private var addedDocuments: Int64 = 0
    private var addedOccurrences: Int64 = 0

    private var index: TextIndex { dictionary.index }
    private var transaction: Transaction { dictionary.transaction }

    /// Blocks with fewer postings look for a neighbour to join; together they stay below `joinedLimit`.
    private static let smallBlock = PostingBlock.capacity / 4
    private static let joinedLimit = PostingBlock.capacity * 3 / 4

    init(_ dictionary: TermDictionary, postings: TreeID, nextListNumber: UInt32) throws(StorageError) {
        let isNew = try dictionary.transaction.count(dictionary.tree) == 0
        cursor = try dictionary.transaction.cursor(postings)
        self.dictionary = dictionary
        self.tree = postings
        self.nextListNumber = nextListNumber
        self.isNew = isNew
        decoded = DecodedBlock()
    }

    /// Applies `changes`, ascending by document, at most one a document.
    mutating func apply(_ changes: [PostingChange], to term: Bytes) throws(StorageError) {
        (addedDocuments, addedOccurrences) = (0, 0)
        merged.removeAll()
        if term.count > TermDictionary.plainLimit {
            let found = try dictionary.findLong(term)
            value.removeAll(keepingCapacity: true)
            TermDictionary.appendRest(of: term, to: &value)
            let kept = try rewrite(found.entry, changes)
            try found.key.withBytes { (key) throws(StorageError) in
                try store(kept, key, existed: found.entry != nil, appends: false)
            }
        } else {
            let entry = isNew ? nil : try dictionary.find(term)
            value.removeAll(keepingCapacity: true)
            let kept = try rewrite(entry, changes)
            try store(kept, term, existed: entry != nil, appends: isNew)
        }
    }

    /// Changes the postings. The entry as it is now, without its block if that is inline: `merged` holds the postings.
    private mutating func rewrite(
        _ entry: TermEntry?, _ changes: [PostingChange]
    ) throws(StorageError) -> TermEntry {
        let number = entry?.listNumber ?? 0
        if number != 0 {
            try edit(number, changes)
        } else {
            try decodeInline(entry)
            try merge(changes[...])
        }
        var result = TermEntry(listNumber: number, documentFrequency: 0, collectionFrequency: 0)
        let documents = Self.sum(entry?.documentFrequency ?? 0, addedDocuments)
        let occurrences = Self.sum(entry?.collectionFrequency ?? 0, addedOccurrences)
        guard let documents, let occurrences, occurrences >= documents else { throw outOfStep() }
        (result.documentFrequency, result.collectionFrequency) = (documents, occurrences)
        if number != 0, documents <= UInt64(TermEntry.inlineCapacity) {
            try collectAndDelete(number, expected: documents)
            result.listNumber = 0
        } else if number == 0, documents > UInt64(TermEntry.inlineCapacity) {
            result.listNumber = try takeListNumber()
            try writeBlocks(result.listNumber, packs: true, isNew: true)
        }
        return result
    }

    /// Writes the dictionary's entry, or removes it. `value` begins with the rest of a long term.
    private mutating func store(
        _ entry: TermEntry, _ key: Bytes, existed: Bool, appends: Bool
    ) throws(StorageError) {
        guard entry.documentFrequency > 0 else {
            if existed { _ = try transaction.delete(dictionary.tree, key) }
            return
        }
        entry.encode(to: &value)
        if entry.listNumber == 0 {
            value.appendVarint(merged[0].docno)
            merged.encode(0..<merged.count, to: &value)
        }
        try value.withBytes { (value) throws(StorageError) in
            if appends {
                try transaction.append(dictionary.tree, key, value)
            } else {
                try transaction.put(dictionary.tree, key, value)
            }
        }
    }

    private mutating func takeListNumber() throws(StorageError) -> UInt32 {
        guard nextListNumber < .max else {
            throw .invalid("the text index “\(index.prefix)” has used up its numbers of posting lists: rebuild it")
        }
        defer { nextListNumber += 1 }
        return nextListNumber
    }

    private static func sum(_ stored: UInt64, _ difference: Int64) -> UInt64? {
        let (sum, overflows) = Int64(clamping: stored).addingReportingOverflow(difference)
        return overflows || sum < 0 ? nil : UInt64(sum)
    }

    private func outOfStep() -> StorageError {
        index.corrupt(index.termsName, "the frequencies of a term don't agree with its posting list")
    }
}

// Postings in memory.
extension PostingListEditor {
    private mutating func decodeInline(_ entry: TermEntry?) throws(StorageError) {
        decoded.removeAll()
        guard let entry else { return }
        guard decoded.decode(entry.block, first: entry.first), UInt64(decoded.count) == entry.documentFrequency else {
            throw index.corrupt(index.termsName, "the postings in a term's entry are not readable")
        }
    }

    /// Appends the decoded block with the changes in it to `merged`.
    private mutating func merge(_ changes: ArraySlice<PostingChange>) throws(StorageError) {
        if decoded.count == 0, insert(changes) { return }
        var old = 0
        for change in changes {
            while old < decoded.count, decoded.docnos[old] < change.docno { keep(&old) }
            var stored: Int64 = 0
            if old < decoded.count, decoded.docnos[old] == change.docno {
                stored = Int64(decoded.frequencies[old])
                old += 1
            }
            let now = stored + change.difference
            // A document can't hold a term more often than it has tokens, and one that is gone (−1) not at all.
            guard now == 0 || now > 0 && now <= change.length else {
                throw index.corrupt(
                    index.postingsName,
                    "document \(change.docno) would have \(now) occurrences of a term after a change to "
                        + "\(max(change.length, 0)) tokens: index and text are out of step")
            }
            if now > 0 {
                merged.append(change.docno, UInt32(clamping: now), UInt32(clamping: change.length))
            }
            addedDocuments += (now > 0 ? 1 : 0) - (stored > 0 ? 1 : 0)
            addedOccurrences += change.difference
        }
        while old < decoded.count { keep(&old) }
    }

    /// Appends the changes to `merged` where nothing was, which is most of what there is to write: false, and nothing
    /// done, if they aren't all plain postings.
    private mutating func insert(_ changes: ArraySlice<PostingChange>) -> Bool {
        var occurrences: Int64 = 0
        for change in changes {
            guard change.difference > 0, change.difference <= change.length else { return false }
            occurrences &+= change.difference
        }
        merged.append(changes)
        addedDocuments += Int64(changes.count)
        addedOccurrences += occurrences
        return true
    }

    /// Appends the decoded block as it is.
    private mutating func keepAll() {
        var old = 0
        while old < decoded.count { keep(&old) }
    }

    private mutating func keep(_ old: inout Int) {
        merged.append(decoded.docnos[old], decoded.frequencies[old], decoded.shortestLength)
        old += 1
    }
}

// Posting lists in blocks.
extension PostingListEditor {
    /// Applies the changes block by block; each takes those up to the first document of the next.
    private mutating func edit(_ number: UInt32, _ changes: [PostingChange]) throws(StorageError) {
        var start = 0
        while start < changes.count {
            let first = try findBlock(number, changes[start].docno)
            let isLast = decoded.docnos[decoded.count - 1] < changes[start].docno
            let next = try cursor.next() ? PostingKey(cursor.key, list: number) : nil
            var end = start + 1
            while end < changes.count, next.map({ changes[end].docno < $0.first }) ?? true { end += 1 }
            merged.removeAll()
            try merge(changes[start..<end])
            var replaced = [first]
            if !merged.isEmpty, merged.count < Self.smallBlock {
                if let joined = try joinNeighbour(number, of: first, next: next?.first) { replaced.append(joined) }
            }
            let kept = merged.isEmpty ? nil : merged[0].docno
            for old in replaced where old != kept {
                _ = try transaction.delete(tree, PostingKey(list: number, first: old).bytes)
            }
            try writeBlocks(number, packs: next == nil && isLast, isNew: false)
            start = end
        }
        merged.removeAll()
    }

    /// Puts the cursor on the block that holds `docno` or would, and decodes it. Its first document.
    private mutating func findBlock(_ number: UInt32, _ docno: UInt64) throws(StorageError) -> UInt64 {
        if try cursor.seekLast(PostingKey(list: number, first: docno).bytes),
            let key = PostingKey(cursor.key, list: number)
        {
            try decode(key)
            return key.first
        }
        guard try cursor.seek(PostingKey(list: number, first: 0).bytes),
            let key = PostingKey(cursor.key, list: number)
        else { throw outOfStep() }
        try decode(key)
        return key.first
    }

    private mutating func decode(_ key: PostingKey) throws(StorageError) {
        guard decoded.decode(cursor.value, first: key.first) else {
            throw index.corrupt(index.postingsName, PostingKey.unreadable(key))
        }
    }

    /// Adds the block behind, or else before, to `merged` if the two together are still small. Its first document.
    private mutating func joinNeighbour(
        _ number: UInt32, of first: UInt64, next: UInt64?
    ) throws(StorageError) -> UInt64? {
        var neighbour = next.map { PostingKey(list: number, first: $0) }
        if neighbour == nil, try cursor.seek(PostingKey(list: number, first: first).bytes), try cursor.previous() {
            neighbour = PostingKey(cursor.key, list: number)
        }
        guard let neighbour, try cursor.seek(neighbour.bytes) else { return nil }
        try decode(neighbour)
        guard decoded.count + merged.count <= Self.joinedLimit else { return nil }
        let later = merged
        if next == nil { merged.removeAll() }
        keepAll()
        if next == nil { merged.append(later) }
        try requireAscending()
        return neighbour.first
    }

    private func requireAscending() throws(StorageError) {
        guard merged.ascends else {
            throw index.corrupt(index.postingsName, "blocks of a posting list overlap")
        }
    }

    /// Writes `merged` as blocks: full ones if more will be appended, else of even size, so that each has room. Leaves
    /// `value` as it was.
    private mutating func writeBlocks(_ number: UInt32, packs: Bool, isNew: Bool) throws(StorageError) {
        let count = merged.count
        let blocks = (count + PostingBlock.capacity - 1) / PostingBlock.capacity
        var start = 0
        for block in 0..<blocks {
            let end = packs ? min(start + PostingBlock.capacity, count) : count * (block + 1) / blocks
            let prefixSize = value.count
            merged.encode(start..<end, to: &value)
            try PostingKey(list: number, first: merged[start].docno).bytes.withBytes { (key) throws(StorageError) in
                try value.withBytes { (bytes) throws(StorageError) in
                    let block = Bytes(rebasing: bytes[prefixSize...])
                    // A new list has the greatest number so far.
                    if isNew { try transaction.append(tree, key, block) } else { try transaction.put(tree, key, block) }
                }
            }
            value.removeSubrange(prefixSize...)
            start = end
        }
    }

    /// Takes a whole list out of the postings tree into `merged`.
    private mutating func collectAndDelete(_ number: UInt32, expected: UInt64) throws(StorageError) {
        merged.removeAll()
        let start = PostingKey(list: number, first: 0).bytes
        var isThere = try cursor.seek(start)
        while isThere, let key = PostingKey(cursor.key, list: number) {
            try decode(key)
            keepAll()
            guard UInt64(merged.count) <= expected else { throw outOfStep() }
            isThere = try cursor.next()
        }
        guard UInt64(merged.count) == expected else { throw outOfStep() }
        try requireAscending()
        var end: [UInt8] = []
        end.appendBigEndian(number)
        end.append(contentsOf: repeatElement(0xFF, count: 9))
        _ = try start.withBytes { (from) throws(StorageError) in
            try end.withBytes { (to) throws(StorageError) in try transaction.deleteRange(tree, from: from, to: to) }
        }
    }
}
