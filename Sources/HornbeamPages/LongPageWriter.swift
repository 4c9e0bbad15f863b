// SPDX-License-Identifier: Apache-2.0
// Writing a long value's page piece by piece to its place in the file, of which memory holds a megabyte and the
// checksums. Nothing leads to the place before the transaction commits. The page's first sectors, with the header and
// the checksums of all blocks, come last.

/// Belongs to one write transaction. A page that isn't finished is the transaction's all the same, until it is freed.
package final class LongPageWriter {
    /// Of the value, in bytes.
    package let size: UInt64
    package let birth: UInt64
    private let pages: PageWriter
    private let run: SectorRun
    /// The sectors that hold header and checksums, and the value's first bytes behind them.
    private var head: [UInt8]
    /// What follows, whole sectors but for the last.
    private var piece: [UInt8] = []
    /// Where the piece lies in the page.
    private var pieceStart: Int
    private var checksum: RunningChecksum
    /// Bytes of the value so far.
    package private(set) var count: UInt64 = 0

    /// Written at once.
    private static let pieceSize = 1 << 20

    /// Takes the place of a value of `size` bytes. Throws `.full` when no space is left.
    package init(_ pages: PageWriter, size: UInt64) throws(StorageError) {
        guard pages.isOpen else { throw .invalid("the transaction has ended") }
        self.pages = pages
        self.size = size
        birth = pages.birth
        // Pieces reach the file before the transaction ends, as it may without a commit.
        pages.side.usedNumber = Swift.max(pages.side.usedNumber, birth)
        let sectors = LongPage.sectors(size)
        run = SectorRun(start: try pages.takeRun(sectors), count: sectors)
        pages.side.frames.addSpilled(run)
        head = [UInt8](
            repeating: 0, count: FileFormat.sectors(bytes: LongPage.dataOffset(size)) * FileFormat.sectorSize)
        pieceStart = head.count
        checksum = RunningChecksum(seed: run.start)
        piece.reserveCapacity(Self.pieceSize)
    }

    /// The page's number. Only a finished page may be referred to.
    package var number: UInt64 { run.start }

    /// Whether the page is still the transaction's: rolling back to an earlier savepoint takes it away.
    package var isAlive: Bool { pages.isOpen && pages.side.frames.isSpilled(run) }

    /// Adds the value's next bytes.
    package func append(_ bytes: Bytes) throws(StorageError) {
        guard isAlive else {
            throw .invalid("the value's place was given up by a rollback, or the transaction has ended")
        }
        guard UInt64(bytes.count) <= size - count else {
            throw .invalid("more bytes than the \(size) that the value was to have")
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            let inBlock = Int(count % UInt64(LongPage.blockSize))
            let part = rest.prefix(LongPage.blockSize - inBlock)
            checksum.add(Bytes(rebasing: part))
            try place(part)
            count += UInt64(part.count)
            rest = rest.dropFirst(part.count)
            if inBlock + part.count == LongPage.blockSize { endBlock() }
        }
    }

    /// Notes the checksum of the block that ends with the last byte added.
    private func endBlock() {
        let block = Int((count - 1) / UInt64(LongPage.blockSize))
        let digest = checksum.finish()
        head.withUnsafeMutableBytes { if let start = $0.baseAddress { LongPage.setChecksum(digest, block, of: start) } }
    }

    /// Puts bytes where they belong: behind the checksums, then into pieces.
    private func place(_ bytes: Slice<Bytes>) throws(StorageError) {
        let offset = LongPage.dataOffset(size) + Int(count)
        var rest = bytes
        if offset < head.count {
            let first = rest.prefix(head.count - offset)
            head.replaceSubrange(offset..<offset + first.count, with: first)
            rest = rest.dropFirst(first.count)
        }
        while !rest.isEmpty {
            let part = rest.prefix(Self.pieceSize - piece.count)
            piece.append(contentsOf: part)
            rest = rest.dropFirst(part.count)
            if piece.count == Self.pieceSize { try writePiece() }
        }
    }

    private func writePiece() throws(StorageError) {
        try write(piece, at: pieceStart)
        pieceStart += piece.count
        piece.removeAll(keepingCapacity: true)
    }

    private func write(_ bytes: [UInt8], at offset: Int) throws(StorageError) {
        try pages.checkWritable()
        let place = run.byteOffset + UInt64(offset)
        try bytes.withBytes { (bytes) throws(StorageError) in try pages.side.file.write(bytes, at: place) }
    }

    /// Writes what is left, and the page's head. All of the value has been added.
    package func finish() throws(StorageError) {
        guard count == size else { throw .invalid("the value was to have \(size) bytes, and has \(count)") }
        guard isAlive else {
            throw .invalid("the value's place was given up by a rollback, or the transaction has ended")
        }
        if count % UInt64(LongPage.blockSize) != 0 { endBlock() }
        if !piece.isEmpty {
            let sectors = FileFormat.sectors(bytes: piece.count)
            piece += [UInt8](repeating: 0, count: sectors * FileFormat.sectorSize - piece.count)
            try writePiece()
        }
        head.withUnsafeMutableBytes { (head) in
            guard let start = head.baseAddress else { return }
            PageHeader.write(to: start, birth: birth, kind: .longValue, level: 0, sectors: run.count)
            LongPage.setSize(size, of: start)
            PageHeader.setChecksum(
                Checksum.of(Bytes(rebasing: head[PageLayout.birth..<LongPage.dataOffset(size)]), seed: run.start),
                of: start)
        }
        try write(head, at: 0)
    }
}
