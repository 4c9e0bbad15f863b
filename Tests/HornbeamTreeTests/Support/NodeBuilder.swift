// SPDX-License-Identifier: Apache-2.0
// Nodes outside of any tree: built from arrays, read back into arrays.

import HornbeamPages

@testable import HornbeamTree

/// A node in memory of its own.
final class TestNode {
    let bytes: UnsafeMutableRawPointer
    let size: Int
    let isBranch: Bool
    private let scratch: UnsafeMutableRawPointer

    init(size: Int = 4096, isBranch: Bool = false) {
        self.size = size
        self.isBranch = isBranch
        bytes = .allocate(byteCount: size, alignment: 16)
        scratch = .allocate(byteCount: size, alignment: 16)
        bytes.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        bytes.write64(1000, PageLayout.birth)
    }

    deinit {
        bytes.deallocate()
        scratch.deallocate()
    }

    var view: NodeView { NodeView(UnsafeRawPointer(bytes), size: size) }
    var editor: NodeEditor { NodeEditor(bytes, size: size) }
    var problem: String? {
        NodeValidation.problem(Bytes(start: bytes, count: size), kind: isBranch ? .branch : .leaf)
    }
    var keys: [[UInt8]] { (0..<view.count).map { view.keyBytes($0) } }
    var values: [[UInt8]] { (0..<view.count).map { Array(view.cell($0).valueBytes) } }

    /// Writes a node with these entries. Returns false if they don't fit.
    func build(_ entries: [(key: [UInt8], value: [UInt8])]) -> Bool {
        withEntryList(entries, isBranch: isBranch) { list in
            guard list.nodeSize(0..<list.count) <= NodeLayout.capacity(pageSize: size) else { return false }
            list.write(0..<list.count, to: bytes, size: size)
            return true
        }
    }

    func insert(at index: Int, _ key: [UInt8], _ value: [UInt8]) -> Fit {
        key.withUnsafeBytes { key in
            value.withUnsafeBytes { value in
                guard editor.sharesPrefix(key) else { return .no }
                let fit = editor.fits(keySize: key.count, valueSize: value.count)
                if fit == .compacted { editor.compact(scratch: scratch) }
                if fit != .no { editor.insert(at: index, key: key, value: CellValue(bytes: value, isLong: false)) }
                return fit
            }
        }
    }

    func compact() { editor.compact(scratch: scratch) }

    /// Returns whether there was room for the new value.
    func replace(at index: Int, _ value: [UInt8]) -> Bool {
        value.withUnsafeBytes { value in
            let old = view.cell(index)
            let keySize = view.prefixSize + old.suffixSize
            guard
                value.count <= old.valueSize
                    || editor.fits(keySize: keySize, valueSize: value.count, freed: old.size) != .no
            else { return false }
            editor.replace(at: index, value: CellValue(bytes: value, isLong: false), scratch: scratch)
            return true
        }
    }
}

/// Calls `body` with an entry list of array entries.
func withEntryList<Result>(
    _ entries: [(key: [UInt8], value: [UInt8])], isBranch: Bool, _ body: (inout EntryList) throws -> Result
) rethrows -> Result {
    let storage = UnsafeMutablePointer<EntryReference>.allocate(capacity: entries.count + 2)
    let arena = UnsafeMutableRawPointer.allocate(
        byteCount: entries.reduce(1) { $0 + $1.key.count + $1.value.count }, alignment: 1)
    defer {
        storage.deallocate()
        arena.deallocate()
    }
    var list = EntryList(
        storage: storage, capacity: entries.count + 2, isBranch: isBranch,
        stamp: NodeStamp(tree: 5, reductionSize: 0, reserve: 0))
    var next = arena
    for (index, entry) in entries.enumerated() {
        entry.key.withUnsafeBytes { next.copy($0) }
        entry.value.withUnsafeBytes { (next + entry.key.count).copy($0) }
        list.insert(
            at: index, key: Bytes(start: next, count: entry.key.count),
            value: CellValue(bytes: Bytes(start: next + entry.key.count, count: entry.value.count), isLong: false))
        next += entry.key.count + entry.value.count
    }
    return try body(&list)
}

/// Returns a child record's bytes.
func childRecord(page: UInt64, birth: UInt64 = 7, count: UInt64 = 1) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: NodeLayout.referenceSize)
    bytes.withUnsafeMutableBytes { buffer in
        if let start = buffer.baseAddress {
            ChildRecord(page: page, birth: birth, count: count).write(to: start)
        }
    }
    return bytes
}
