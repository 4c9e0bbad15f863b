// SPDX-License-Identifier: Apache-2.0
// The only file with system calls on a store's file. EINTR is handled here, once; errno becomes a typed error here.
// Never retries a failed sync or write: the state of the medium is unknown then, and the store must report that.

import CHornbeamShims
import Glibc
import Synchronization

/// A file of the file system, locked against other openers for as long as it is open.
package final class LinuxFile: SharedFile {
    package let path: String
    package let isDurable = true
    package let mapping: Mapping?
    package var maximumBytes: Int { mapping?.capacity ?? FileFormat.maximumFileBytes }
    private let descriptor: Int32
    private let pendingName: PendingName?
    package let locks: FileLocks
    private let place: OpenFile?
    private let canWrite: Bool
    /// While true, `giveName` does nothing: a store that is being filled has no name yet.
    package var isNameless: Bool {
        get { holdsName.load(ordering: .relaxed) }
        set { holdsName.store(newValue, ordering: .relaxed) }
    }
    private let holdsName = Atomic<Bool>(false)
    private let isClosed = Atomic<Bool>(false)
    private let generation = hbs_fork_generation()

    /// The way in which a new file gets its name.
    private enum PendingName {
        /// Opened with O_TMPFILE.
        case unnamed
        /// A temporary name beside the final one, used if there are no unnamed files or /proc is missing.
        case temporary(String)
    }

    private init(
        path: String, descriptor: Int32, pendingName: PendingName?, claim: Claim, options: StoreOptions
    ) throws(StorageError) {
        self.path = path
        self.descriptor = descriptor
        self.pendingName = pendingName
        canWrite = !options.readOnly
        locks = claim.locks
        place = claim.place
        guard options.usedAccess == .mapped else {
            mapping = nil
            return
        }
        mapping = try Mapping(storeOf: descriptor, bytes: Int(try Self.size(descriptor, path)), path: path)
    }

    deinit {
        close()
        // Not earlier, because the descriptor's number could mean another file to a late call.
        Glibc.close(descriptor)
    }

    /// Whether `open` or `createNew` made the file. It may have its name by now.
    var isNew: Bool { pendingName != nil }

    package var neighbours: (any Neighbours)? { canWrite ? locks : nil }

    package func close() {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // In a forked child the name, the locks and the place are the parent's.
        if generation == hbs_fork_generation() {
            if case .temporary(let name)? = pendingName { unlink(name) }
            locks.releaseAll()
            place?.giveBack()
        }
    }
}

// MARK: Opening

extension LinuxFile {
    /// Opens the file at `path`. If there is none, makes a new, empty file without a name. For writing, takes the
    /// writer's lock and the gate, which `hasBegun` opens again.
    static func open(
        path: String, options: StoreOptions, locks: LockCalls = .system
    ) throws(StorageError) -> LinuxFile {
        try checkPath(path)
        try checkIsRegular(path)
        let mode = options.readOnly ? O_RDONLY : O_RDWR
        let descriptor: Int32
        do throws(StorageError) {
            descriptor = Int32(try call("open", path) { Int(Glibc.open(path, mode | O_CLOEXEC | O_NOCTTY)) })
        } catch .io(_, _, ENOENT) where options.createIfMissing && !options.readOnly {
            return try create(path: path, options: options, locks: locks)
        }
        return try adopt(path: path, descriptor: descriptor, pendingName: nil, options: options, locks: locks)
    }

    /// Opens the file once more, for writing. This store keeps its place in the register. Throws `.readOnly` if this
    /// process may not write to the file.
    package func reopenForWriting(_ options: StoreOptions) throws(StorageError) -> any StoreFile {
        let descriptor = hbs_reopen(descriptor, O_RDWR)
        guard descriptor >= 0 else {
            throw .readOnly("\(path) was not closed: open it once with the right to write, to recover it")
        }
        hbs_survive_file_limit()
        return try Self.adopt(descriptor) { () throws(StorageError) in
            let locks = try FileLocks(of: descriptor, path: path, canWrite: true, calls: locks.calls)
            let claim = try Claim(locks: locks, path: path, options: options)
            return try LinuxFile(path: path, descriptor: descriptor, pendingName: nil, claim: claim, options: options)
        }
    }

    /// Makes a new, empty file without a name for `path`. Throws `.exists` if there is a file already; another may
    /// appear until `giveName`, which decides.
    package static func createNew(path: String) throws(StorageError) -> LinuxFile {
        try checkPath(path)
        var information = stat()
        guard lstat(path, &information) != 0 else { throw .exists(path: path) }
        return try create(path: path, options: StoreOptions(), locks: .system)
    }

    private static func adopt(
        path: String, descriptor: Int32, pendingName: PendingName?, options: StoreOptions, locks: LockCalls
    ) throws(StorageError) -> LinuxFile {
        if !options.readOnly { hbs_survive_file_limit() }
        return try adopt(descriptor) { () throws(StorageError) in
            var information = stat()
            _ = try call("fstat", path) { Int(fstat(descriptor, &information)) }
            let locks = try FileLocks(
                of: descriptor, path: path, canWrite: !options.readOnly, calls: locks)
            let claim = try Claim(FileIdentity(information), locks: locks, path: path, options: options)
            return try LinuxFile(
                path: path, descriptor: descriptor, pendingName: pendingName, claim: claim, options: options)
        }
    }

    /// Closes the descriptor if `body` throws.
    private static func adopt(
        _ descriptor: Int32, _ body: () throws(StorageError) -> LinuxFile
    ) throws(StorageError) -> LinuxFile {
        do throws(StorageError) {
            return try body()
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    /// The system reads a path up to its first NUL, so that such a path would name another file.
    private static func checkPath(_ path: String) throws(StorageError) {
        guard !path.isEmpty else { throw .invalid("the path of the file is empty") }
        guard !path.utf8.contains(0) else {
            let shown = path.replacing("\0", with: "\\0")
            throw .invalid("the path “\(shown)” contains the character NUL: no file can have that name")
        }
    }

    /// Whether the regular file at `path` is a store. One header slot with the magic bytes is enough: the store may be
    /// damaged or of a newer format.
    package static func isStore(at path: String) throws(StorageError) -> Bool {
        let descriptor = Int32(try call("open", path) { Int(Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)) })
        defer { Glibc.close(descriptor) }
        for slot in 0..<FileFormat.headerSlotCount {
            var magic: UInt64 = 0
            let place = off_t(slot << FileFormat.sectorShift)
            let count = try call("read", path) { pread(descriptor, &magic, 8, place) }
            if count == 8, UInt64(littleEndian: magic) == FileFormat.magic { return true }
        }
        return false
    }

    /// Checks the kind first, because opening a FIFO would block, and a directory gives only EISDIR.
    private static func checkIsRegular(_ path: String) throws(StorageError) {
        var information = stat()
        guard stat(path, &information) == 0 else { return }
        switch information.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw .notAStore(path: path, reason: "it is a directory")
        default: throw .notAStore(path: path, reason: "it is not a regular file")
        }
    }

    private static func create(
        path: String, options: StoreOptions, locks: LockCalls
    ) throws(StorageError) -> LinuxFile {
        let directory = directory(of: path)
        do throws(StorageError) {
            let descriptor = try call("create", path) { Int(hbs_open_unnamed(directory, 0o644)) }
            return try adopt(
                path: path, descriptor: Int32(descriptor), pendingName: .unnamed, options: options, locks: locks)
        } catch .io(_, _, let code) where code == EOPNOTSUPP || code == EISDIR || code == EINVAL {
            let name = path + ".\(UInt64.random(in: 0...UInt64.max)).new"
            let flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC
            let descriptor = try call("create", path) { Int(Glibc.open(name, flags, 0o644)) }
            do throws(StorageError) {
                return try adopt(
                    path: path, descriptor: Int32(descriptor), pendingName: .temporary(name), options: options,
                    locks: locks)
            } catch {
                unlink(name)
                throw error
            }
        }
    }

    package static func directory(of path: String) -> String {
        // By bytes, because a slash with an accent behind it is one character in Swift.
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    package func giveName() throws(StorageError) {
        guard !isNameless else { return }
        switch pendingName {
        case nil: return
        case .unnamed: try Self.check("link", path) { hbs_link_unnamed(descriptor, path) }
        case .temporary(let name): _ = try Self.call("link", path) { Int(link(name, path)) }
        }
        do throws(StorageError) {
            try Self.syncDirectory(of: path)
        } catch {
            // The caller gets an error, so there must be no file: its next attempt would find this one.
            unlink(path)
            throw error
        }
        if case .temporary(let name)? = pendingName { unlink(name) }
    }

    /// Makes the name of the file at `path` durable.
    package static func syncDirectory(of path: String) throws(StorageError) {
        let directory = Self.directory(of: path)
        let folder = Int32(try call("open", directory) { Int(Glibc.open(directory, O_RDONLY | O_CLOEXEC)) })
        defer { Glibc.close(folder) }
        _ = try call("fsync", directory) { Int(fsync(folder)) }
    }
}

// MARK: Changes

extension LinuxFile {
    package func size() throws(StorageError) -> UInt64 { try Self.size(descriptor, path) }

    private static func size(_ descriptor: Int32, _ path: String) throws(StorageError) -> UInt64 {
        var information = stat()
        _ = try call("fstat", path) { Int(fstat(descriptor, &information)) }
        return UInt64(information.st_size)
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let place = Int(offset) + done
            let count = try Self.call("read", path) { pread(descriptor, rest.baseAddress, rest.count, place) }
            guard count > 0 else {
                throw .corrupt(Corruption(reason: "\(path) ends at byte \(place), where a page should be"))
            }
            done += count
        }
    }

    package func startWriteBack(at offset: UInt64, count: UInt64) {
        // A hint. If the system can't do it, the sync does all of it.
        _ = hbs_start_write_back(descriptor, Int64(offset), Int64(count))
    }

    package func startRead(at offset: UInt64, count: UInt64) {
        hbs_start_read(descriptor, Int64(offset), Int64(count))
    }

    /// Fetches bytes by a read, and drops them. A fault in the mapping would also read bytes around them: some
    /// megabytes on some disks, 25 ms for the first get of a store that is in no cache. A read brings only the
    /// requested bytes, and the next ones once reads are sequential.
    package func fetch(at offset: UInt64, count: Int) {
        withUnsafeTemporaryAllocation(byteCount: min(count, Self.fetchBound), alignment: 8) { buffer in
            _ = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
        }
    }

    /// Maximum number of bytes to fetch. The rest is read through the mapping.
    private static var fetchBound: Int { 64 << 10 }

    package func write(_ bytes: Bytes, at offset: UInt64) throws(StorageError) {
        try writeAll(bytes, at: offset) { rest, place in pwrite(descriptor, rest.baseAddress, rest.count, place) }
    }

    /// Writes in small pieces. The kernel caches the bytes of one call in pieces of memory of that size, up to 2 MiB,
    /// and goes through all blocks of such a piece whenever a part of it is written. Writing one sector through takes 7
    /// µs more in a ring that was made with calls of one megabyte, and 25 µs more with calls of four (Linux 6.18,
    /// ext4).
    package func writeZeros(at offset: UInt64, count: UInt64) throws(StorageError) {
        try writeZeros(at: offset, count: count, piece: 16 << 10)
    }

    package func writeThrough(_ bytes: Bytes, at offset: UInt64) throws(StorageError) {
        do throws(StorageError) {
            try writeAll(bytes, at: offset) { rest, place in
                hbs_write_through(descriptor, rest.baseAddress, rest.count, Int64(place))
            }
        } catch .io(_, _, let code) where code == EOPNOTSUPP || code == ENOSYS || code == EINVAL {
            // A kernel or file system without RWF_DSYNC. This is slower, but as safe.
            try write(bytes, at: offset)
            try sync()
        }
    }

    private func writeAll(
        _ bytes: Bytes, at offset: UInt64, using write: (Bytes, Int) -> Int
    ) throws(StorageError) {
        var done = 0
        while done < bytes.count {
            let rest = Bytes(rebasing: bytes[done...])
            let count = try Self.call("write", path) { write(rest, Int(offset) + done) }
            guard count > 0 else { throw .io(operation: "write", path: path, errno: EIO) }
            done += count
        }
    }

    package func sync() throws(StorageError) {
        _ = try Self.call("fdatasync", path) { Int(fdatasync(descriptor)) }
    }

    package func grow(to size: UInt64) throws(StorageError) {
        // Must be `.full`: only then does allocation try less, or former places.
        guard size <= UInt64(maximumBytes) else { throw .full(path: path) }
        let current = try self.size()
        guard size > current else { return }
        do throws(StorageError) {
            try Self.check("fallocate", path) { hbs_allocate(descriptor, Int64(current), Int64(size - current)) }
        } catch .io(_, _, let code) where code == EOPNOTSUPP || code == ENOSYS {
            try writeZeros(at: current, count: size - current, piece: 1 << 20)
        }
    }

    package func shrink(to size: UInt64) throws(StorageError) {
        _ = try Self.call("ftruncate", path) { Int(ftruncate(descriptor, Int(size))) }
    }
}

// MARK: Errors

extension LinuxFile {
    /// Makes a call that returns -1 and sets errno on failure.
    private static func call(_ operation: String, _ path: String, _ body: () -> Int) throws(StorageError) -> Int {
        while true {
            let result = body()
            if result >= 0 { return result }
            let code = errno
            if code != EINTR { throw error(operation, path, code) }
        }
    }

    /// Makes a call that returns 0 or an errno.
    private static func check(_ operation: String, _ path: String, _ body: () -> Int32) throws(StorageError) {
        while true {
            let code = body()
            if code == 0 { return }
            if code != EINTR { throw error(operation, path, code) }
        }
    }

    private static func error(_ operation: String, _ path: String, _ code: Int32) -> StorageError {
        switch code {
        case ENOSPC, EDQUOT, EFBIG: .full(path: path)
        case EEXIST: .exists(path: path)
        default: .io(operation: operation, path: path, errno: code)
        }
    }
}
