// SPDX-License-Identifier: Apache-2.0
// Reads parts of a long value: the page's header and checksums once, then each block when it is first needed. The cost
// of a part depends on its size, not on the value's. Reads with system calls, even if the file is mapped: the returned
// bytes are the verified ones, and an unreadable sector is an error of this value alone.

/// Belongs to one view, and lives no longer than the page that it reads.
package final class LongPageReader {
    /// Size of the value, in bytes.
    package let size: UInt64
    private let number: UInt64
    private let view: PageView
    /// The page, if it belongs to the open transaction and is in memory.
    private let page: Bytes?
    /// The page's bytes before the value, and the checksums of the blocks in them.
    private var head: [UInt8] = []
    private var checksums: [UInt64] = []
    private let cipher: (any PageCipher)?
    /// One block, and its number.
    private var block: [UInt8] = []
    private var loaded: Int?

    /// The value of the page that a reference names. Throws `.corrupt` if the page's head is damaged.
    package init(_ view: PageView, number: UInt64, birth: UInt64, size: UInt64) throws(StorageError) {
        self.view = view
        self.number = number
        self.size = size
        cipher = view.store.verification.cipher
        let expected = Verification.Expectation(
            number: number, birth: birth, kind: .longValue, level: 0,
            sectors: LongPage.sectors(size, isSealed: cipher != nil))
        if let own = view.ownPage(expected) {
            page = own
            return
        }
        page = nil
        let verification = view.store.verification
        head = try readHead(expected)
        checksums = try head.withBytes { (head) throws(StorageError) in
            try verification.checkHead(head, size: size, expected, newestBirth: view.newestBirth(of: expected))
            if let cipher, let start = head.baseAddress,
                let problem = LongPage.headProblem(start, size: size, number: number, with: cipher)
            {
                throw Verification.corrupt(expected, problem)
            }
            return LongPage.checksums(head, size: size)
        }
    }

    private func readHead(_ expected: Verification.Expectation) throws(StorageError) -> [UInt8] {
        try view.store.verification.checkIsInFile(expected)
        return try read(dataOffset, at: 0)
    }

    private func read(_ count: Int, at offset: Int) throws(StorageError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        try bytes.withMutableBytes { (buffer) throws(StorageError) in
            try view.store.verification.readByCall(
                into: buffer, at: number << FileFormat.sectorShift + UInt64(offset))
        }
        return bytes
    }

    /// Copies the value's bytes from `offset` on to `target`, as many as it takes and there are. Returns their number.
    package func read(at offset: UInt64, into target: UnsafeMutableRawBufferPointer) throws(StorageError) -> Int {
        guard offset < size else { return 0 }
        let count = Int(min(UInt64(target.count), size - offset))
        var done = 0
        while done < count {
            let place = Int(offset) + done
            let index = place / LongPage.blockSize
            let inBlock = place % LongPage.blockSize
            let piece = min(LongPage.blockSize - inBlock, count - done)
            let part = UnsafeMutableRawBufferPointer(rebasing: target[done..<done + piece])
            try withBlock(index) { (block) in
                part.copyMemory(from: Bytes(rebasing: block[inBlock..<inBlock + piece]))
            }
            done += piece
        }
        return count
    }

    /// Returns the offset of a block in the page.
    private func first(_ index: Int) -> Int { dataOffset + index * LongPage.blockSize }

    private var dataOffset: Int { LongPage.dataOffset(size, isSealed: cipher != nil) }

    /// Passes all of the value's bytes to `body` in order, at most a block at a time.
    package func forEachBlock(_ body: (Bytes) throws(StorageError) -> Void) throws(StorageError) {
        for index in 0..<LongPage.blocks(size) { try withBlock(index, body) }
    }

    /// Passes a block's bytes to `body`, verified.
    private func withBlock(_ index: Int, _ body: (Bytes) throws(StorageError) -> Void) throws(StorageError) {
        let first = first(index)
        let count = min(LongPage.blockSize, Int(size) - index * LongPage.blockSize)
        if let page { return try body(Bytes(rebasing: page[first..<first + count])) }
        if loaded != index {
            loaded = nil
            block = try read(count, at: first)
            try block.withBytes { (bytes) throws(StorageError) in try verify(bytes, index) }
            try open(index)
            loaded = index
        }
        try block.withBytes { (bytes) throws(StorageError) in try body(bytes) }
    }

    /// Decrypts the block that was read.
    private func open(_ index: Int) throws(StorageError) {
        guard let cipher else { return }
        let problem = block.withMutableBytes { (bytes) in
            head.withBytes { (head) in
                head.baseAddress.flatMap {
                    LongPage.open(index, bytes, size: size, head: $0, number: number, with: cipher)
                }
            }
        }
        if let problem { throw .corrupt(Corruption(page: number, reason: problem)) }
    }

    private func verify(_ bytes: Bytes, _ index: Int) throws(StorageError) {
        guard Checksum.of(bytes, seed: number) == checksums[index] else {
            throw .corrupt(Corruption(page: number, reason: LongPage.blockProblem(index)))
        }
    }
}

extension Verification {
    /// Checks the part of a long value's page before the value.
    fileprivate func checkHead(
        _ head: Bytes, size: UInt64, _ expected: Expectation, newestBirth: UInt64
    ) throws(StorageError) {
        try checkIsTrees(expected)
        try checkBirth(expected, newestBirth)
        guard let start = head.baseAddress else { return }
        let checked = Bytes(rebasing: head[PageLayout.birth...])
        guard PageHeader(reading: start).checksum == Checksum.of(checked, seed: expected.number) else {
            throw Self.corrupt(expected, "its checksum does not match its content")
        }
        try Self.checkIdentity(PageHeader(reading: start), expected)
        guard LongPage.statedSize(head) == size else {
            throw Self.corrupt(expected, "the long value has another size than its entry says")
        }
    }
}
