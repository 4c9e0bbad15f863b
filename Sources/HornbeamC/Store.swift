// SPDX-License-Identifier: Apache-2.0
// Opening, closing and maintaining a store: hb_open to hb_compact. All threads may use a StoreHandle. HandleTable.enter
// keeps it alive; no lock is held across a call.

public import CHornbeam
import Glibc
import HornbeamCipher
import HornbeamPages
import HornbeamTree
import Synchronization

/// A store that C code has a handle of.
final class StoreHandle: HandleObject {
    static var kind: HandleKind { .store }

    let trees: TreeStore
    /// The thread that has the open write transaction.
    let writer = WriterHands()
    /// Ended reads, which wait to begin again in the slots of their handles.
    let idleReads = IdlePlaces()
    /// Mixed into tree numbers that are returned or passed in, so that numbers of two stores differ: the number of
    /// another store's tree becomes a number that this store never returned. The low 20 bits stay as they are.
    let treeSalt: UInt32
    /// The known reductions, by name.
    let reductions: [String: Reduction]

    private static let opened = Atomic<UInt32>(0)

    init(_ trees: TreeStore, reductions: [String: Reduction]) {
        self.trees = trees
        self.reductions = reductions
        treeSalt = (Self.opened.add(1, ordering: .relaxed).oldValue % 0xFFF + 1) << 20
    }

    /// Releases all waiting reads. No other thread may be inside the store.
    func dropIdleReads() {
        idleReads.takeAll { Unmanaged<TransactionHandle>.fromOpaque($0).takeUnretainedValue().drop() }
    }
}

/// The thread that has the open write transaction. The engine refuses to wait on the thread that began one. But waiting
/// for a transaction that was handed to another thread is allowed. This class distinguishes the two cases.
final class WriterHands: Sendable {
    /// The thread that used the write transaction last; 0 if none is open.
    private let thread = Atomic<UInt>(0)
    /// The process that opened the store: threads of a forked child look like those of the parent.
    private let process = getpid()
    /// Time for which a thread that has the write transaction waits for another thread to take it over.
    private static let patienceMilliseconds = 1000

    /// Notes that the calling thread begins or uses the write transaction.
    @inline(__always)
    func hold() { thread.store(pthread_self(), ordering: .relaxed) }

    /// Notes that the calling thread's write transaction has ended. Another thread may have begun the next one already.
    func letGo() {
        _ = thread.compareExchange(expected: pthread_self(), desired: 0, ordering: .relaxed)
    }

    private var isMine: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    /// Runs `body`, which waits for the writer's turn, and repeats that while the engine takes this thread for the
    /// holder of the turn. Throws `own` once it is clear that no other thread has it.
    func waiting<Value>(
        orThrow own: StorageError, _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        var waited = 0
        var attempts = 0
        while true {
            do throws(StorageError) {
                return try body()
            } catch {
                guard case .invalid = error, process == getpid() else { throw error }
                guard !isMine || waited < Self.patienceMilliseconds else { throw own }
                // No thread has it: it ended at this moment, or the error has another cause.
                if thread.load(ordering: .relaxed) == 0 { attempts += 1 }
                guard attempts < 3 else { throw error }
            }
            usleep(1000)
            waited += 1
        }
    }
}

/// Runs `body` inside the store, which can't be closed meanwhile.
@inline(__always)
func inStore(_ handle: OpaquePointer?, _ body: (StoreHandle) throws(StorageError) -> Int32) -> Int32 {
    enteringStore(handle) { (store, _) throws(StorageError) in
        try store.trees.checkProcess()
        return (try body(store), staysInside: false)
    }
}

/// Runs `body` inside the store. If `body` returns true for `staysInside`, the store stays entered until the stripe is
/// left. Also runs in a forked child, so `body` must check the process.
@inline(__always)
func enteringStore(
    _ handle: OpaquePointer?,
    _ body: (StoreHandle, StripedCount.Stripe) throws(StorageError) -> (result: Int32, staysInside: Bool)
) -> Int32 {
    guard let (store, stripe) = HandleTable.enter(handle) else {
        return Failure.invalid("the store's handle is NULL, was closed, or is no store's")
    }
    return store._withUnsafeGuaranteedRef { (store) in
        do throws(StorageError) {
            let (result, staysInside) = try body(store, stripe)
            if !staysInside { stripe.leave() }
            return result
        } catch {
            stripe.leave()
            return Failure.report(error)
        }
    }
}

/// Converts a C string. Throws `.invalid` if it is NULL, empty or not UTF-8 (repairing it would change its meaning).
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
    open(path, options_or_null, nil, store)
}

@c @implementation
public func hb_open_with(
    _ path: UnsafePointer<CChar>?, _ options_or_null: UnsafePointer<hb_options>?,
    _ more: UnsafePointer<hb_more_options>?, _ store: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
    open(path, options_or_null, more, store)
}

private func open(
    _ path: UnsafePointer<CChar>?, _ given: UnsafePointer<hb_options>?, _ more: UnsafePointer<hb_more_options>?,
    _ store: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
    guard let store else { return Failure.invalid("opening a store needs a place for it") }
    store.pointee = nil
    do throws(StorageError) {
        let given = try copyOptions(given, of: "hb_options", hb_options())
        let more = try copyOptions(more, of: "hb_more_options", hb_more_options())
        var options = try storeOptions(given)
        if more.unmapped != 0 { options.access = .read }
        if more.key != nil, given.in_memory != 0 {
            throw .invalid("a store in memory has no file to encrypt: leave hb_more_options.key NULL")
        }
        options.encryption = try storeKey(more.key, more.key_size, isPassphrase: more.key_is_passphrase != 0)
        let known = try reductions(more.reductions, count: Int(more.reduction_count))
        let trees =
            given.in_memory != 0
            ? try TreeStore.inMemory(options: options, reductions: Array(known.values))
            : try TreeStore.open(at: try text(path, "the path"), options: options, reductions: Array(known.values))
        store.pointee = try HandleTable.insert(StoreHandle(trees, reductions: known))
        return Result.ok
    } catch {
        return Failure.report(error)
    }
}

/// Returns the key of an encrypted store; nil for NULL.
private func storeKey(
    _ key: UnsafeRawPointer?, _ size: Int, isPassphrase: Bool
) throws(StorageError) -> (any StoreEncryption)? {
    guard let key else {
        guard size == 0 else { throw .invalid("the key has \(size) bytes, but its pointer is NULL") }
        return nil
    }
    guard 1...4096 ~= size else { throw .invalid("a key of \(size) bytes: 32 are needed, of a passphrase 1 to 4096") }
    let bytes = Bytes(start: key, count: size)
    return isPassphrase
        ? StoreKey(passphrase: bytes, logCost: StoreKey.usualLogCost) : StoreKey(key: bytes)
}

@c @implementation
public func hb_rekey(
    _ store: OpaquePointer?, _ key: UnsafeRawPointer?, _ key_size: Int, _ key_is_passphrase: UInt32
) -> Int32 {
    inStore(store) { (store) throws(StorageError) in
        guard let key = try storeKey(key, key_size, isPassphrase: key_is_passphrase != 0) else {
            throw .invalid("hb_rekey needs a key; hornbeam decrypt makes a copy without one")
        }
        try store.writer.waiting(orThrow: ownWriter("hb_rekey")) { () throws(StorageError) in
            try store.trees.rekey(key, keepsOthers: false)
        }
        return Result.ok
    }
}

/// Copies the options; every field that the caller's struct doesn't have is zero. `none`: options that are all zero.
private func copyOptions<Options: BitwiseCopyable>(
    _ options: UnsafePointer<Options>?, of name: String, _ none: Options
) throws(StorageError) -> Options {
    var copy = none
    guard let options else { return copy }
    let known = MemoryLayout<Options>.stride
    let bytes = UnsafeRawPointer(options)
    // Only the size field is certain to be there.
    let claimed = bytes.loadUnaligned(as: Int.self)
    let size = claimed == 0 ? known : claimed
    guard size >= MemoryLayout<Int>.size, size <= 4096 else {
        throw .invalid("\(name).struct_size is \(UInt(bitPattern: claimed)): set it to sizeof(\(name))")
    }
    if size > known, (known..<size).contains(where: { bytes.load(fromByteOffset: $0, as: UInt8.self) != 0 }) {
        throw .unsupported("\(name) has fields set that this library doesn't know: use a newer Hornbeam")
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
    if given.cache_bytes != 0 { options.cacheBytes = Int(min(given.cache_bytes, 1 << 40)) }
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
            store.dropIdleReads()
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

private func ownWriter(_ what: String) -> StorageError {
    .busy("\(what) waits for the write transaction that this thread holds: end that first")
}

@c @implementation
public func hb_checkpoint(_ store: OpaquePointer?) -> Int32 {
    inStore(store) { (store) throws(StorageError) in
        try store.writer.waiting(orThrow: ownWriter("a checkpoint")) { () throws(StorageError) in
            try store.trees.checkpoint()
        }
        return Result.ok
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
        let isSound = try store.writer.waiting(orThrow: ownWriter("a check")) { () throws(StorageError) in
            try store.trees.check { problem in
                if problems == 0 { firstProblem = problem }
                problems += 1
                problem.withCString { report?(context, $0) }
            }
        }
        guard !isSound || problems > 0 else { return Result.ok }
        let words = "the check found \(problems) problems; the first: \(firstProblem)"
        return Failure.report(.corrupt(Corruption(reason: words)))
    }
}

@c @implementation
public func hb_backup(_ store: OpaquePointer?, _ path: UnsafePointer<CChar>?) -> Int32 {
    inStore(store) { (store) throws(StorageError) in
        try store.trees.backup(to: try text(path, "the path"))
        return Result.ok
    }
}

@c @implementation
public func hb_compact(_ store: OpaquePointer?) -> Int32 {
    inStore(store) { (store) throws(StorageError) in
        _ = try store.writer.waiting(orThrow: ownWriter("a compaction")) { () throws(StorageError) in
            try store.trees.compact()
        }
        return Result.ok
    }
}
