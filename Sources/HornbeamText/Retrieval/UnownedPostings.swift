// SPDX-License-Identifier: Apache-2.0
// An unowned reference to a source of postings for inner loops. Its user keeps the source alive, so that no references
// are counted for each block.

import HornbeamPages

/// A source that is owned elsewhere.
struct UnownedPostings {
    private let source: Unmanaged<PostingSource>

    init(_ source: PostingSource) { self.source = .passUnretained(source) }

    @inline(__always)
    private func lend<Result, Failure>(
        _ body: (PostingSource) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try source._withUnsafeGuaranteedRef { (source) -> Swift.Result<Result, Failure> in
            do throws(Failure) { return .success(try body(source)) } catch { return .failure(error) }
        }.get()
    }

    @inline(__always)
    var isAtEnd: Bool { lend { $0.isAtEnd } }
    @inline(__always)
    var blockFirst: UInt32 { lend { $0.blockFirst } }
    @inline(__always)
    var blockLast: UInt32 { lend { $0.blockLast } }
    @inline(__always)
    var blockBound: Bound { lend { $0.blockBound } }
    @inline(__always)
    var secondBlockBound: Bound { lend { $0.secondBlockBound } }
    @inline(__always)
    var isDecoded: Bool { lend { $0.isDecoded } }
    @inline(__always)
    var count: Int { lend { $0.count } }
    @inline(__always)
    var docnos: UnsafePointer<UInt32> { lend { $0.docnos } }
    @inline(__always)
    var frequencies: UnsafePointer<UInt32> { lend { $0.frequencies } }
    @inline(__always)
    var knownLast: UInt32 { lend { $0.knownLast } }

    @inline(__always)
    func seekBlock(_ target: UInt32) throws(StorageError) {
        try lend { (source) throws(StorageError) in try source.seekBlock(target) }
    }

    @inline(__always)
    func nextBlock() throws(StorageError) {
        try lend { (source) throws(StorageError) in try source.nextBlock() }
    }

    @inline(__always)
    func decode(from target: UInt32) throws(StorageError) -> Int {
        try lend { (source) throws(StorageError) in try source.decode(from: target) }
    }

    @inline(__always)
    func decodeBlock(
        to docnos: UnsafeMutablePointer<UInt32>, _ frequencies: UnsafeMutablePointer<UInt32>
    ) throws(StorageError) {
        try lend { (source) throws(StorageError) in try source.decodeBlock(to: docnos, frequencies) }
    }

    @inline(__always)
    func forEachKnownBound(through last: UInt32, _ body: (Bound) -> Void) {
        lend { $0.forEachKnownBound(through: last, body) }
    }

    @inline(__always)
    func readPositions(_ place: Int, into list: PositionList) throws(StorageError) {
        try lend { (source) throws(StorageError) in try source.readPositions(place, into: list) }
    }
}
