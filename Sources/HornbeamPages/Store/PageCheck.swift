// SPDX-License-Identifier: Apache-2.0
// The page layer's part of `check`: whole pages, and the account of every sector.

import Synchronization

extension PageStore {
    /// Checks a node page as on its first touch, even if it was verified before.
    package func verifyWholePage(
        _ number: UInt64, birth: UInt64, kind: PageKind, level: UInt8
    ) throws(StorageError) {
        let stored = PagePointer.sectors(number)
        let expected = Verification.Expectation(
            number: PagePointer.number(number), birth: birth, kind: kind, level: level,
            sectors: stored > 0 ? stored : UInt32(pageSize / FileFormat.sectorSize),
            isCompressible: kind == .leaf && stored > 0 && stored <= CompressedPage.maximumSectors)
        try verification.withWhole(expected) { (_) throws(StorageError) in }
    }

    /// Copies a node page to `buffer`, which must have its size, and then checks the copy as on a page's first touch.
    /// So the buffer has the verified bytes, even if the file changes.
    package func copyWholePage(
        _ number: UInt64, birth: UInt64, kind: PageKind, level: UInt8, into buffer: UnsafeMutableRawBufferPointer
    ) throws(StorageError) {
        let expected = Verification.Expectation(
            number: number, birth: birth, kind: kind, level: level, sectors: UInt32(pageSize / FileFormat.sectorSize))
        try verification.checkIsInFile(expected)
        try verification.read(expected, into: buffer)
    }

    /// Size of the largest node in bytes.
    package static var largestNode: Int { FileFormat.maximumPageSize }

    /// Copies a leaf of a compressed tree, raw, to `buffer`, which must have room for the largest node. Checks it like
    /// a node page. Returns its size.
    package func copyWholeLeaf(
        _ pointer: UInt64, birth: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(StorageError) -> Int {
        let sectors = PagePointer.sectors(pointer)
        let expected = Verification.Expectation(
            number: PagePointer.number(pointer), birth: birth, kind: .leaf, level: 0, sectors: sectors,
            isCompressible: sectors <= CompressedPage.maximumSectors)
        try verification.checkIsInFile(expected)
        guard expected.byteCount <= buffer.count else {
            throw .corrupt(Corruption(page: expected.number, reason: "it is larger than any node"))
        }
        return try verification.withStored(expected) { (stored, isCompressed) throws(StorageError) in
            guard isCompressed else {
                buffer.copyMemory(from: stored)
                try verification.checkStructure(stored, expected)
                return stored.count
            }
            // No raw page is larger than the largest node.
            let size = CompressedPage.rawSize(of: stored) ?? 0
            try verification.decode(stored, expected, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<size]))
            return size
        }
    }

    /// Begins a `check`. Returns a snapshot of the newest state, the account of its space, and the problems of header
    /// slots and journal. Holds the writer's turn only for that. Commits during the check change nothing in it.
    package func beginCheck() throws(StorageError) -> (view: PageView, account: SpaceAccount, problems: [String]) {
        try checkProcess()
        if let follower { return try beginCheck(following: follower) }
        try takeTurn()
        defer { turn.give() }
        do throws(StorageError) {
            try clearWay()
        } catch {
            // The map may name places of a checkpoint whose outcome is unknown.
            return (try beginRead(), SpaceAccount(sectors: side.space.sectorCount, live: nil, own: []), [])
        }
        let own = file.isDurable ? side.ownRuns : Array(side.ownRuns.prefix(1))
        let account = SpaceAccount(sectors: side.space.sectorCount, live: side.space.words.map(\.live), own: own)
        return (try beginRead(), account, account.problems + headerProblems() + journalProblems())
    }

    /// The space map belongs to the header by which the store was opened. It doesn't describe the newest state if there
    /// is another header, or beside a writer in another process, which may come at any moment.
    private func beginCheck(
        following follower: Follower
    ) throws(StorageError) -> (view: PageView, account: SpaceAccount, problems: [String]) {
        let view = try beginRead()
        // Without map pages the store has no map: it was opened beside a writer that had told a state, or the map was
        // gone.
        if !side.spaceMaps.isEmpty, follower.describes(side.header) {
            let account = SpaceAccount(
                sectors: side.space.sectorCount, live: side.space.words.map(\.live), own: side.ownRuns)
            let problems = account.problems + headerProblems() + journalProblems()
            if follower.describes(side.header) { return (view, account, problems) }
        }
        return (view, SpaceAccount(sectors: verification.sectorCount, live: nil, own: []), [])
    }

    private func headerProblems() -> [String] {
        guard file.isDurable else { return [] }
        let reader = fileReader
        return (0..<FileFormat.headerSlotCount).compactMap { (slot) -> String? in
            do throws(StorageError) {
                guard case .valid(let header) = try reader.header(slot: slot, verification.cipher) else {
                    return "header slot \(slot) is damaged: the store depends on the other one"
                }
                // A stale slot after a crash is renewed by the next opening for writing.
                let isOld = options.readOnly && header.checkpoint < side.header.checkpoint
                return header == side.header || isOld ? nil : "header slot \(slot) is not that of the last checkpoint"
            } catch {
                return "header slot \(slot) can't be read: \(error)"
            }
        }
    }

    private func journalProblems() -> [String] {
        guard file.isDurable else { return [] }
        let reader = JournalReader(header: side.header, file: fileReader, cipher: verification.cipher)
        do throws(StorageError) {
            if case .damaged(let last) = try reader.tail(after: reader.chain()) {
                return ["the journal is damaged after the record of transaction \(last)"]
            }
            return []
        } catch {
            return ["the journal: \(error)"]
        }
    }
}

/// Marks sectors off against the space map as of the check's beginning: each sector in use must belong to one page, or
/// to the store itself.
package struct SpaceAccount {
    private let sectors: UInt64
    /// Nil if the map can't be used: then only pages that share a sector are found.
    private let live: [UInt64]?
    private var seen: [UInt64]
    /// Problems of the store's own sectors.
    private(set) var problems: [String] = []

    init(sectors: UInt64, live: [UInt64]?, own: [SectorRun]) {
        self.sectors = sectors
        self.live = live
        seen = [UInt64](repeating: 0, count: Int((sectors + 63) / 64))
        for run in own {
            guard let problem = add(run.start, sectors: run.count) else { continue }
            problems.append("the store's own sectors from \(run.start) on: \(problem)")
        }
    }

    /// Marks the sectors of a page that something refers to. Returns the fault, or nil.
    package mutating func add(_ page: UInt64, sectors count: UInt32) -> String? {
        guard page < sectors, UInt64(count) <= sectors - page else { return "it lies outside of the file" }
        var isFree = false
        var isTwice = false
        for sector in page..<page + UInt64(count) {
            let word = Int(sector >> 6)
            let bit: UInt64 = 1 << (sector & 63)
            isTwice = isTwice || seen[word] & bit != 0
            isFree = isFree || live.map { $0[word] & bit == 0 } ?? false
            seen[word] |= bit
        }
        if isTwice { return "two places refer to it, or to a part of it" }
        return isFree ? "it is in use, but the space map marks a part of it as free" : nil
    }

    /// After every page was added: texts on sectors that are marked as in use, but belong to no page.
    package var leaks: [String] {
        guard let live else { return [] }
        return seen.indices.compactMap { (word) -> String? in
            let leaked = live[word] & ~seen[word]
            guard leaked != 0 else { return nil }
            let first = word << 6 + leaked.trailingZeroBitCount
            return "\(leaked.nonzeroBitCount) sectors from \(first) on are marked as in use, but belong to nothing"
        }
    }
}
