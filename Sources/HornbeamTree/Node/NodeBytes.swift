// SPDX-License-Identifier: Apache-2.0
// Loads and stores of the node layer: little-endian, at any alignment, unchecked. Only for offsets that validation or
// the editor has proved to be inside the page.

extension UnsafeRawPointer {
    @inline(__always)
    func read16(_ offset: Int) -> Int {
        Int(UInt16(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
    }
    @inline(__always)
    func read32(_ offset: Int) -> UInt32 {
        UInt32(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
    @inline(__always)
    func read64(_ offset: Int) -> UInt64 {
        UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

extension UnsafeMutableRawPointer {
    @inline(__always)
    func write16(_ value: Int, _ offset: Int) {
        storeBytes(of: UInt16(truncatingIfNeeded: value).littleEndian, toByteOffset: offset, as: UInt16.self)
    }
    @inline(__always)
    func write32(_ value: UInt32, _ offset: Int) {
        storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt32.self)
    }
    @inline(__always)
    func write64(_ value: UInt64, _ offset: Int) {
        storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt64.self)
    }
    /// Copies `bytes` to this address. The ranges must not overlap.
    @inline(__always)
    func copy(_ bytes: UnsafeRawBufferPointer) {
        if let source = bytes.baseAddress { copyMemory(from: source, byteCount: bytes.count) }
    }
}

/// The head of a key's rest: its first four bytes as a big-endian integer, zero padded. Heads have the order of their
/// keys, but equal heads don't mean equal keys.
@inline(__always)
func keyHead(_ start: UnsafeRawPointer, _ size: Int) -> UInt32 {
    if size >= 4 { return UInt32(bigEndian: start.loadUnaligned(as: UInt32.self)) }
    var head: UInt32 = 0
    var shift: UInt32 = 24
    for index in 0..<size {
        head |= UInt32(start.load(fromByteOffset: index, as: UInt8.self)) &<< shift
        shift &-= 8
    }
    return head
}
