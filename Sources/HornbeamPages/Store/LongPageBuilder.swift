// SPDX-License-Identifier: Apache-2.0
// Builds a long value's page and writes it to its place in a file, with only a megabyte and the checksums in memory.
// The page's first sectors, which have the header and the checksums of all blocks, come last.

/// Takes the bytes of one page in order. After an error it can't be used any more.
struct LongPageBuilder {
    let run: SectorRun
    /// Size of the value, in bytes.
    let size: UInt64
    /// Number of bytes of the value so far.
    private(set) var count: UInt64 = 0
    /// The sectors with header, checksums and the first bytes of the value.
    private var head: [UInt8]
    /// The bytes that follow, in whole sectors except for the last.
    private var piece: [UInt8] = []
    /// Offset of the piece in the page.
    private var pieceStart: Int
    private let checksum: RunningChecksum
    private let cipher: (any PageCipher)?
    /// In an encrypted store the bytes of the block so far.
    private var block: [UInt8] = []
    private let dataOffset: Int
    /// Number of bytes of the value that are in the head or the pieces, in their stored form.
    private var placed = 0

    /// Number of bytes that are written at once.
    static let pieceSize = 1 << 20

    /// A page at `run`, which must have the number of sectors that a value of `size` bytes needs.
    init(run: SectorRun, size: UInt64, cipher: (any PageCipher)?) {
        self.run = run
        self.size = size
        self.cipher = cipher
        dataOffset = LongPage.dataOffset(size, isSealed: cipher != nil)
        head = [UInt8](repeating: 0, count: FileFormat.sectors(bytes: dataOffset) * FileFormat.sectorSize)
        head.withUnsafeMutableBytes { if let start = $0.baseAddress { LongPage.setSize(size, of: start) } }
        pieceStart = head.count
        checksum = RunningChecksum(seed: run.start)
        piece.reserveCapacity(Swift.min(Self.pieceSize, run.byteCount))
    }

    /// Adds the value's next bytes. There must not be more than it has.
    mutating func append(_ bytes: Bytes, to file: any StoreFile) throws(StorageError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let inBlock = Int(count % UInt64(LongPage.blockSize))
            let part = rest.prefix(LongPage.blockSize - inBlock)
            if cipher == nil {
                checksum.add(Bytes(rebasing: part))
                try place(part, file)
            } else {
                block.append(contentsOf: part)
            }
            count += UInt64(part.count)
            rest = rest.dropFirst(part.count)
            if inBlock + part.count == LongPage.blockSize { try endBlock(file) }
        }
    }

    /// Writes the rest, and the page's head. All of the value must have been added.
    mutating func finish(birth: UInt64, to file: any StoreFile) throws(StorageError) {
        if count % UInt64(LongPage.blockSize) != 0 { try endBlock(file) }
        if !piece.isEmpty {
            let sectors = FileFormat.sectors(bytes: piece.count)
            piece += [UInt8](repeating: 0, count: sectors * FileFormat.sectorSize - piece.count)
            try writePiece(file)
        }
        try head.withMutableBytes { (head) throws(StorageError) in
            guard let start = head.baseAddress else { return }
            PageHeader.write(to: start, birth: birth, kind: .longValue, level: 0, sectors: run.count)
            if let cipher {
                start.set(PageLayout.sealed, at: PageLayout.flags)
                try LongPage.sealHead(start, size: size, number: run.start, with: cipher)
            }
            PageHeader.setChecksum(
                Checksum.of(Bytes(rebasing: head[PageLayout.birth..<dataOffset]), seed: run.start), of: start)
        }
        try write(head, at: 0, file)
    }

    /// Notes the checksum of the block that ends with the last byte added.
    private mutating func endBlock(_ file: any StoreFile) throws(StorageError) {
        let block = Int((count - 1) / UInt64(LongPage.blockSize))
        if let cipher { try seal(block, with: cipher, file) }
        let digest = checksum.finish()
        head.withUnsafeMutableBytes { if let start = $0.baseAddress { LongPage.setChecksum(digest, block, of: start) } }
    }

    /// Encrypts the block, which is complete, and places its bytes.
    private mutating func seal(
        _ number: Int, with cipher: any PageCipher, _ file: any StoreFile
    ) throws(StorageError) {
        let (size, run) = (size, run)
        var bytes: [UInt8] = []
        swap(&bytes, &block)
        try head.withMutableBytes { (head) throws(StorageError) in
            guard let head = head.baseAddress else { return }
            if number == 0 { try LongPage.makeNonce(of: head, size: size, with: cipher) }
            try bytes.withMutableBytes { (bytes) throws(StorageError) in
                try LongPage.seal(number, bytes, size: size, head: head, number: run.start, with: cipher)
            }
        }
        try bytes.withBytes { (bytes) throws(StorageError) in
            checksum.add(bytes)
            try place(bytes[...], file)
        }
        bytes.removeAll(keepingCapacity: true)
        swap(&bytes, &block)
    }

    /// Places bytes in the page: after the checksums first, then in pieces.
    private mutating func place(_ bytes: Slice<Bytes>, _ file: any StoreFile) throws(StorageError) {
        let offset = dataOffset + placed
        placed += bytes.count
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
            if piece.count == Self.pieceSize { try writePiece(file) }
        }
    }

    private mutating func writePiece(_ file: any StoreFile) throws(StorageError) {
        try write(piece, at: pieceStart, file)
        pieceStart += piece.count
        piece.removeAll(keepingCapacity: true)
    }

    private func write(_ bytes: [UInt8], at offset: Int, _ file: any StoreFile) throws(StorageError) {
        let place = run.byteOffset + UInt64(offset)
        try bytes.withBytes { (bytes) throws(StorageError) in try file.write(bytes, at: place) }
    }
}
