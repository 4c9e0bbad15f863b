// SPDX-License-Identifier: Apache-2.0
// The smallest tree that uses everything: a root page with a fixed number of cells, a leaf page with a number for
// each cell, and sometimes a long value page that repeats this number. Its redo is the change itself.

import HornbeamPages
import HornbeamTestSupport
import Testing

/// A change: cell `cell` becomes `value`, with a long value of `longSectors` sectors (0: without).
struct ToyChange: Equatable {
    var cell: Int
    var value: UInt64
    var longSectors: UInt32 = 0
    /// Number of meaningless bytes in the redo, to fill the journal.
    var padding = 0

    var redo: [UInt8] {
        var bytes = [UInt8](repeating: 0xAB, count: 24 + padding)
        bytes.withUnsafeMutableBytes { buffer in
            buffer.storeBytes(of: UInt64(cell), toByteOffset: 0, as: UInt64.self)
            buffer.storeBytes(of: value, toByteOffset: 8, as: UInt64.self)
            buffer.storeBytes(of: UInt64(longSectors), toByteOffset: 16, as: UInt64.self)
        }
        return bytes
    }

    init(cell: Int, value: UInt64, longSectors: UInt32 = 0, padding: Int = 0) {
        self.cell = cell
        self.value = value
        self.longSectors = longSectors
        self.padding = padding
    }

    init(redo: Bytes) throws(StorageError) {
        guard redo.count >= 24 else { throw .corrupt(Corruption(reason: "a toy redo of \(redo.count) bytes")) }
        cell = Int(truncatingIfNeeded: redo.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
        value = redo.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        longSectors = UInt32(truncatingIfNeeded: redo.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
    }
}

/// The expected content of the store: each cell's value and the size of its long value.
struct ToyCell: Equatable {
    var value: UInt64 = 0
    var longSectors: UInt32 = 0
}

enum Toy {
    static let cells = 12
    private static let stamp: UInt64 = 0x70_7974
    private static let entries = 32

    static func structure(_ page: Bytes, _ kind: PageKind) -> String? {
        page.loadUnaligned(fromByteOffset: 24, as: UInt64.self) == stamp ? nil : "not a toy page"
    }

    static func replay(_ redo: Bytes, _ writer: PageWriter) throws(StorageError) {
        try apply(ToyChange(redo: redo), writer)
    }

    static func open(
        _ file: any StoreFile, _ options: StoreOptions = StoreOptions.withLargeRing
    ) throws(StorageError) -> PageStore {
        try PageStore.open(file: file, options: options, structure: structure, replay: replay)
    }

    /// The file of an empty store, so that not every run creates one.
    static func emptyFile() throws -> [UInt8]? {
        let disk = try SimulatedDisk()
        // Not closed, because closing would give the file a small ring.
        _ = try open(disk)
        return disk.killedImage()
    }

    static func apply(_ change: ToyChange, _ writer: PageWriter) throws(StorageError) {
        guard change.cell >= 0, change.cell < cells else { throw .invalid("cell \(change.cell)") }
        let root = try ownRoot(writer)
        let entry = root + entries + 16 * change.cell
        let old = (page: entry.load(as: UInt64.self), birth: entry.load(fromByteOffset: 8, as: UInt64.self))
        let leaf: (number: UInt64, bytes: UnsafeMutableRawPointer)
        if old.page == 0 {
            leaf = try writer.allocate(kind: .leaf, level: 0)
            leaf.bytes.storeBytes(of: stamp, toByteOffset: 24, as: UInt64.self)
        } else {
            leaf = try copy(old.page, birth: old.birth, kind: .leaf, level: 0, writer)
        }
        entry.storeBytes(of: leaf.number, as: UInt64.self)
        entry.storeBytes(of: writer.birth, toByteOffset: 8, as: UInt64.self)
        try setLong(change, leaf.bytes, writer)
        leaf.bytes.storeBytes(of: change.value, toByteOffset: 32, as: UInt64.self)
        writer.root.count += 1
    }

    private static func ownRoot(_ writer: PageWriter) throws(StorageError) -> UnsafeMutableRawPointer {
        let root: (number: UInt64, bytes: UnsafeMutableRawPointer)
        if writer.root.page == 0 {
            root = try writer.allocate(kind: .branch, level: 1)
            root.bytes.storeBytes(of: stamp, toByteOffset: 24, as: UInt64.self)
        } else {
            root = try copy(writer.root.page, birth: writer.root.birth, kind: .branch, level: 1, writer)
        }
        writer.root.page = root.number
        writer.root.birth = writer.birth
        writer.root.level = 1
        return root.bytes
    }

    private static func copy(
        _ page: UInt64, birth: UInt64, kind: PageKind, level: UInt8, _ writer: PageWriter
    ) throws(StorageError) -> (number: UInt64, bytes: UnsafeMutableRawPointer) {
        let source = try writer.view.page(page, birth: birth, kind: kind, level: level)
        return try writer.copy(source, of: page, birth: birth, kind: kind, level: level, unused: 0..<0)
    }

    private static func setLong(
        _ change: ToyChange, _ leaf: UnsafeMutableRawPointer, _ writer: PageWriter
    ) throws(StorageError) {
        let oldSectors = leaf.load(fromByteOffset: 56, as: UInt32.self)
        if oldSectors > 0 {
            try writer.free(
                leaf.load(fromByteOffset: 40, as: UInt64.self), birth: leaf.load(fromByteOffset: 48, as: UInt64.self),
                sectors: oldSectors)
        }
        leaf.storeBytes(of: change.longSectors, toByteOffset: 56, as: UInt32.self)
        guard change.longSectors > 0 else { return }
        let long = try writer.allocate(kind: .longValue, level: 0, sectors: change.longSectors)
        let size = longSize(change.longSectors)
        LongPage.setSize(size, of: long.bytes)
        for offset in stride(
            from: LongPage.dataOffset(size, isSealed: false), to: Int(change.longSectors) * 4096, by: 8)
        {
            long.bytes.storeBytes(of: change.value, toByteOffset: offset, as: UInt64.self)
        }
        leaf.storeBytes(of: long.number, toByteOffset: 40, as: UInt64.self)
        leaf.storeBytes(of: writer.birth, toByteOffset: 48, as: UInt64.self)
    }

    /// Returns the largest value that needs `sectors` sectors; `sectors` is small.
    private static func longSize(_ sectors: UInt32) -> UInt64 {
        let blocks = (UInt64(sectors) + 15) / 16
        return UInt64(sectors) * 4096 - 32 - 8 * blocks
    }

    /// Returns all cells of a snapshot, and every page it reaches.
    static func read(
        _ view: PageView
    ) throws(StorageError) -> (cells: [ToyCell], pages: [(page: UInt64, sectors: UInt32)]) {
        var result = [ToyCell](repeating: ToyCell(), count: cells)
        var pages: [(page: UInt64, sectors: UInt32)] = []
        guard view.root.page != 0 else { return (result, pages) }
        let nodeSectors = UInt32(view.pageSize / 4096)
        let root = try view.page(view.root.page, birth: view.root.birth, kind: .branch, level: 1)
        pages.append((view.root.page, nodeSectors))
        for cell in 0..<cells {
            let entry = root + entries + 16 * cell
            let page = entry.load(as: UInt64.self)
            if page == 0 { continue }
            let leaf = try view.page(
                page, birth: entry.load(fromByteOffset: 8, as: UInt64.self), kind: .leaf, level: 0)
            pages.append((page, nodeSectors))
            result[cell].value = leaf.load(fromByteOffset: 32, as: UInt64.self)
            result[cell].longSectors = leaf.load(fromByteOffset: 56, as: UInt32.self)
            guard result[cell].longSectors > 0 else { continue }
            let number = leaf.load(fromByteOffset: 40, as: UInt64.self)
            let long = try view.longPage(
                number, birth: leaf.load(fromByteOffset: 48, as: UInt64.self), sectors: result[cell].longSectors)
            pages.append((number, result[cell].longSectors))
            let start = LongPage.dataOffset(longSize(result[cell].longSectors), isSealed: false)
            for offset in stride(from: start, to: long.count, by: 4096 - 8)
            where long.loadUnaligned(fromByteOffset: offset, as: UInt64.self) != result[cell].value {
                throw .corrupt(Corruption(page: number, reason: "a long value of another cell"))
            }
        }
        return (result, pages)
    }

    static func cells(of store: PageStore) throws(StorageError) -> [ToyCell] {
        let view = try store.beginRead()
        defer { store.endRead(view) }
        return try read(view).cells
    }

    /// Checks that every sector is accounted for and every page is whole.
    static func expectSound(_ store: PageStore, _ place: SourceLocation = #_sourceLocation) throws {
        var (view, account, problems) = try store.beginCheck()
        defer { store.endRead(view) }
        for page in try read(view).pages {
            guard let problem = account.add(page.page, sectors: page.sectors) else { continue }
            problems.append("\(page.page): \(problem)")
        }
        problems += account.leaks
        #expect(problems.isEmpty, "\(problems)", sourceLocation: place)
    }

    /// Makes one change in a transaction.
    static func commit(
        _ change: ToyChange, to store: PageStore, _ durability: Durability = .full, large: Bool = false
    ) throws(StorageError) {
        let writer = try store.beginWrite()
        do throws(StorageError) {
            try apply(change, writer)
        } catch {
            writer.abort()
            throw error
        }
        if large { return try writer.commit(redo: nil, durability: durability) }
        try change.redo.withBytes { (redo) throws(StorageError) in
            try writer.commit(redo: redo, durability: durability)
        }
    }
}
