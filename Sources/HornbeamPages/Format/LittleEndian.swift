// SPDX-License-Identifier: Apache-2.0
// Loads and stores of little-endian integers at byte offsets. The caller must check that the offsets are in bounds.

extension UnsafeRawPointer {
    func u8(_ offset: Int) -> UInt8 { loadUnaligned(fromByteOffset: offset, as: UInt8.self) }
    func u16(_ offset: Int) -> UInt16 { UInt16(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self)) }
    func u32(_ offset: Int) -> UInt32 { UInt32(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
    func u64(_ offset: Int) -> UInt64 { UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
}

extension UnsafeMutableRawPointer {
    func set(_ value: UInt8, at offset: Int) { storeBytes(of: value, toByteOffset: offset, as: UInt8.self) }
    func set(_ value: UInt16, at offset: Int) {
        storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt16.self)
    }
    func set(_ value: UInt32, at offset: Int) {
        storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt32.self)
    }
    func set(_ value: UInt64, at offset: Int) {
        storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt64.self)
    }
}
