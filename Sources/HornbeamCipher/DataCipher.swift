// SPDX-License-Identifier: Apache-2.0
// The ciphers of a store's data key and of its files: AES-256-GCM or ChaCha20-Poly1305. The first 12 bytes of each
// 20-byte nonce choose a key of their own, so that random nonces may be drawn 2^64 times: the construction of
// XAES-256-GCM (Valsorda, 2023), with 32 bytes of the bare cipher's key stream instead of a CMAC.
//
//   data key ──the identifier of a file as a message's nonce──▶ 32 bytes: the key of the file
//   key of the file ──AES-256-CTR or ChaCha20 at nonce[0..<12]──▶ 32 bytes: the key of one message
//   nonce[12..<20] · block number, big-endian ──▶ the 12 bytes of the message's nonce under that key

import CCrypto
import Glibc
import HornbeamPages
import Synchronization

/// Encrypts and authenticates under one key. Any thread may use it.
final class DataCipher: PageCipher {
    /// The cipher of a store, chosen when it is made.
    enum Kind: UInt32, Sendable {
        case aes256GCM = 1
        case chaCha20Poly1305 = 2

        /// The cipher that is fast on this processor.
        static var best: Kind { hbe_has_aes() != 0 ? .aes256GCM : .chaCha20Poly1305 }
    }

    static let keySize = Int(HBE_KEY_SIZE)

    let kind: Kind
    let key: SecretBytes
    /// States that no thread uses.
    private let idle = Mutex<[State]>([])

    init(_ kind: Kind, key: SecretBytes) {
        self.kind = kind
        self.key = key
    }

    deinit {
        for state in idle.withLock({ $0 }) { hbe_cipher_free(state.cipher) }
    }

    private struct State: @unchecked Sendable {
        // Sendable: a thread that takes it out of `idle` is its only user.
        let cipher: OpaquePointer
    }

    /// Runs `body` with a state. Throws if the system has no libcrypto, or no memory.
    private func withState(_ body: (OpaquePointer) -> Int32) throws(StorageError) -> Bool {
        let state: State
        if let taken = idle.withLock({ $0.popLast() }) {
            state = taken
        } else {
            try loadCrypto()
            guard let made = key.withBytes({ hbe_cipher_new(Int32(kind.rawValue), $0.baseAddress) }) else {
                throw .unsupported("libcrypto refused a cipher")
            }
            state = State(cipher: made)
        }
        defer { idle.withLock { $0.append(state) } }
        return body(state.cipher) == 1
    }

    /// The data key is used for nothing else, so that its messages and those of files can't be confused.
    func bound(to identifier: StoreIdentifier) throws(StorageError) -> any PageCipher {
        var nonce = [identifier.low.littleEndian, identifier.high.littleEndian, 0]
        var tag = [UInt64](repeating: 0, count: 2)
        var isMade = false
        // Encrypting zeros gives the key stream itself.
        let own = try SecretBytes(count: Self.keySize) { (key) throws(StorageError) in
            isMade = try withState { hbe_seal($0, &nonce, .max, nil, 0, key.baseAddress, key.count, &tag) }
        }
        guard isMade else { throw .unsupported("libcrypto refused to derive a file's key") }
        return DataCipher(kind, key: own)
    }

    func makeNonce(_ nonce: UnsafeMutableRawPointer) throws(StorageError) {
        try fillRandom(UnsafeMutableRawBufferPointer(start: nonce, count: Int(HBE_NONCE_SIZE)))
    }

    func sealBlock(
        _ block: UInt32, _ bytes: UnsafeMutableRawBufferPointer, context: Bytes, nonce: UnsafeRawPointer,
        tag: UnsafeMutableRawPointer
    ) throws(StorageError) {
        let isSealed = try withState {
            hbe_seal($0, nonce, block, context.baseAddress, context.count, bytes.baseAddress, bytes.count, tag)
        }
        guard isSealed else { throw .unsupported("libcrypto refused to encrypt") }
    }

    func open(
        _ block: UInt32, _ bytes: UnsafeMutableRawBufferPointer, context: Bytes, nonce: UnsafeRawPointer,
        tag: UnsafeRawPointer
    ) -> Bool {
        let isOpen = try? withState {
            hbe_open($0, nonce, block, context.baseAddress, context.count, bytes.baseAddress, bytes.count, tag)
        }
        return isOpen == true
    }
}

/// Loads libcrypto. Throws `.unsupported` if the system has none.
func loadCrypto() throws(StorageError) {
    guard hbe_load() == 1 else {
        throw .unsupported("encryption needs OpenSSL 3: install its libcrypto.so.3 (Debian: libssl3)")
    }
}

/// Fills in random bytes from the system.
func fillRandom(_ bytes: UnsafeMutableRawBufferPointer) throws(StorageError) {
    guard hbe_random(bytes.baseAddress, bytes.count) == 1 else {
        throw .io(operation: "getrandom", path: "the system", errno: errno)
    }
}
