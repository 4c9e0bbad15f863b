// SPDX-License-Identifier: Apache-2.0
// Reads a file that may be damaged anywhere: a header if one is valid, the readable parts of the space map, and pages
// by number, each of which counts only with its checksum. Reads with system calls, so that a sector that the disk can't
// read is an unreadable page and not a signal. Never writes.

/// A damaged file. Only one thread may read it.
package final class DamagedFile {
    /// Whether a page belongs to the newest checkpoint's state.
    package enum Standing {
        case current
        /// The page belongs to a former state: its bytes may hold data that was changed or deleted since.
        case free
        /// The part of the space map that has the page is lost.
        case unknown
    }

    package let path: String
    package let pageSize: Int
    /// Number of whole sectors that the file has.
    package let sectorCount: UInt64
    /// Notes on losses and recoveries that concern the file as a whole.
    package private(set) var notes: [String] = []
    private let file: any StoreFile
    private let header: HeaderSlot?
    private let keys: StoreKeys?
    /// The key that the file was opened with.
    package let encryption: (any StoreEncryption)?
    /// Whether both slots are equal: then the journal is where they say.
    private let isHeaderSure: Bool
    private var space: SpaceMap
    private lazy var commits = findCommits()
    /// Whether each space map page could be read.
    private var isMapKnown: [Bool] = []

    /// Opens the file at `path` without waiting for other processes.
    package convenience init(path: String, encryption: (any StoreEncryption)? = nil) throws(StorageError) {
        var options = StoreOptions()
        options.readOnly = true
        options.createIfMissing = false
        options.encryption = encryption
        try self.init(file: try LinuxFile.open(path: path, options: options), encryption: encryption)
    }

    /// Throws if the file has a newer format, or no trace of a store.
    package init(file: any StoreFile, encryption: (any StoreEncryption)? = nil) throws(StorageError) {
        self.file = file
        self.encryption = encryption
        path = file.path
        sectorCount = try file.size() >> FileFormat.sectorShift
        keys = try sectorCount > 0 ? StoreKeys.salvaging(file, encryption) : nil
        let slots = try Self.readHeaders(file, sectorCount, keys?.cipher)
        // The newest slot. The places it names are checked when they are used.
        header = slots.max { $0.checkpoint < $1.checkpoint }
        isHeaderSure = slots.count == FileFormat.headerSlotCount && slots.allSatisfy { $0 == slots.first }
        if let header {
            pageSize = Int(header.pageSize)
        } else {
            guard let found = Self.guessPages(file, sectorCount) else {
                throw .notAStore(path: file.path, reason: "it has no header and no pages that could be salvaged")
            }
            switch (found.areSealed, encryption, keys) {
            case (true, nil, _): throw .keyNeeded(path: file.path)
            case (false, _?, nil): throw .notEncrypted(path: file.path)
            case (true, _, nil):
                throw .corrupt(
                    Corruption(
                        reason: "both header slots of \(file.path) are damaged, and the key opens none of their key "
                            + "slots: without these no page of an encrypted store can be read"))
            default: pageSize = found.size
            }
        }
        space = SpaceMap(pageSize: pageSize, reserve: PageSeal.reserve(keys?.cipher))
        let extent = FileFormat.extentSectors
        space.grow(to: (sectorCount + extent - 1) / extent * extent)
        if header == nil { notes.append("both header slots are lost: the newest commits may be lost, too") }
        if let header, header.fileSectors > sectorCount {
            notes.append("the file is cut short: \(header.fileSectors - sectorCount) sectors are missing at its end")
        }
        loadSpace()
    }

    deinit { file.close() }

    /// The checkpoint's root; nil without a header.
    package var root: RootRecord? { header?.root }
    /// The newest transaction that a page can belong to.
    package var newestBirth: UInt64 { header?.transaction ?? FileFormat.maximumNumber }
    /// Whether it is an encrypted store.
    package var isSealed: Bool { keys != nil }
    package var pageSectors: UInt32 { UInt32(pageSize / FileFormat.sectorSize) }

    // MARK: Pages

    /// Returns the page's bytes if its checksum is right and its header states this kind and size; nil otherwise.
    package func page(_ number: UInt64, kind: PageKind, sectors: UInt32) -> [UInt8]? {
        guard number >= FileFormat.reservedSectors, sectors > 0, sectors <= FileFormat.maximumPageSectors,
            number < sectorCount, UInt64(sectors) <= sectorCount - number,
            var bytes = read(number, Int(sectors)), Self.isWhole(bytes, number: number, kind: kind, sectors: sectors)
        else { return nil }
        let flags = bytes.withBytes { $0.baseAddress.map { PageHeader(reading: $0).flags } ?? 0 }
        guard let cipher = keys?.cipher else { return flags & PageLayout.sealed == 0 ? bytes : nil }
        let problem = bytes.withMutableBytes { PageSeal.open($0, number: number, with: cipher) }
        return problem == nil ? bytes : nil
    }

    /// Returns a leaf's raw bytes, whether it is stored as it is or compressed; nil if it is not whole. `pointer` comes
    /// from its parent.
    package func leaf(_ pointer: UInt64) -> [UInt8]? {
        let number = PagePointer.number(pointer)
        let sectors = PagePointer.sectors(pointer)
        guard sectors > 0 else { return page(number, kind: .leaf, sectors: pageSectors) }
        guard sectors <= CompressedPage.maximumSectors, let stored = page(number, kind: .leaf, sectors: sectors) else {
            return nil
        }
        return stored.withBytes { (stored) -> [UInt8]? in
            guard let start = stored.baseAddress, CompressedPage.isCompressed(flags: PageHeader(reading: start).flags)
            else {
                return Array(stored)
            }
            guard let size = CompressedPage.rawSize(of: stored) else { return nil }
            var raw = [UInt8](repeating: 0, count: size)
            return raw.withUnsafeMutableBytes { CompressedPage.decode(stored, into: $0) } == nil ? raw : nil
        }
    }

    /// Returns the standing of a leaf, by its pointer.
    package func standing(of pointer: UInt64) -> Standing {
        let sectors = PagePointer.sectors(pointer)
        return standing(of: PagePointer.number(pointer), sectors: sectors > 0 ? sectors : pageSectors)
    }

    package func standing(of page: UInt64, sectors: UInt32) -> Standing {
        let perMap = UInt64(space.extentsPerMap) * FileFormat.extentSectors
        let map = Int(page / perMap)
        guard map < isMapKnown.count, isMapKnown[map] else { return .unknown }
        return space.isLive(SectorRun(start: page, count: sectors)) ? .current : .free
    }

    /// Whether a sector belongs to the journal, according to the header.
    package func isJournal(_ sector: UInt64) -> Bool {
        header.map { $0.journal.run.start..<$0.journal.run.end ~= sector } ?? false
    }

    /// Passes a pointer to each place that looks like a page of a tree to `visit`. `page` and `leaf` then find out
    /// whether it is one.
    package func scan(visit: (_ pointer: UInt64, _ kind: PageKind) -> Void) {
        Self.scan(file, 0..<sectorCount) { (number, bytes) in
            let header = PageHeader(reading: bytes)
            guard let kind = PageKind(rawValue: header.kind), number >= FileFormat.reservedSectors else { return }
            if header.sectors == self.pageSectors, header.flags & ~PageLayout.sealed == 0,
                number % UInt64(header.sectors) == 0
            {
                visit(number, kind)
            } else if kind == .leaf, header.sectors > 0, header.sectors <= CompressedPage.maximumSectors {
                visit(PagePointer.make(number, sectors: header.sectors), kind)
            }
        }
    }

    private func read(_ sector: UInt64, _ count: Int) -> [UInt8]? { Self.read(file, sector, count) }

    /// Reads sectors, which must be in the file. Returns nil if one can't be read.
    static func read(_ file: any StoreFile, _ sector: UInt64, _ count: Int) -> [UInt8]? {
        let size = count * FileFormat.sectorSize
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { (buffer, filled) in
            do throws(StorageError) {
                try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: sector << FileFormat.sectorShift)
                filled = size
            } catch {
                filled = 0
            }
        }
        return bytes.isEmpty ? nil : bytes
    }

    private static func isWhole(_ bytes: [UInt8], number: UInt64, kind: PageKind, sectors: UInt32) -> Bool {
        bytes.withUnsafeBytes { (bytes) in
            guard let start = bytes.baseAddress else { return false }
            let header = PageHeader(reading: start)
            guard header.kind == kind.code, header.sectors == sectors,
                header.checksum == PageHeader.checksum(of: bytes, number: number)
            else { return false }
            return kind != .longValue || LongPage.problem(bytes, number: number) == nil
        }
    }

    // MARK: Scanning

    /// Passes the bytes of each sector to `visit`. Leaves out sectors that can't be read.
    static func scan(
        _ file: any StoreFile, _ sectors: Range<UInt64>, visit: (UInt64, UnsafeRawPointer) -> Void
    ) {
        var start = sectors.lowerBound
        while start < sectors.upperBound {
            let count = Swift.min(FileFormat.extentSectors, sectors.upperBound - start)
            if let bytes = read(file, start, Int(count)) {
                bytes.withUnsafeBytes { (bytes) in
                    guard let base = bytes.baseAddress else { return }
                    for sector in 0..<count { visit(start + sector, base + Int(sector) * FileFormat.sectorSize) }
                }
            } else {
                for sector in start..<start + count {
                    read(file, sector, 1)?.withUnsafeBytes { (bytes) in
                        if let base = bytes.baseAddress { visit(sector, base) }
                    }
                }
            }
            start += count
        }
    }

    /// The size of most whole nodes, and whether most are encrypted. Branches count for more, because leaves of
    /// compressed trees have other sizes.
    private static func guessPages(
        _ file: any StoreFile, _ sectorCount: UInt64
    ) -> (size: Int, areSealed: Bool)? {
        var votes: [Int: Int] = [:]
        var sealedVotes = 0
        scan(file, 0..<sectorCount) { (number, bytes) in
            let header = PageHeader(reading: bytes)
            let size = Int(header.sectors) * FileFormat.sectorSize
            guard let kind = PageKind(rawValue: header.kind), kind == .leaf || kind == .branch,
                header.flags & ~PageLayout.sealed == 0, header.sectors <= 16, FileFormat.isValid(pageSize: size),
                UInt64(header.sectors) <= sectorCount - number, number % UInt64(header.sectors) == 0,
                let bytes = read(file, number, Int(header.sectors)),
                isWhole(bytes, number: number, kind: kind, sectors: header.sectors)
            else { return }
            let weight = kind == .branch ? 1000 : 1
            votes[size, default: 0] += weight
            sealedVotes += header.flags == 0 ? -weight : weight
        }
        let size = votes.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key
        return size.map { ($0, sealedVotes > 0) }
    }

    // MARK: Header and space map

    /// Reads the header slots that are valid.
    private static func readHeaders(
        _ file: any StoreFile, _ sectorCount: UInt64, _ cipher: (any PageCipher)?
    ) throws(StorageError) -> [HeaderSlot] {
        var whole: [HeaderSlot] = []
        for slot in 0..<Swift.min(FileFormat.headerSlotCount, sectorCount) {
            guard let bytes = read(file, slot, 1) else { continue }
            switch bytes.withUnsafeBytes({ HeaderSlot.read($0, cipher) }) {
            case .valid(let header):
                // Allows the former size of the file: parts that were cut off are found to be missing page by page.
                let bytes = Swift.max(header.fileSectors, sectorCount) << FileFormat.sectorShift
                if header.fileSectors <= UInt64(FileFormat.maximumFileBytes) >> FileFormat.sectorShift,
                    header.problem(fileBytes: bytes) == nil
                {
                    whole.append(header)
                }
            case .newer(let version):
                throw .newerFormat(path: file.path, version: version, supported: FileFormat.version)
            case .unknownFeatures(let names): throw .unknownFeatures(path: file.path, names: names)
            case .absent, .damaged, .locked: continue
            }
        }
        return whole
    }

    private func loadSpace() {
        let named = header.map { ($0.directory, $0.directorySectors, $0.fileSectors) }
        guard let (directory, sectors, fileSectors) = named ?? findDirectory() else {
            return notes.append("the space map is lost: current pages can't be told from outdated ones")
        }
        let count = SpaceMapPage.count(fileSectors: fileSectors, extentsPerMap: space.extentsPerMap)
        isMapKnown = [Bool](repeating: false, count: count)
        let maps = page(directory.page, kind: .spaceDirectory, sectors: sectors).flatMap { bytes in
            bytes.withUnsafeBytes { (bytes) -> [PageReference]? in
                let birth = bytes.baseAddress.map { PageHeader(reading: $0).birth }
                guard birth == directory.birth else { return nil }
                return SpaceDirectoryPage.read(bytes, expected: count)
            }
        }
        for (index, map) in (maps ?? []).enumerated() { loadMap(map, index) }
        let lost = isMapKnown.count { !$0 }
        if lost > 0 { notes.append("\(lost) of \(count) pages of the space map are lost") }
    }

    private func loadMap(_ map: PageReference, _ index: Int) {
        guard let bytes = page(map.page, kind: .spaceMap, sectors: pageSectors) else { return }
        bytes.withUnsafeBytes { (bytes) in
            guard let base = bytes.baseAddress, PageHeader(reading: base).birth == map.birth,
                base.u64(24) == UInt64(index)
            else { return }
            space.load(map: index) { base.u64(SpaceMapPage.contentOffset + 8 * $0) }
            isMapKnown[index] = true
        }
    }

    /// Finds the newest complete space directory if there is no header. It is that of the last checkpoint, or of a
    /// checkpoint that was not finished.
    private func findDirectory() -> (PageReference, UInt32, UInt64)? {
        var newest: (PageReference, UInt32, UInt64)?
        let covered = UInt64(space.extentsPerMap) * FileFormat.extentSectors
        // Bounded by a size that the file may have had: many directories that claim to be large would be read again
        // and again.
        let limit = 16 * Swift.max(sectorCount, covered)
        let reserve = PageSeal.reserve(keys?.cipher)
        let largest = SpaceDirectoryPage.sectors(maps: Int(limit / covered), reserve: reserve)
        Self.scan(file, 0..<sectorCount) { (number, bytes) in
            let header = PageHeader(reading: bytes)
            guard header.kind == PageKind.spaceDirectory.code, header.birth > newest?.0.birth ?? 0,
                header.sectors <= largest,
                let page = self.page(number, kind: .spaceDirectory, sectors: header.sectors)
            else { return }
            let maps = page.withBytes { Int($0.baseAddress?.u32(24) ?? 0) }
            let sectors = UInt64(maps) * covered
            guard maps > 0, sectors <= limit,
                SpaceDirectoryPage.sectors(maps: maps, reserve: reserve) == header.sectors
            else { return }
            newest = (PageReference(page: number, birth: header.birth), header.sectors, sectors)
        }
        return newest
    }

    // MARK: Journal

    /// Finds the commits since the checkpoint, oldest first, up to the first damaged one. With a header they are in its
    /// journal. Without one they follow the newest page of the space map's state. If the header may be a former one,
    /// commits of later journals are added if they follow.
    private func findCommits() -> JournalSearch {
        var sectors = 0..<sectorCount
        if let ring = header?.journal.run {
            if ring.end > sectorCount { notes.append("the journal is cut off: the newest commits may be lost") }
            if isHeaderSure { sectors = sectors.clamped(to: ring.start..<ring.end) }
        }
        var search = JournalSearch(
            file, sectors, sectorCount: sectorCount, header: header, cipher: keys?.cipher)
        let last = search.follow(header, newestBirth: newestCurrentBirth)
        if search.isDamaged(after: last) {
            notes.append("the journal is damaged: the commits after transaction \(last) are lost")
        }
        return search
    }

    /// Number of commits since the checkpoint that were found.
    package var commitCount: Int { commits.count }

    /// Passes the payloads of the commits to `each`, oldest first, up to the first unreadable one.
    package func forEachCommit(_ each: (Bytes) throws(StorageError) -> Void) throws(StorageError) {
        for index in 0..<commits.count {
            guard let payload = commits.redo(index) else { return }
            try payload.withBytes { (payload) throws(StorageError) in try each(payload) }
        }
    }

    /// The newest birth among the pages in use in the space map. It is the transaction of the map's state, because the
    /// last transaction wrote at least one page of the catalogue. 0 if nothing of it is left.
    private func newestCurrentBirth() -> UInt64 {
        var newest: UInt64 = 0
        scan { (pointer, kind) in
            let sectors = PagePointer.sectors(pointer)
            guard kind == .leaf || kind == .branch, standing(of: pointer) == .current,
                let bytes = page(
                    PagePointer.number(pointer), kind: kind, sectors: sectors > 0 ? sectors : pageSectors)
            else { return }
            let birth = bytes.withUnsafeBytes { $0.baseAddress.map { PageHeader(reading: $0).birth } ?? 0 }
            if birth < FileFormat.maximumNumber { newest = Swift.max(newest, birth) }
        }
        return newest
    }
}
