// SPDX-License-Identifier: Apache-2.0
// What ranking needs to know of the whole index, and what the index must be read with. Exact at every commit.
//
//   offset  size  content
//        0     1  layout of the index, 2
//        1     1  size of the analyzer's identity
//        2   0-…  that identity, UTF-8: its rules, their version, the version of Unicode, what its stemmer does
//             1-…  varints: documents, tokens in all of them, next number of a posting list

import HornbeamPages

/// The one entry of the statistics tree.
package struct TextStatistics: Equatable, Sendable {
    /// All documents of the index, empty ones included.
    package internal(set) var documentCount: UInt64 = 0
    /// Tokens of all documents.
    package internal(set) var totalLength: UInt64 = 0
    /// The number that the next posting list gets. 0 is no number.
    var nextListNumber: UInt32 = 1

    /// Of the analyzer that made the terms.
    private var identity: String

    static let key: [UInt8] = [0]
    static let layout: UInt8 = 2

    init(_ analyzer: Analyzer) {
        identity = analyzer.identity
    }

    /// Nil if the bytes are not a statistics entry.
    init?(_ bytes: Bytes) {
        var reader = ByteReader(bytes)
        guard reader.byte() == Self.layout, let size = reader.byte(), let identity = reader.slice(UInt64(size)),
            let documentCount = reader.varint(), let totalLength = reader.varint(), let next = reader.varint32(),
            next > 0, reader.isAtEnd
        else { return nil }
        self.identity = String(decoding: identity, as: UTF8.self)
        (self.documentCount, self.totalLength, nextListNumber) = (documentCount, totalLength, next)
    }

    func encoded() -> [UInt8] {
        let identity = identity.utf8.prefix(255)
        var bytes = [Self.layout, UInt8(identity.count)]
        bytes += identity
        bytes.appendVarint(documentCount)
        bytes.appendVarint(totalLength)
        bytes.appendVarint(UInt64(nextListNumber))
        return bytes
    }

    /// Whether the terms were made by this analyzer, and this version of it.
    func isSame(_ current: Analyzer) -> Bool {
        // What is longer was cut.
        identity.utf8.elementsEqual(current.identity.utf8.prefix(255))
    }

    /// Refuses an index whose terms were made by other rules than those it would now be asked and changed with.
    func requireSame(_ current: Analyzer, index: String) throws(StorageError) {
        guard isSame(current) else {
            throw .invalid(
                "the text index “\(index)” was made by the analyzer “\(identity)”, this library has "
                    + "“\(current.identity)”: rebuild the index")
        }
    }
}
