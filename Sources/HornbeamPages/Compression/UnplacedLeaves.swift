// SPDX-License-Identifier: Apache-2.0
// Leaves of compressed trees that the open transaction has made or changed. Their sizes are known only once they are
// compressed, so they have no place in the file until then: their page pointers are serial numbers in memory.

/// Raw leaves by serial number. Addresses are stable until `free` or `removeAll`.
final class UnplacedLeaves {
    private struct Leaf {
        /// The leaf's bytes; nil once it was freed or has its place in the file.
        var bytes: UnsafeMutableRawPointer?
        var byteCount: Int
        var former: Former?
    }

    /// The committed leaf that another one replaces.
    struct Former {
        let pointer: UInt64
        let birth: UInt64
        /// Its stored form, in the mapping.
        let stored: Bytes
    }

    @exclusivity(unchecked) private var leaves: [Leaf] = []
    /// Memory of freed leaves of the usual size, kept for the next ones.
    @exclusivity(unchecked) private var spare: [UnsafeMutableRawPointer] = []
    @exclusivity(unchecked) private(set) var liveBytes = 0

    /// Bytes of memory that stay for later leaves.
    private let keptBound: Int
    private let reserve: Int
    /// Made for the first leaf that is encoded.
    private(set) lazy var encoder = LeafEncoder(reserve: reserve)

    /// `reserve`: number of bytes at the end of stored leaves that stay zero.
    init(keptBound: Int, reserve: Int) {
        self.keptBound = keptBound
        self.reserve = reserve
    }

    /// Bytes of memory that stay from one transaction to the next.
    var keptBytes: Int { spare.count * CompressedPage.leafSize }

    deinit {
        removeAll()
        for bytes in spare { bytes.deallocate() }
    }

    /// Returns the leaf of a pointer.
    func find(_ pointer: UInt64) -> UnsafeMutableRawBufferPointer? {
        let serial = Int(PagePointer.number(pointer))
        guard serial < leaves.count, let bytes = leaves[serial].bytes else { return nil }
        return UnsafeMutableRawBufferPointer(start: bytes, count: leaves[serial].byteCount)
    }

    /// Returns the leaf that the leaf of a pointer replaces, if its stored form is in the mapping.
    func former(of pointer: UInt64) -> Former? {
        let serial = Int(PagePointer.number(pointer))
        return serial < leaves.count ? leaves[serial].former : nil
    }

    /// A new leaf, its bytes undefined.
    func add(_ byteCount: Int, former: Former? = nil) -> (number: UInt64, bytes: UnsafeMutableRawPointer) {
        let bytes: UnsafeMutableRawPointer
        if byteCount == CompressedPage.leafSize, let kept = spare.popLast() {
            bytes = kept
        } else {
            bytes = .allocate(byteCount: byteCount, alignment: FileFormat.sectorSize)
        }
        liveBytes += byteCount
        leaves.append(Leaf(bytes: bytes, byteCount: byteCount, former: former))
        return (PagePointer.makeUnplaced(UInt64(leaves.count - 1)), bytes)
    }

    func free(_ pointer: UInt64) {
        let serial = Int(PagePointer.number(pointer))
        guard serial < leaves.count, let bytes = leaves[serial].bytes else { return }
        leaves[serial].bytes = nil
        liveBytes -= leaves[serial].byteCount
        if leaves[serial].byteCount == CompressedPage.leafSize, keptBytes < keptBound {
            spare.append(bytes)
        } else {
            bytes.deallocate()
        }
    }

    func removeAll() {
        for serial in leaves.indices { free(PagePointer.makeUnplaced(UInt64(serial))) }
        leaves.removeAll(keepingCapacity: leaves.count < 4096)
    }
}
