// SPDX-License-Identifier: Apache-2.0
// Opening, closing and looking after a store: hb_open to hb_compact. A StoreHandle may be used from
// all threads; what keeps it alive is HandleTable.enter, never a lock held across a call.

public import CHornbeam
import Glibc
import HornbeamPages
import HornbeamTree
import Synchronization

/// A store in the hands of C code.
final class StoreHandle: HandleObject {
    static var kind: HandleKind { .store }

    let trees: TreeStore
    let writer = WriterTurn()
    /// What a tree's number is mixed with on its way out and in, so that numbers of two stores differ: a tree of
    /// another store comes in as a number that this store never gave out. The low 20 bits stay as they are.
    let treeSalt: UInt32

    private static let opened = Atomic<UInt32>(0)

    init(_ trees: TreeStore) {
        self.trees = trees
        treeSalt = (Self.opened.add(1, ordering: .relaxed).oldValue % 0xFFF + 1) << 20
    }
}

/// Whose turn it is to write. The engine's own turn can be waited for only; this one can also be tried, and may end on
/// another thread than it began on.
final class WriterTurn {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    /// The thread that took the turn, 0 if nobody has it.
    private let holder = Atomic<UInt>(0)

    init() { sem_init(semaphore, 0, 1) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func take() {
        while sem_wait(semaphore) != 0 && errno == EINTR {}
        holder.store(pthread_self(), ordering: .relaxed)
    }

    func tryTake() -> Bool {
        guard sem_trywait(semaphore) == 0 else { return false }
        holder.store(pthread_self(), ordering: .relaxed)
        return true
    }

    func end() {
        holder.store(0, ordering: .relaxed)
        sem_post(semaphore)
    }

    /// Takes the turn for the length of `body`; `.busy` instead of waiting for oneself.
    func during<Value>(_ what: String, _ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        if holder.load(ordering: .relaxed) == pthread_self() {
            throw .busy("\(what) waits for the write transaction that this thread holds: end that first")
        }
        take()
        defer { end() }
        return try body()
    }
}

/// Runs `body` inside the store, which can't be closed meanwhile. Keeps the store entered if `body` says so.
func inStore(
    _ handle: OpaquePointer?, _ body: (StoreHandle) throws(StorageError) -> (result: Int32, staysInside: Bool)
) -> Int32 {
    guard let store = HandleTable.enter(handle) else {
        return Failure.invalid("the store's handle is NULL, was closed, or is no store's")
    }
    do throws(StorageError) {
        try store.trees.checkProcess()
        let (result, staysInside) = try body(store)
        if !staysInside { HandleTable.leave(handle) }
        return result
    } catch {
        HandleTable.leave(handle)
        return Failure.report(error)
    }
}

/// A C string as a Swift one; `.invalid` when it is NULL, empty or not UTF-8 (it would come to mean something else).
func text(_ string: UnsafePointer<CChar>?, _ what: String) throws(StorageError) -> String {
    guard let string else { throw .invalid("\(what) is NULL") }
    guard let text = String(validatingCString: string) else { throw .invalid("\(what) is not UTF-8") }
    guard !text.isEmpty else { throw .invalid("\(what) is empty") }
    return text
}

@c @implementation
public func hb_open(
    _ path: UnsafePointer<CChar>?, _ options_or_null: UnsafePointer<hb_options>?,
    _ store: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
    guard let store else { return Failure.invalid("hb_open needs a place for the store") }
    store.pointee = nil
    do throws(StorageError) {
        let given = try copyOptions(options_or_null)
        let options = try storeOptions(given)
        let trees =
            given.in_memory != 0
            ? try TreeStore.inMemory(options: options)
            : try TreeStore.open(at: try text(path, "the path"), options: options)
        store.pointee = try HandleTable.insert(StoreHandle(trees))
        return Result.ok
    } catch {
        return Failure.report(error)
    }
}

/// The options with every field that the caller's struct lacks as zero.
private func copyOptions(_ options: UnsafePointer<hb_options>?) throws(StorageError) -> hb_options {
    var copy = hb_options()
    guard let options else { return copy }
    let known = MemoryLayout<hb_options>.stride
    let bytes = UnsafeRawPointer(options)
    // The field of the size alone is sure to be there.
    let claimed = bytes.loadUnaligned(as: Int.self)
    let size = claimed == 0 ? known : claimed
    guard size >= MemoryLayout<Int>.size, size <= 4096 else {
        throw .invalid("hb_options.struct_size is \(UInt(bitPattern: claimed)): set it to sizeof(hb_options)")
    }
    if size > known, (known..<size).contains(where: { bytes.load(fromByteOffset: $0, as: UInt8.self) != 0 }) {
        throw .unsupported("hb_options has fields set that this library doesn't know: use a newer Hornbeam")
    }
    withUnsafeMutableBytes(of: &copy) { $0.copyMemory(from: Bytes(start: bytes, count: min(size, known))) }
    return copy
}

private func storeOptions(_ given: hb_options) throws(StorageError) -> StoreOptions {
    var options = StoreOptions()
    guard let durability = Durability(rawValue: given.durability) else {
        throw .invalid("hb_options.durability is \(given.durability): it must be one of HB_DURABLE_…")
    }
    options.durability = durability
    if given.page_size != 0 {
        guard given.page_size.nonzeroBitCount == 1, 4096...65536 ~= given.page_size else {
            throw .invalid("hb_options.page_size is \(given.page_size): it must be a power of two, 4096 to 65536")
        }
        options.pageSize = Int(given.page_size)
    }
    options.readOnly = given.read_only != 0
    options.createIfMissing = !options.readOnly
    options.lockWaitMilliseconds = Int(given.lock_wait_ms)
    options.checkpointBytes = Int(clamping: given.checkpoint_bytes)
    if options.readOnly, given.in_memory != 0 {
        throw .invalid("hb_options.read_only and in_memory exclude each other: a new store has nothing to read")
    }
    return options
}

@c @implementation
public func hb_close(_ store: OpaquePointer?) -> Int32 {
    do throws(StorageError) {
        let result = try HandleTable.close(store) { store in
            do throws(StorageError) {
                try store.trees.close()
                return (Result.ok, keep: false)
            } catch .busy(let what) {
                return (Failure.report(.busy(what)), keep: true)
            } catch {
                return (Failure.report(error), keep: false)
            }
        }
        return result ?? Failure.invalid("the store's handle is NULL, was closed, or is no store's")
    } catch {
        return Failure.report(error)
    }
}

@c @implementation
public func hb_checkpoint(_ store: OpaquePointer?) -> Int32 {
    inStore(store) { (store) throws(StorageError) in
        try store.writer.during("a checkpoint") { () throws(StorageError) in try store.trees.checkpoint() }
        return (Result.ok, staysInside: false)
    }
}

@c @implementation
public func hb_check(
    _ store: OpaquePointer?,
    _ report: (@convention(c) (_ context: UnsafeMutableRawPointer?, _ problem: UnsafePointer<CChar>?) -> Void)?,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    inStore(store) { (store) throws(StorageError) in
        var problems = 0
        var firstProblem = ""
        let isSound = try store.writer.during("a check") { () throws(StorageError) in
            try store.trees.check { problem in
                if problems == 0 { firstProblem = problem }
                problems += 1
                problem.withCString { report?(context, $0) }
            }
        }
        guard !isSound || problems > 0 else { return (Result.ok, staysInside: false) }
        let words = "the check found \(problems) problems; the first: \(firstProblem)"
        return (Failure.report(.corrupt(Corruption(reason: words))), staysInside: false)
    }
}

@c @implementation
public func hb_backup(_ store: OpaquePointer?, _ path: UnsafePointer<CChar>?) -> Int32 {
    inStore(store) { (store) throws(StorageError) in
        try store.trees.backup(to: try text(path, "the path"))
        return (Result.ok, staysInside: false)
    }
}

@c @implementation
public func hb_compact(_ store: OpaquePointer?) -> Int32 {
    inStore(store) { (store) throws(StorageError) in
        // Not for as long as it takes: other writers have their turns between its steps.
        try store.writer.during("a compaction") { () throws(StorageError) in }
        try store.trees.compact()
        return (Result.ok, staysInside: false)
    }
}
