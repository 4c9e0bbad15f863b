// SPDX-License-Identifier: Apache-2.0
// The inside of a long value's page. Each block of its data has a checksum of its own, so that a part of a value can be
// read and verified without the rest. The page's checksum covers the header and these checksums.
//
//   offset         size
//        0           24  page header; its checksum ends where the data begins
//       24            8  size of the value
//       32   8 × blocks  XXH3-64 of each block as it is stored, seeded with the page's number
//        …           20  nonce                 }
//        …  16 × blocks  tag of each block     } only in an encrypted store
//        …           16  tag of all that precedes it, and of the page's number
//        …         size  the value, in one piece, in an encrypted store each block encrypted; then zeros up to the
//                        sector's end
//
// A block's tag also authenticates its number, the value's size and the page's number. The page's birth is known only
// once all blocks are written: the tag of the head binds them to it.

/// Layout and checksums of long value pages. `isSealed`: whether the page is in an encrypted store.
package enum LongPage {
    /// The size of a block. The last one may be shorter.
    package static let blockSize = 65_536
    private static let size = 24
    private static let table = 32
    /// Sizes are below this, so that sums of them can't overflow.
    private static let sizeLimit: UInt64 = 1 << 32

    /// The number of blocks of a value of `size` bytes.
    package static func blocks(_ size: UInt64) -> Int {
        Int(truncatingIfNeeded: (size + UInt64(blockSize) - 1) / UInt64(blockSize))
    }

    /// The offset of the value in its page.
    package static func dataOffset(_ size: UInt64, isSealed: Bool) -> Int {
        let blocks = blocks(size)
        return nonceOffset(blocks) + (isSealed ? PageSeal.nonceSize + PageSeal.tagSize * (blocks + 1) : 0)
    }

    private static func nonceOffset(_ blocks: Int) -> Int { table + 8 * blocks }
    private static func tagOffset(_ block: Int, of blocks: Int) -> Int {
        nonceOffset(blocks) + PageSeal.nonceSize + PageSeal.tagSize * block
    }

    /// The sectors of a page that holds a value of `size` bytes (below 2^32).
    package static func sectors(_ size: UInt64, isSealed: Bool) -> UInt32 {
        UInt32(truncatingIfNeeded: (size + UInt64(dataOffset(size, isSealed: isSealed)) + 4095) / 4096)
    }

    /// Stores the size of the value that will follow at `dataOffset`.
    package static func setSize(_ size: UInt64, of page: UnsafeMutableRawPointer) { page.set(size, at: Self.size) }

    /// Whether a page belongs to an encrypted store.
    private static func isSealed(_ page: Bytes) -> Bool {
        page.baseAddress.map { $0.u16(PageLayout.flags) & PageLayout.sealed != 0 } ?? false
    }

    /// The offset in the page up to which its checksum reaches; nil if the size that the page states is impossible.
    static func checkedSize(_ page: Bytes) -> Int? {
        guard let size = valueSize(page) else { return nil }
        return dataOffset(size, isSealed: isSealed(page))
    }

    /// The value's size as the page states it; nil if it doesn't fit the page.
    package static func valueSize(_ page: Bytes) -> UInt64? {
        guard let size = statedSize(page),
            Int(sectors(size, isSealed: isSealed(page))) * FileFormat.sectorSize == page.count
        else { return nil }
        return size
    }

    /// Returns the size of the value as the page's first bytes state it. Returns nil if the page is too short, or the
    /// size is not below `sizeLimit`.
    static func statedSize(_ page: Bytes) -> UInt64? {
        guard let start = page.baseAddress, page.count >= table else { return nil }
        let size = start.u64(Self.size)
        return size < sizeLimit ? size : nil
    }

    /// The blocks' checksums, from a page's bytes before the value.
    static func checksums(_ head: Bytes, size: UInt64) -> [UInt64] {
        guard let start = head.baseAddress, head.count >= nonceOffset(blocks(size)) else { return [] }
        return (0..<blocks(size)).map { start.u64(table + 8 * $0) }
    }

    static func setChecksum(_ checksum: UInt64, _ block: Int, of page: UnsafeMutableRawPointer) {
        page.set(checksum, at: table + 8 * block)
    }

    /// Computes the checksums of all blocks.
    static func sealBlocks(_ page: UnsafeMutableRawBufferPointer, number: UInt64) {
        guard let start = page.baseAddress, let size = valueSize(Bytes(page)) else { return }
        for block in 0..<blocks(size) {
            start.set(checksum(of: block, Bytes(page), size: size, number: number), at: table + 8 * block)
        }
    }

    /// Returns what is wrong with a page whose own checksum holds, or nil if every block's checksum holds too.
    static func problem(_ page: Bytes, number: UInt64) -> String? {
        guard let size = valueSize(page) else { return sizeProblem }
        for block in 0..<blocks(size) {
            if let problem = problem(ofBlock: block, page, size: size, number: number) { return problem }
        }
        return nil
    }

    private static let sizeProblem = "the size of its value doesn't fit it"

    /// Returns the fault of one block of such a page, or nil if the block's checksum holds.
    static func problem(ofBlock block: Int, _ page: Bytes, size: UInt64, number: UInt64) -> String? {
        guard let start = page.baseAddress else { return "it is empty" }
        let isRight = start.u64(table + 8 * block) == checksum(of: block, page, size: size, number: number)
        return isRight ? nil : blockProblem(block)
    }

    static func blockProblem(_ block: Int) -> String { "the checksum of block \(block) of its value does not match" }

    /// The bytes of a block in the page.
    private static func range(of block: Int, _ page: Bytes, size: UInt64) -> Range<Int> {
        let offset = dataOffset(size, isSealed: isSealed(page))
        let first = offset + block * blockSize
        return first..<min(first + blockSize, offset + Int(size))
    }

    private static func checksum(of block: Int, _ page: Bytes, size: UInt64, number: UInt64) -> UInt64 {
        Checksum.of(Bytes(rebasing: page[range(of: block, page, size: size)]), seed: number)
    }
}

// MARK: Encryption

extension LongPage {
    /// Encrypts the value of a page, in place.
    static func seal(
        _ page: UnsafeMutableRawBufferPointer, number: UInt64, with cipher: any PageCipher
    ) throws(StorageError) {
        guard let start = page.baseAddress, let size = valueSize(Bytes(page)) else {
            throw .corrupt(Corruption(page: number, reason: sizeProblem))
        }
        try makeNonce(of: start, size: size, with: cipher)
        for block in 0..<blocks(size) {
            let bytes = UnsafeMutableRawBufferPointer(rebasing: page[range(of: block, Bytes(page), size: size)])
            try seal(block, bytes, size: size, head: start, number: number, with: cipher)
        }
        sealBlocks(page, number: number)
        try sealHead(start, size: size, number: number, with: cipher)
    }

    /// Decrypts the value of a stored page, in place. Returns the page's fault, or nil.
    static func open(
        _ page: UnsafeMutableRawBufferPointer, number: UInt64, with cipher: any PageCipher
    ) -> String? {
        guard let start = page.baseAddress, let size = valueSize(Bytes(page)) else { return sizeProblem }
        if let problem = headProblem(start, size: size, number: number, with: cipher) { return problem }
        for block in 0..<blocks(size) {
            let bytes = UnsafeMutableRawBufferPointer(rebasing: page[range(of: block, Bytes(page), size: size)])
            if let problem = open(block, bytes, size: size, head: start, number: number, with: cipher) {
                return problem
            }
        }
        return nil
    }

    /// Draws the nonce of a page. `head`: the page's bytes before the value.
    static func makeNonce(
        of head: UnsafeMutableRawPointer, size: UInt64, with cipher: any PageCipher
    ) throws(StorageError) {
        try cipher.makeNonce(head + nonceOffset(blocks(size)))
    }

    /// Encrypts a block in place, and puts its tag into the head, which has the nonce.
    static func seal(
        _ block: Int, _ bytes: UnsafeMutableRawBufferPointer, size: UInt64, head: UnsafeMutableRawPointer,
        number: UInt64, with cipher: any PageCipher
    ) throws(StorageError) {
        let blocks = blocks(size)
        try withContext(number, size) { (context) throws(StorageError) in
            try cipher.sealBlock(
                UInt32(block), bytes, context: context, nonce: head + nonceOffset(blocks),
                tag: head + tagOffset(block, of: blocks))
        }
    }

    /// Decrypts a block in place. Returns its fault, or nil.
    static func open(
        _ block: Int, _ bytes: UnsafeMutableRawBufferPointer, size: UInt64, head: UnsafeRawPointer, number: UInt64,
        with cipher: any PageCipher
    ) -> String? {
        let blocks = blocks(size)
        let isOpen = try? withContext(number, size) { (context) throws(StorageError) in
            cipher.open(
                UInt32(block), bytes, context: context, nonce: head + nonceOffset(blocks),
                tag: head + tagOffset(block, of: blocks))
        }
        return isOpen == true ? nil : "block \(block) of its value: " + PageSeal.forged
    }

    private static func withContext<Result>(
        _ number: UInt64, _ size: UInt64, _ body: (Bytes) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { (context) throws(StorageError) in
            context.baseAddress?.set(number, at: 0)
            context.baseAddress?.set(size, at: 8)
            return try body(Bytes(context))
        }
    }

    /// Sets the tag of the head, which is final except for the page's checksum.
    static func sealHead(
        _ head: UnsafeMutableRawPointer, size: UInt64, number: UInt64, with cipher: any PageCipher
    ) throws(StorageError) {
        let blocks = blocks(size)
        let context = headContext(head, size, number)
        try context.withBytes { (context) throws(StorageError) in
            try cipher.sealBlock(
                headBlock, nothing, context: context, nonce: head + nonceOffset(blocks),
                tag: head + tagOffset(blocks, of: blocks))
        }
    }

    /// Returns the fault of a page's head, or nil.
    static func headProblem(
        _ head: UnsafeRawPointer, size: UInt64, number: UInt64, with cipher: any PageCipher
    ) -> String? {
        let blocks = blocks(size)
        let isRight = headContext(head, size, number).withBytes { (context) in
            cipher.open(
                headBlock, nothing, context: context, nonce: head + nonceOffset(blocks),
                tag: head + tagOffset(blocks, of: blocks))
        }
        return isRight ? nil : PageSeal.forged
    }

    /// Stands for the head where blocks have their number, which is below 2^16.
    private static let headBlock = UInt32.max
    private static var nothing: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: nil, count: 0) }

    private static func headContext(_ head: UnsafeRawPointer, _ size: UInt64, _ number: UInt64) -> [UInt8] {
        let blocks = blocks(size)
        let end = tagOffset(blocks, of: blocks)
        var context = [UInt8](repeating: 0, count: 8)
        context.withUnsafeMutableBytes { $0.baseAddress?.set(number, at: 0) }
        context.append(contentsOf: Bytes(start: head + PageLayout.birth, count: end - PageLayout.birth))
        return context
    }
}
