// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the text index's own entries are replaced by hostile bytes; searching, changing and checking the index
// may give typed errors and nothing else.

import HornbeamPages
import HornbeamText
import HornbeamTree

/// The first byte chooses the tree, the second the entry, whose value becomes the rest of `input`. If bit 6 of the
/// first byte is set, the rest changes the value instead: each pair of bytes is a position and a new byte. Unless bit
/// 7 is set, the checksums of pending records are corrected: otherwise these records are refused before they are
/// read.
public func fuzzText(_ input: UnsafeRawBufferPointer) {
    guard input.count >= 2 else { return }
    do throws(StorageError) {
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        defer { transaction.abort() }
        let index = TextIndex(prefix: "t:")
        let writer = try TextIndexWriter(index, in: transaction)
        // Enough documents for a list beside the postings in entries.
        for document in 0..<UInt64(90) {
            try writer.insert(document, text: "common word\(document % 7) rare\(document) \(document * 31 % 11)")
        }
        try writer.flush()
        try leavePending(index, transaction)
        let names = [
            index.termsName, index.postingsName, index.positionsName, index.documentsName, index.statisticsName,
            index.pendingName,
        ]
        guard let tree = try transaction.tree(names[Int(input[0] & 63) % names.count]) else { return }
        var cursor = try transaction.cursor(tree)
        guard try cursor.seek(index: UInt64(input[1]) % max(1, transaction.count(tree))) else { return }
        let key = Array(cursor.key)
        var value = Array(input.dropFirst(2))
        if input[0] & 64 != 0 {
            let changes = value
            value = Array(cursor.value)
            for place in stride(from: 1, to: changes.count, by: 2) where !value.isEmpty {
                value[Int(changes[place - 1]) % value.count] = changes[place]
            }
        }
        try transaction.put(tree, key, value)
        if input[0] & 128 == 0 { try index.sealPending(in: transaction) }
        use(index, transaction)
    } catch {}
}

/// A few documents that are added, changed and removed, as records, and a batch of them that is being folded.
private func leavePending(_ index: TextIndex, _ transaction: Transaction) throws(StorageError) {
    for document in UInt64(100)..<110 {
        let limits = PendingLimits(pending: 80, slice: 60)
        let writer = try TextIndexWriter(index, in: transaction, limits: limits)
        try writer.insert(document, text: "common word\(document % 7) pending\(document)")
        let old = document - 90
        try writer.update(old, from: "common word\(old % 7) rare\(old) \(old * 31 % 11)", to: "common changed")
        try writer.flush()
    }
}

/// Replaces an entry, a run or its positions in a list of several blocks by `input` after its first byte. The lowest
/// two bits of that byte choose the changed part; its highest bits choose the kind of documents: with one field, with
/// three fields, with one field and no positions, with three fields and pending records. If bit 5 is set, the value
/// is changed instead, by pairs of a position and a byte.
public func fuzzPostings(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    do throws(StorageError) {
        let store = try TreeStore.inMemory()
        let transaction = try store.beginWrite()
        defer { transaction.abort() }
        let kind = choice >> 6
        let index = TextIndex(prefix: "t:", storesPositions: kind != 2)
        func text(_ row: UInt64) -> DocumentText {
            let text = row % 5 == 0 ? "common word3 common" : "other common rare\(row)"
            guard kind % 2 == 1 else { return DocumentText(text) }
            let title = row % 7 == 0 ? "common" : "title"
            return DocumentText(fields: [[title], row % 3 == 0 ? [] : ["word3"], [text, "a"]])
        }
        let writer = try TextIndexWriter(index, in: transaction)
        // Enough for leaders, and for counts of fields in blocks.
        for row in 0..<UInt64(300) { try writer.insert(row * 3, text(row)) }
        try writer.flush()
        if kind == 3 {
            let writer = try TextIndexWriter(index, in: transaction)
            for row in 0..<UInt64(12) { try writer.update(row * 60, from: text(row * 20), to: text(row)) }
            try writer.insert(2_000, text(7))
            try writer.flush()
        }
        let name = [index.postingsName, index.positionsName, index.termsName][Int(choice & 3) % 3]
        guard let tree = try transaction.tree(name) else { return }
        var cursor = try transaction.cursor(tree)
        let key = name == index.termsName ? Array("common".utf8) : []
        guard try key.isEmpty ? cursor.first() : cursor.seek(key) else { return }
        try transaction.put(tree, Array(cursor.key), changed(Array(cursor.value), input, choice & 32 != 0))
        use(index, transaction, text(1))
    } catch {}
}

/// Returns the input after its first byte, or the value changed by it.
private func changed(_ value: [UInt8], _ input: UnsafeRawBufferPointer, _ keeps: Bool) -> [UInt8] {
    guard keeps, !value.isEmpty else { return Array(input.dropFirst()) }
    var value = value
    for place in stride(from: 2, to: input.count, by: 2) {
        value[Int(input[place - 1]) % value.count] = input[place]
    }
    return value
}

/// Any bytes are cut into tokens by every analyzer of the library, which must be UTF-8 and never longer than the text
/// allows. The first byte chooses the analyzer.
public func fuzzTokens(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    let languages = StemmingLanguage.allCases
    let keepsAccents = choice & 1 == 1
    let language = Int(choice >> 2) % (languages.count + 1)
    let rules: Analyzer.Rules =
        choice & 2 == 0
        ? .unicode(keepsAccents: keepsAccents, stemming: language == 0 ? nil : languages[language - 1])
        : language == 0 ? .words : .trigrams(keepsAccents: keepsAccents)
    var tokenizer = Tokenizer(Analyzer(rules))
    let text = String(decoding: input.dropFirst(), as: UTF8.self)
    var count = 0
    tokenizer.forEachToken(in: text) { token in
        count += 1
        precondition(!token.isEmpty && token.count <= 9 * text.utf8.count, "a token of \(token.count) bytes")
        precondition(String(validating: token, as: UTF8.self) != nil, "a token is not UTF-8")
    }
    // Case folding may make three letters of one, each of which begins a trigram.
    precondition(count <= 3 * text.unicodeScalars.count, "\(count) tokens")
}

/// - Parameter text: the text of row 3.
private func use(
    _ index: TextIndex, _ transaction: Transaction, _ text: DocumentText = DocumentText("common word3 rare3 5")
) {
    do throws(StorageError) {
        let searcher = try TextSearcher(index, in: transaction)
        _ = try searcher.search("common rare3 word5", limit: 5)
        _ = try searcher.matches("word1")
        let queries: [TextQuery] = [
            .phrase("common word3", slop: 1), .near([.words("rare3 word3"), .prefix("com")], within: 4),
            .all([.prefix("wor"), .wildcard("c*n")]),
            .without(.everything, .fuzzy("comon", distance: 1, prefixLength: 1)),
            .field([0], .words("common other")), .field([1, 2], .all([.words("common"), .words("word3")])),
            .words("common"), .any([.field([2], .words("common")), .words("word3")]),
            .all([.near([.words("common"), .words("word3")], within: 4), .phrase("common word3", slop: 0)]),
        ]
        for query in queries {
            // Damage found by one search may be irrelevant to another.
            do throws(StorageError) { _ = try searcher.search(query, limit: 3, weights: [2]) } catch {}
            do throws(StorageError) { _ = try searcher.search(query, limit: 12) } catch {}
            do throws(StorageError) { _ = try searcher.count(query, filter: .documents([3, 6, 30])) } catch {}
        }
        // Reads everything, positions too.
        _ = try TextCheck(index, in: transaction).run { (body) throws(StorageError) in
            try body(3, text)
        }
    } catch {}
    do throws(StorageError) {
        let writer = try TextIndexWriter(index, in: transaction)
        try writer.insert(1_000, text: "common word1 new")
        try writer.remove(3, text)
        try writer.flush()
    } catch {}
}
