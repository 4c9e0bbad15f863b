// SPDX-License-Identifier: Apache-2.0
// The counts of a whole index that ranking needs, and the rules with which it must be read.
//
//   offset  size  content
//        0     1  layout of the index, 9
//        1     1  size of the analyzer's identity
//        2   0-…  that identity, UTF-8: its rules, their version, the version of Unicode, a fingerprint of its stemmer
//             1-…  varints: documents, tokens in all of them
//                1  1 if positions are kept, else 0
//             1-…  varints: next number of a posting list, next document number, number of exceptions of the
//                  DocumentMap
//             1-…  1 and varint the largest row that is no exception, or 0
//             1-…  varint size, then as many bytes: the state of folding pending records; empty if none are pending
//             1-…  varint number of fields, and a varint for each: its tokens in all documents; the last isn't 0
//
// All this is in step with the tree of documents at every commit. If records are pending, the last of them holds the
// exact counts of the whole index instead. Earlier layouts have the same beginning, up to the tokens. Later ones will
// have the same first byte.

import HornbeamPages
import HornbeamTree

/// The one entry of the statistics tree.
package struct TextStatistics: Equatable, Sendable {
    /// Number of documents of the index, including empty ones.
    package internal(set) var documentCount: UInt64 = 0
    /// Number of tokens of all documents.
    package internal(set) var totalLength: UInt64 = 0
    /// Number of tokens of each field in all documents.
    var fieldTotals = FieldTotals()
    /// The number of the next posting list. 0 is no number.
    var nextListNumber: UInt32 = 1
    /// The number of the next document.
    var nextDocno: UInt32 = 0
    /// Number of exceptions of the document map.
    var exceptionCount: UInt64 = 0
    /// The largest row that isn't an exception.
    var largestRow: UInt64?
    /// The state of folding pending documents.
    var foldState: [UInt8] = []

    /// The layout that was read.
    private(set) var layout = currentLayout
    private var storesPositions: Bool
    /// Identity of the analyzer that made the terms.
    private var identity: String

    static let key: [UInt8] = [0]
    static let currentLayout: UInt8 = 9
    /// Upper bound of an index's tokens. Sums and differences of `totalLength` and a document's length never overflow.
    static let lengthLimit: UInt64 = 1 << 62

    init(_ index: TextIndex) {
        identity = index.analyzer.identity
        storesPositions = index.storesPositions
    }

    /// Reads the statistics of an index. Throws `.corrupt` if they are missing or not readable, `.unsupported` if a
    /// newer version of the library wrote them.
    static func read(
        _ tree: TreeID, of index: TextIndex, in transaction: Transaction
    ) throws(StorageError) -> TextStatistics {
        let bytes = try transaction.get(tree, key)
        if let layout = bytes?.first, layout > currentLayout {
            throw .unsupported(
                "the text index “\(index.prefix)” has layout \(layout), this library reads and writes layout "
                    + "\(currentLayout): it was made by a newer version, open the store with that")
        }
        guard let bytes, let statistics = TextStatistics(bytes) else {
            throw index.corrupt(
                index.statisticsName, "the statistics of the index are missing or not readable")
        }
        return statistics
    }

    /// Returns nil if the bytes are not a statistics entry. Reads only the identity and the counts of an older layout.
    init?(_ bytes: Bytes) {
        var reader = ByteReader(bytes)
        guard let layout = reader.byte(), layout > 0, layout <= Self.currentLayout, let size = reader.byte(),
            let identity = reader.slice(UInt64(size)), let documentCount = reader.varint(),
            let totalLength = reader.varint(), totalLength < Self.lengthLimit
        else { return nil }
        self.layout = layout
        self.identity = String(decoding: identity, as: UTF8.self)
        (self.documentCount, self.totalLength) = (documentCount, totalLength)
        storesPositions = false
        guard layout == Self.currentLayout else { return }
        guard let positions = reader.byte(), positions <= 1, let next = reader.varint32(), next > 0,
            let nextDocno = reader.varint32(), documentCount <= UInt64(nextDocno), let exceptions = reader.varint(),
            exceptions <= documentCount, let hasRow = reader.byte(), hasRow <= 1,
            let row = hasRow == 1 ? reader.varint() : .some(0), let foldSize = reader.varint(),
            let fold = reader.slice(foldSize), let totals = Self.totals(&reader), reader.isAtEnd
        else { return nil }
        storesPositions = positions == 1
        (nextListNumber, self.nextDocno, exceptionCount, largestRow) = (
            next, nextDocno, exceptions, hasRow == 1 ? row : nil
        )
        foldState = [UInt8](fold)
        fieldTotals = totals
    }

    private static func totals(_ reader: inout ByteReader) -> FieldTotals? {
        // Each takes a byte.
        guard let count = reader.varint(), count <= UInt64(reader.rest.count) else { return nil }
        var tokens: [UInt64] = []
        for _ in 0..<count {
            guard let total = reader.varint() else { return nil }
            tokens.append(total)
        }
        return tokens.last == 0 ? nil : FieldTotals(tokens)
    }

    func encoded() -> [UInt8] {
        let identity = identity.utf8.prefix(255)
        var bytes = [Self.currentLayout, UInt8(identity.count)]
        bytes += identity
        bytes.appendVarint(documentCount)
        bytes.appendVarint(totalLength)
        bytes.append(storesPositions ? 1 : 0)
        bytes.appendVarint(UInt64(nextListNumber))
        bytes.appendVarint(UInt64(nextDocno))
        bytes.appendVarint(exceptionCount)
        bytes.append(largestRow == nil ? 0 : 1)
        if let largestRow { bytes.appendVarint(largestRow) }
        bytes.appendVarint(UInt64(foldState.count))
        bytes += foldState
        bytes.appendVarint(UInt64(fieldTotals.tokens.count))
        for total in fieldTotals.tokens { bytes.appendVarint(total) }
        return bytes
    }

    /// Whether this analyzer version made the terms and they are stored in the current layout, with or without
    /// positions as declared.
    func isSame(_ current: TextIndex) -> Bool {
        layout == Self.currentLayout && storesPositions == current.storesPositions && isSame(current.analyzer)
    }

    private func isSame(_ current: Analyzer) -> Bool {
        // A longer identity was cut.
        identity == current.identity || identity.utf8.elementsEqual(current.identity.utf8.prefix(255))
    }

    /// Throws `.invalid` if the index was made by another analyzer, in another layout or with another declaration of
    /// positions.
    func requireSame(_ current: TextIndex) throws(StorageError) {
        guard isSame(current.analyzer) else {
            throw .invalid(
                "the text index “\(current.prefix)” was made by the analyzer “\(identity)”, this library has "
                    + "“\(current.analyzer.identity)”: rebuild the index")
        }
        guard layout == Self.currentLayout else {
            throw .invalid(
                "the text index “\(current.prefix)” has layout \(layout), this library reads and writes layout "
                    + "\(Self.currentLayout): rebuild the index")
        }
        guard storesPositions == current.storesPositions else {
            throw .invalid(
                "the text index “\(current.prefix)” was made \(storesPositions ? "with" : "without") positions and is "
                    + "now declared \(storesPositions ? "without" : "with") them: rebuild the index")
        }
    }
}
