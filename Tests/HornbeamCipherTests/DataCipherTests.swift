// SPDX-License-Identifier: Apache-2.0
// The ciphers: answers computed by another implementation, and refusals.

import HornbeamPages
import HornbeamTestSupport
import Testing

@testable import HornbeamCipher

@Suite("A data cipher")
struct DataCipherTests {
    private static let kinds: [DataCipher.Kind] = [.aes256GCM, .chaCha20Poly1305]
    private let nonce = [UInt8](100..<120)
    private let context = Array("page 7".utf8)

    private func cipher(_ kind: DataCipher.Kind) -> DataCipher {
        DataCipher(kind, key: SecretBytes(count: 32) { $0.copyBytes(from: 0..<32) })
    }

    /// Returns the encrypted bytes and the tag.
    private func seal(
        _ text: [UInt8], block: UInt32, with cipher: DataCipher
    ) throws -> (bytes: [UInt8], tag: [UInt8]) {
        var (bytes, tag) = (text, [UInt8](repeating: 0, count: 16))
        try bytes.withUnsafeMutableBytes { (bytes) in
            try tag.withUnsafeMutableBytes { (tag) in
                try context.withUnsafeBytes { (context) in
                    try nonce.withUnsafeBytes { (nonce) in
                        try cipher.sealBlock(
                            block, bytes, context: context, nonce: try #require(nonce.baseAddress),
                            tag: try #require(tag.baseAddress))
                    }
                }
            }
        }
        return (bytes, tag)
    }

    /// Returns the text, or nil if it is refused.
    private func open(
        _ bytes: [UInt8], tag: [UInt8], block: UInt32, nonce: [UInt8], context: [UInt8], with cipher: DataCipher
    ) -> [UInt8]? {
        var text = bytes
        let isOpen = text.withUnsafeMutableBytes { (text) in
            context.withUnsafeBytes { (context) in
                nonce.withUnsafeBytes { (nonce) in
                    tag.withUnsafeBytes { (tag) -> Bool in
                        guard let nonce = nonce.baseAddress, let tag = tag.baseAddress else { return false }
                        return cipher.open(block, text, context: context, nonce: nonce, tag: tag)
                    }
                }
            }
        }
        return isOpen ? text : nil
    }

    @Test(
        "gives the bytes that Python's cryptography gives for this cipher",
        arguments: [
            (
                DataCipher.Kind.aes256GCM,
                "7a6aad11aacc75b28c42d4ccd1cb947ca3dfddcadeeef9248c493a4e7bb743d0c67fe6299697f839775619e61764ddf4"
            ),
            (
                .chaCha20Poly1305,
                "baf2a37dee8d8bf14511e1ee9302d37c77d5bc944388493f873d962a46fd22f9835bbad98cdb381a1f5fe586ce630627"
            ),
        ])
    func knownAnswers(kind: DataCipher.Kind, answer: String) throws {
        let sealed = try seal(Array("A store that a thief can't read.".utf8), block: 3, with: cipher(kind))
        #expect((sealed.bytes + sealed.tag).map { hex($0) }.joined() == answer)
    }

    private func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }

    @Test("opens what it sealed, of any size", arguments: kinds)
    func roundTrip(kind: DataCipher.Kind) throws {
        let cipher = cipher(kind)
        for size in [0, 1, 15, 16, 17, 4096, 65_536] {
            let text = (0..<size).map { UInt8(truncatingIfNeeded: $0 * 7) }
            let sealed = try seal(text, block: 0, with: cipher)
            #expect(size < 16 || sealed.bytes != text)
            let opened = open(
                sealed.bytes, tag: sealed.tag, block: 0, nonce: nonce, context: context, with: cipher)
            #expect(opened == text)
        }
    }

    @Test("refuses a change of any bit, another block, nonce, context or key", arguments: kinds)
    func refusals(kind: DataCipher.Kind) throws {
        let cipher = cipher(kind)
        let (bytes, tag) = try seal(Array("sixteen bytes or more".utf8), block: 5, with: cipher)
        func isOpen(
            _ bytes: [UInt8], _ tag: [UInt8], block: UInt32 = 5, nonce: [UInt8]? = nil, context: [UInt8]? = nil,
            with other: DataCipher? = nil
        ) -> Bool {
            open(
                bytes, tag: tag, block: block, nonce: nonce ?? self.nonce, context: context ?? self.context,
                with: other ?? cipher) != nil
        }
        #expect(isOpen(bytes, tag))
        for bit in 0..<8 * bytes.count { #expect(!isOpen(flipped(bytes, bit), tag)) }
        for bit in 0..<8 * tag.count { #expect(!isOpen(bytes, flipped(tag, bit))) }
        for bit in 0..<8 * nonce.count { #expect(!isOpen(bytes, tag, nonce: flipped(nonce, bit))) }
        for bit in 0..<8 * context.count { #expect(!isOpen(bytes, tag, context: flipped(context, bit))) }
        #expect(!isOpen(bytes, tag, block: 4))
        let other = DataCipher(kind, key: SecretBytes(count: 32) { $0.copyBytes(from: 1..<33) })
        #expect(!isOpen(bytes, tag, with: other))
        #expect(isOpen(bytes, tag), "a refusal leaves nothing behind")
    }

    private func flipped(_ bytes: [UInt8], _ bit: Int) -> [UInt8] {
        var bytes = bytes
        bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        return bytes
    }
}
