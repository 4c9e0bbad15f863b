// SPDX-License-Identifier: Apache-2.0
// What ranking needs to know of the whole index, and what the index must be read with. Exact at every commit.
//
//   offset  size  content
//        0     1  layout of the index, 1
//        1     2  analyzer            (all little-endian)
//        3     2  its version
//        5     4  its version of Unicode: major, minor
//        9   1-…  varints: documents, tokens in all of them, next number of a posting list

import HornbeamPages

/// The one entry of the statistics tree.
package struct TextStatistics: Equatable, Sendable {
    /// All documents of the index, empty ones included.
    package internal(set) var documentCount: UInt64 = 0
    /// Tokens of all documents.
    package internal(set) var totalLength: UInt64 = 0
    /// The number that the next posting list gets. 0 is no number.
    var nextListNumber: UInt32 = 1

    var analyzer: UInt16
    var analyzerVersion: UInt16
    var unicodeMajor: UInt16
    var unicodeMinor: UInt16

    static let key: [UInt8] = [0]
    static let layout: UInt8 = 1

    init(_ analyzer: Analyzer) {
        self.analyzer = analyzer.rawValue
        analyzerVersion = analyzer.version
        (unicodeMajor, unicodeMinor) = analyzer.unicodeVersion
    }

    /// Nil if the bytes are not a statistics entry.
    init?(_ bytes: Bytes) {
        var reader = ByteReader(bytes)
        guard reader.byte() == Self.layout, let analyzer = reader.fixed16(), let analyzerVersion = reader.fixed16(),
            let unicodeMajor = reader.fixed16(), let unicodeMinor = reader.fixed16(),
            let documentCount = reader.varint(), let totalLength = reader.varint(), let next = reader.varint32(),
            next > 0, reader.isAtEnd
        else { return nil }
        (self.analyzer, self.analyzerVersion) = (analyzer, analyzerVersion)
        (self.unicodeMajor, self.unicodeMinor) = (unicodeMajor, unicodeMinor)
        (self.documentCount, self.totalLength, nextListNumber) = (documentCount, totalLength, next)
    }

    func encoded() -> [UInt8] {
        var bytes = [Self.layout]
        for value in [analyzer, analyzerVersion, unicodeMajor, unicodeMinor] { bytes.appendFixed16(value) }
        bytes.appendVarint(documentCount)
        bytes.appendVarint(totalLength)
        bytes.appendVarint(UInt64(nextListNumber))
        return bytes
    }

    /// Refuses an index whose terms were made by other rules than those it would now be asked and changed with.
    func requireSame(_ current: Analyzer, index: String) throws(StorageError) {
        let expected = TextStatistics(current)
        guard analyzer == expected.analyzer, analyzerVersion == expected.analyzerVersion,
            unicodeMajor == expected.unicodeMajor, unicodeMinor == expected.unicodeMinor
        else {
            throw .invalid(
                "the text index “\(index)” was made with analyzer \(analyzer) version \(analyzerVersion) of Unicode "
                    + "\(unicodeMajor).\(unicodeMinor), this library uses \(expected.analyzer) version "
                    + "\(expected.analyzerVersion) of Unicode \(expected.unicodeMajor).\(expected.unicodeMinor): "
                    + "rebuild the index")
        }
    }
}
