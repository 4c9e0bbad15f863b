// SPDX-License-Identifier: Apache-2.0
// The stored form of pages in an encrypted store. The page header stays in clear, so that salvage and checkpoints
// recognise a page without the key. All else is encrypted. The nonce and the tag take the place of `reserve` bytes that
// the page's owner leaves empty.
//
//        offset  size
//             0    24  page header, flag 2 set; its checksum is that of these stored bytes
//            24   ...  the page's other bytes except the reserve, encrypted
//     size − 36    20  nonce
//     size − 16    16  tag
//
// The reserve of a raw node is before the common prefix of its keys, whose size is the u16 at offset 26. The reserve of
// every other page is at its end. Long values have a layout of their own: `LongPage`.
//
// The tag also authenticates the page's number and bytes 8 ..< 24 of its header: a page from another place, or with
// another birth, is refused like one with other content.

import Glibc

/// Encryption and authentication (AEAD) under the data key of one store, as the layers below the key see it.
///
/// A nonce is 20 random bytes, drawn anew for everything that is written. A counter could be set back by a crash, by a
/// copy of the file that is also written to, or by a restored backup. The first 12 bytes choose a key of their own, the
/// other 8 and a block number are the nonce under it, as in XAES-256-GCM (Valsorda, 2023): after 2^64 writes two nonces
/// are equal with a probability of 2^-33.
package protocol PageCipher: AnyObject, Sendable {
    /// The cipher of one file. Its key is derived from the data key and the file's identifier, so that pages of a
    /// backup, which has the same data key, can't pass for pages of this file.
    func bound(to identifier: StoreIdentifier) throws(StorageError) -> any PageCipher
    /// Fills in a new nonce.
    func makeNonce(_ nonce: UnsafeMutableRawPointer) throws(StorageError)
    /// Encrypts in place one block of something larger. No two blocks of one nonce may have the same number.
    func sealBlock(
        _ block: UInt32, _ bytes: UnsafeMutableRawBufferPointer, context: Bytes, nonce: UnsafeRawPointer,
        tag: UnsafeMutableRawPointer
    ) throws(StorageError)
    /// Decrypts in place the result of `seal` (block 0) or `sealBlock`. Returns false if the bytes are no such result,
    /// or were made with another context or key; the bytes are worthless then.
    func open(
        _ block: UInt32, _ bytes: UnsafeMutableRawBufferPointer, context: Bytes, nonce: UnsafeRawPointer,
        tag: UnsafeRawPointer
    ) -> Bool
}

extension PageCipher {
    /// Encrypts `bytes` in place under a new nonce, and writes the nonce and the tag.
    package func seal(
        _ bytes: UnsafeMutableRawBufferPointer, context: Bytes, nonce: UnsafeMutableRawPointer,
        tag: UnsafeMutableRawPointer
    ) throws(StorageError) {
        try makeNonce(nonce)
        try sealBlock(0, bytes, context: context, nonce: nonce, tag: tag)
    }
}

/// The key that a program gives for a store. It opens or makes the store's data key.
package protocol StoreEncryption: Sendable {
    /// Makes a new data key, and the key slots of a header that lead to it.
    func create() throws(StorageError) -> (slots: KeySlots, cipher: any PageCipher)
    /// Returns the data key of a store, or nil if no key slot is for this key.
    func unlock(_ slots: KeySlots) throws(StorageError) -> (any PageCipher)?
    /// Returns key slots that lead to the same data key with this key, and with the keys of `slots` unless it is nil.
    func wrap(_ cipher: any PageCipher, beside slots: KeySlots?) throws(StorageError) -> KeySlots
}

/// The random identifier of a store.
package struct StoreIdentifier: Equatable, Sendable {
    package var low: UInt64
    package var high: UInt64

    static func random() -> StoreIdentifier {
        StoreIdentifier(low: .random(in: 0...UInt64.max), high: .random(in: 0...UInt64.max))
    }
}

/// The part of a header slot that leads from a key to the data key. This layer only stores it.
package struct KeySlots: Equatable, Sendable {
    package static let size = 1024
    /// `size` bytes.
    package let bytes: [UInt8]

    /// Returns nil unless there are `size` bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.bytes = bytes
    }
}

/// Authentication of the sectors of an encrypted store whose content, up to 128 bytes, is in clear: the shared root,
/// the journal's witness and the mark of a clean end. Nonce and tag follow the content.
enum SectorSeal {
    private static let content = 128

    /// Sets the nonce and the tag. Does nothing without a cipher.
    static func seal(_ sector: UnsafeMutableRawPointer, with cipher: (any PageCipher)?) throws(StorageError) {
        guard let cipher else { return }
        let nonce = sector + content
        try cipher.seal(
            UnsafeMutableRawBufferPointer(start: nil, count: 0), context: Bytes(start: sector, count: content),
            nonce: nonce, tag: nonce + PageSeal.nonceSize)
    }

    /// Whether the content is as it was sealed. Without a cipher there is nothing to compare, and the result is true.
    static func isWhole(_ sector: UnsafeRawPointer, with cipher: (any PageCipher)?) -> Bool {
        guard let cipher else { return true }
        let nonce = sector + content
        return cipher.open(
            0, UnsafeMutableRawBufferPointer(start: nil, count: 0), context: Bytes(start: sector, count: content),
            nonce: nonce, tag: nonce + PageSeal.nonceSize)
    }
}

enum PageSeal {
    static let nonceSize = 20
    static let tagSize = 16
    /// Bytes that a page of an encrypted store leaves empty.
    static let reserve = nonceSize + tagSize

    static func reserve(_ cipher: (any PageCipher)?) -> Int { cipher == nil ? 0 : reserve }

    /// The offset in a raw node of the size of its common prefix, a u16.
    private static let prefixSize = 26

    /// The number of bytes after the reserve.
    private static func tailSize(_ page: UnsafeRawPointer) -> Int {
        let isNode = page.u8(PageLayout.kind) == PageKind.leaf.code || page.u8(PageLayout.kind) == PageKind.branch.code
        return isNode && page.u16(PageLayout.flags) & ~PageLayout.sealed == 0 ? Int(page.u16(prefixSize)) : 0
    }

    /// Passes to `body` the bytes that are authenticated beside a page's own: its number and its header without the
    /// checksum.
    static func withContext<Result>(
        of page: UnsafeRawPointer, number: UInt64, _ body: (Bytes) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try withUnsafeTemporaryAllocation(byteCount: 24, alignment: 8) { (context) throws(StorageError) in
            guard let start = context.baseAddress else { throw .invalid("no memory for a page's context") }
            start.set(number, at: 0)
            start.set(page.u64(PageLayout.birth), at: 8)
            start.set(page.u64(PageLayout.kind), at: 16)
            return try body(Bytes(context))
        }
    }

    /// Turns a page into its stored form, in place. The caller sets its checksum afterwards.
    static func seal(
        _ page: UnsafeMutableRawBufferPointer, number: UInt64, with cipher: any PageCipher
    ) throws(StorageError) {
        guard let start = page.baseAddress, page.count >= FileFormat.sectorSize else {
            throw .corrupt(Corruption(page: number, reason: "it is empty"))
        }
        start.set(UnsafeRawPointer(start).u16(PageLayout.flags) | PageLayout.sealed, at: PageLayout.flags)
        if page[PageLayout.kind] == PageKind.longValue.code {
            return try LongPage.seal(page, number: number, with: cipher)
        }
        let end = page.count - reserve
        let tail = tailSize(start)
        guard tail <= end - PageLayout.headerSize, isEmpty(start + (end - tail)) else {
            // A defect of the engine. Content must neither be lost nor reach the file in clear.
            throw .corrupt(Corruption(page: number, reason: "it has no room for a nonce and a tag"))
        }
        (start + (end - tail)).copyMemory(from: start + (page.count - tail), byteCount: tail)
        try withContext(of: start, number: number) { (context) throws(StorageError) in
            try cipher.seal(
                UnsafeMutableRawBufferPointer(rebasing: page[PageLayout.headerSize..<end]), context: context,
                nonce: start + end, tag: start + (end + nonceSize))
        }
    }

    /// Turns a stored page back, in place. Returns its fault, or nil. The checksum remains the one of the stored form.
    static func open(
        _ page: UnsafeMutableRawBufferPointer, number: UInt64, with cipher: any PageCipher
    ) -> String? {
        guard let start = page.baseAddress, page.count >= FileFormat.sectorSize else { return "it is empty" }
        let flags = UnsafeRawPointer(start).u16(PageLayout.flags)
        guard flags & PageLayout.sealed != 0 else { return "it is not encrypted, as all pages of this store are" }
        if page[PageLayout.kind] == PageKind.longValue.code {
            return LongPage.open(page, number: number, with: cipher)
        }
        let end = page.count - reserve
        let isOpen = try? withContext(of: start, number: number) { (context) throws(StorageError) in
            cipher.open(
                0, UnsafeMutableRawBufferPointer(rebasing: page[PageLayout.headerSize..<end]), context: context,
                nonce: start + end, tag: start + (end + nonceSize))
        }
        guard isOpen == true else { return forged }
        start.set(flags & ~PageLayout.sealed, at: PageLayout.flags)
        let tail = tailSize(start)
        guard tail <= end - PageLayout.headerSize else { return "the size of its prefix is impossible" }
        (start + (page.count - tail)).copyMemory(from: start + (end - tail), byteCount: tail)
        memset(start + (end - tail), 0, reserve)
        return nil
    }

    /// Whether the bytes of the reserve are zero.
    private static func isEmpty(_ reserve: UnsafeRawPointer) -> Bool {
        Bytes(start: reserve, count: Self.reserve).allSatisfy { $0 == 0 }
    }

    static let forged = "it was not written with this store's key, or was changed since (authentication failed)"
}
