// SPDX-License-Identifier: Apache-2.0
// Opens and creates stores: reads the header and the space map, then recovers. Nothing is written before the journal
// was read and found undamaged. A new file gets its name only once it is a whole, durable, empty store.

extension PageStore {
    /// Opens the store in the file at `path`, or creates it. Throws a different error for each fault of the file: see
    /// `StorageError`.
    package static func open(
        path: String, options: StoreOptions, structure: @escaping StructureCheck, replay: @escaping Replay
    ) throws(StorageError) -> PageStore {
        // Another process may create the file between the look and the link. Then the file is opened.
        for _ in 0..<3 {
            let file = try LinuxFile.open(path: path, options: options)
            do throws(StorageError) {
                if !file.isNew, try file.size() == 0 {
                    throw .notAStore(path: path, reason: "the file is empty; remove it to create a store there")
                }
                if options.readOnly {
                    return try follow(file: file, options: options, structure: structure, replay: replay)
                }
                let store = try open(file: file, options: options, structure: structure, replay: replay)
                store.worker.allow()
                return store
            } catch {
                file.close()
                if case .exists = error, file.isNew { continue }
                throw error
            }
        }
        throw .invalid("\(path) is a link to a missing file: a store can't be created there")
    }

    /// Opens the store in `file`, or creates one if the file is empty. It has no thread: its commits checkpoint.
    package static func open(
        file: any StoreFile, options: StoreOptions, structure: @escaping StructureCheck, replay: Replay
    ) throws(StorageError) -> PageStore {
        let size = try file.size()
        let isNew = size == 0
        // No other process changes the file, so its header slots are read once, or once more with the keys.
        var slots = FileReader.headers(of: file, nil, size: size)
        var keys: StoreKeys?
        if file.isDurable {
            keys =
                isNew
                ? try StoreKeys(creating: options.encryption)
                : try StoreKeys(in: slots.readings, path: file.path, options.encryption)
        }
        if let keys { slots = FileReader.headers(of: file, keys.cipher, size: size) }
        let mapping = options.access == .mapped && keys == nil ? file.mapping : nil
        let header = isNew ? nil : try slots.newest(path: file.path, fileBytes: size)
        let pageSize = header.map { Int($0.pageSize) } ?? options.pageSize
        guard FileFormat.isValid(pageSize: pageSize) else {
            throw .invalid("page size \(pageSize): a power of two from 4096 to 65536 is needed")
        }
        let cache = try PageCache(budget: options.cacheBytes, pageSize: pageSize)
        let verification = try Verification(
            file: file, mapping: mapping, cache: cache, keys: keys, structure: structure)
        guard let header else { return try create(file, options, verification) }
        let store = try load(file, header, size, options, verification)
        // Two header slots may have different keys; those that have just opened the store stay.
        if let keys { store.side.header.keys = keys.slots }
        try store.recover(slots.readings, replay)
        store.side.leap()
        store.noteStatistics()
        return store
    }

    // MARK: Creating

    private static func create(
        _ file: any StoreFile, _ options: StoreOptions, _ verification: Verification
    ) throws(StorageError) -> PageStore {
        let keys = verification.keys
        var header = HeaderSlot(
            newPageSize: options.pageSize, identifier: keys?.identifier ?? .random(), keys: keys?.slots)
        header.takeFirstRing(options.firstRingSectors)
        var space = SpaceMap(pageSize: options.pageSize, reserve: verification.reserve)
        space.grow(to: header.fileSectors)
        space.reserve(SectorRun(start: 0, count: UInt32(FileFormat.reservedSectors)))
        if file.isDurable { space.reserve(header.journal.run) }
        try file.grow(to: header.fileSectors << FileFormat.sectorShift)
        let empty = PublishedState(transaction: 0, root: RootRecord())
        return try establish(file, options, verification, space, header, empty)
    }

    /// Makes a whole, durable store of a file that holds the pages of `state`, as `space` says, and gives it its name.
    @discardableResult
    static func establish(
        _ file: any StoreFile, _ options: StoreOptions, _ verification: Verification, _ space: SpaceMap,
        _ header: HeaderSlot, _ state: PublishedState
    ) throws(StorageError) -> PageStore {
        let side = WriterSide(
            file: file, verification: verification, space: space, header: header, state: state,
            cacheBytes: options.cacheBytes)
        let store = PageStore(file: file, options: options, side: side)
        if file.isDurable {
            do throws(StorageError) {
                try CheckpointPlan.zero(header.journal, file)
                try store.checkpoint(state)
                try side.announcer?.begin(side, isWhole: true)
                try file.giveName()
            } catch .failed(let cause) {
                throw cause
            }
        }
        store.noteStatistics()
        return store
    }

    // MARK: Following

    /// Opens the file for reading beside a writer in another process.
    package static func follow(
        file: any SharedFile, options: StoreOptions, structure: @escaping StructureCheck, replay: @escaping Replay
    ) throws(StorageError) -> PageStore {
        // Before anything else, so that a file that is no store gives the right error.
        let keys = try StoreKeys(besideWriter: file, options.encryption)
        let header = try headerBesideWriter(file, keys?.cipher)
        try file.locks.attend()
        let cache = try PageCache(budget: options.cacheBytes, pageSize: Int(header.pageSize))
        let verification = try Verification(
            file: file, mapping: keys == nil ? file.mapping : nil, cache: cache, keys: keys,
            remembersBirths: true, structure: structure)
        let follower = Follower(file: file, verification: verification) { () throws(StorageError) in
            try recover(file, options, structure, replay)
        }
        return try follower.find(isOpening: true) { (found) throws(StorageError) in
            try follower.note(found)
            var space = SpaceMap(pageSize: Int(header.pageSize), reserve: verification.reserve)
            space.grow(to: FileFormat.fileSectors(within: found.root.fileSectors))
            let state = PublishedState(transaction: found.root.transaction, root: found.root.root)
            let side = WriterSide(
                file: file, verification: verification, space: space, header: found.header ?? header, state: state,
                cacheBytes: options.cacheBytes)
            if found.header != nil {
                do throws(StorageError) {
                    try side.loadSpace()
                    follower.noteUsed(sectors: UInt64(side.space.liveSectors))
                } catch {
                    if found.life == 0 { throw error }
                    // A checkpoint of the writer may have reused the map's place meanwhile. The map is only for the
                    // figures.
                    side.spaceMaps = []
                }
            }
            return PageStore(file: file, options: options, side: side, follower: follower)
        }
    }

    /// Reads the header while a checkpoint may be writing it. Each slot may be found half written, and a slow reader
    /// can meet both writes.
    static func headerBesideWriter(
        _ file: any StoreFile, _ cipher: (any PageCipher)?
    ) throws(StorageError) -> HeaderSlot {
        for _ in 0..<3 {
            do throws(StorageError) {
                return try readHeader(file, cipher)
            } catch .corrupt {
                Claim.pause(milliseconds: 2)
            }
        }
        return try readHeader(file, cipher)
    }

    /// Recovers a file whose writer died, and leaves it closed. Does nothing if another process comes first, which then
    /// does it.
    private static func recover(
        _ file: any SharedFile, _ options: StoreOptions, _ structure: @escaping StructureCheck, _ replay: Replay
    ) throws(StorageError) {
        var writing = options
        writing.readOnly = false
        writing.lockWaitMilliseconds = 0
        do throws(StorageError) {
            let store = try open(
                file: try file.reopenForWriting(writing), options: writing, structure: structure, replay: replay)
            try store.close()
        } catch .busy {
            return
        }
    }

    // MARK: Loading

    private static func load(
        _ file: any StoreFile, _ header: HeaderSlot, _ size: UInt64, _ options: StoreOptions,
        _ verification: Verification
    ) throws(StorageError) -> PageStore {
        var space = SpaceMap(pageSize: Int(header.pageSize), reserve: verification.reserve)
        // The file may have grown since the checkpoint. Sectors that the map does not have are free.
        let sectors = FileFormat.fileSectors(within: size >> FileFormat.sectorShift)
        guard sectors <= UInt64(file.maximumBytes) >> FileFormat.sectorShift else {
            throw .unsupported(
                "\(file.path) is larger than the address space of this process: raise the limit (ulimit -v)")
        }
        space.grow(to: sectors)
        verification.noteFileSize(sectors: space.sectorCount)
        verification.provideBits()
        let state = PublishedState(transaction: header.transaction, root: header.root)
        // The map is given away: a second reference would have it copied at its first change.
        let side = WriterSide(
            file: file, verification: verification, space: consume space, header: header, state: state,
            cacheBytes: options.cacheBytes)
        try side.loadSpace()
        if !options.readOnly { verification.foreign.fill(from: side.space, own: side.ownRuns) }
        let store = PageStore(file: file, options: options, side: side)
        side.retired.pin(header.transaction)
        return store
    }

    /// Reads the header slots and returns the newest.
    ///
    /// Beside a writer a slot is only right for the size that the file has then: if the size changes, both are read
    /// again.
    static func readHeader(
        _ file: any StoreFile, _ cipher: (any PageCipher)?
    ) throws(StorageError) -> HeaderSlot {
        var size = try file.size()
        var attemptsLeft = 1000
        while true {
            let slots = FileReader.headers(of: file, cipher, size: size)
            let former = size
            size = try file.size()
            // A process that changes the size all the time is no writer, so the last look counts.
            attemptsLeft -= 1
            if size != former, attemptsLeft > 0 { continue }
            return try slots.newest(path: file.path, fileBytes: size)
        }
    }
}

extension WriterSide {
    /// Reads the space map as of the header, and reserves the store's own sectors.
    func loadSpace() throws(StorageError) {
        let count = SpaceMapPage.count(fileSectors: header.fileSectors, extentsPerMap: space.extentsPerMap)
        let sectors = SpaceDirectoryPage.sectors(maps: count, reserve: verification.reserve)
        guard header.directorySectors == sectors else {
            throw .corrupt(Corruption(reason: "the space directory has \(header.directorySectors) sectors"))
        }
        let directory = spacePage(header.directory, .spaceDirectory, sectors: header.directorySectors)
        let maps = try verification.withWhole(directory) { (bytes) throws(StorageError) in
            SpaceDirectoryPage.read(bytes, expected: count)
        }
        guard let maps else {
            throw .corrupt(Corruption(page: header.directory.page, reason: "its number of space map pages is wrong"))
        }
        spaceMaps = maps
        for (index, map) in maps.enumerated() { try load(map, index) }
        try reserveOwn()
        dirtyPages.open(header.transaction, inUse: liveSectors)
    }

    private func spacePage(_ place: PageReference, _ kind: PageKind, sectors: UInt32) -> Verification.Expectation {
        Verification.Expectation(number: place.page, birth: place.birth, kind: kind, level: 0, sectors: sectors)
    }

    private func load(_ map: PageReference, _ index: Int) throws(StorageError) {
        let expected = spacePage(map, .spaceMap, sectors: UInt32(space.pageSectors))
        try verification.withWhole(expected) { (page) throws(StorageError) in
            guard let bytes = page.baseAddress, bytes.u64(24) == UInt64(index) else {
                throw .corrupt(Corruption(page: map.page, reason: "it is not part \(index) of the space map"))
            }
            space.load(map: index) { bytes.u64(SpaceMapPage.contentOffset + 8 * $0) }
        }
    }

    /// Reserves the store's own sectors, which no tree may free. They must be in use in the map, each once.
    private func reserveOwn() throws(StorageError) {
        for run in ownRuns {
            guard space.isOwned(run) else {
                throw .corrupt(
                    Corruption(page: run.start, reason: "the space map marks a part of the store's own sectors as free")
                )
            }
            space.reserve(run)
        }
    }

    /// The sectors of header slots, shared area, journal and space pages.
    var ownRuns: [SectorRun] {
        let maps = spaceMaps.map { SectorRun(start: $0.page, count: UInt32(space.pageSectors)) }
        return [
            SectorRun(start: 0, count: UInt32(FileFormat.reservedSectors)), header.journal.run, header.directoryRun,
        ] + maps
    }
}
