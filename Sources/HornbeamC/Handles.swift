// SPDX-License-Identifier: Apache-2.0
// The handles of a C program, which can be checked. A handle is not an address but the stamp of a slot in one table for
// the whole process: the slot's index, the number of its earlier uses, and the kind of object. The slots are never
// unmapped, so any 64 bits may be looked up: a handle that has ended, has the wrong kind or was made up finds no equal
// stamp. Nothing here may trap, with any arguments, and looking up a handle must stay free of locks and reference
// counting.

import Glibc
import HornbeamPages
import Synchronization

/// The low three bits of a handle. Never zero, so no handle is NULL.
enum HandleKind: UInt {
    case store = 1
    case transaction = 2
    case cursor = 3
    case value = 4
}

/// An object that C code has a handle of. The table owns it from `insert` to `remove`. While its handle is suspended it
/// can't be found, until it is resumed and removed, or discarded.
protocol HandleObject: AnyObject {
    static var kind: HandleKind { get }
}

/// A slot. All zero, as the kernel provides it, it is a free slot that was never used.
private struct HandleSlot: ~Copyable {
    /// The distance of one slot to the next: each read transaction writes to its own.
    static var distance: Int { Stripes.distance }

    /// The handle's bits while it is live, otherwise 0; while a store is being closed, `HandleTable.closing` of them.
    /// Stored with release after the other fields, loaded with acquire.
    let stamp = Atomic<UInt>(0)
    /// A `StripedCount` of the calls inside a store and of its open transactions. Made for the first store in the slot,
    /// which keeps it for ever: a call with the handle of a former store may count there at any moment, before it reads
    /// the stamp and uncounts itself again.
    let users = Atomic<UnsafeMutableRawPointer?>(nil)
    /// In a free slot the index of the next free one plus 1; 0 ends the list.
    let link = Atomic<UInt64>(0)
    /// The retained object. Only the slot's owner touches this and the next field.
    var object: UnsafeMutableRawPointer?
    /// Number of handles that the slot has had.
    var turns: UInt = 0
}

enum HandleTable {
    /// Bits of a handle, from the lowest: 3 kind, 20 index, 41 turns.
    private static let indexBits: UInt = 20
    private static let capacity = 1 << 20

    /// Address space for all slots, zeroed; the kernel provides memory when a slot is first used. Nil before the first
    /// handle. (A lazily initialized constant would cost a call at every use.)
    nonisolated(unsafe) private static let slots = Atomic<UnsafeMutableRawPointer?>(nil)
    /// Number of slots that were ever used.
    private static let used = Atomic<Int>(0)
    /// The list of free slots. Low half: the index of the first one plus 1. High half: a count of changes, so that a
    /// slot that was taken and given back in the meantime isn't mistaken for an unchanged list.
    private static let free = Atomic<UInt64>(0)

    /// The slot whose stamp the handle claims to be.
    @inline(__always)
    private static func slot(_ bits: UInt) -> UnsafeMutablePointer<HandleSlot>? {
        slots.load(ordering: .acquiring).map {
            slot(Int(truncatingIfNeeded: (bits >> 3) & (1 << indexBits - 1)), in: $0)
        }
    }

    @inline(__always)
    private static func slot(_ index: Int, in slots: UnsafeMutableRawPointer) -> UnsafeMutablePointer<HandleSlot> {
        (slots + index &* HandleSlot.distance).assumingMemoryBound(to: HandleSlot.self)
    }

    /// Returns the slots, which are made if necessary; nil if the system has no address space left.
    private static func madeSlots() -> UnsafeMutableRawPointer? {
        if let made = slots.load(ordering: .acquiring) { return made }
        let size = capacity * HandleSlot.distance
        let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard let memory, memory != MAP_FAILED else { return nil }
        let result = slots.compareExchange(expected: nil, desired: memory, ordering: .acquiringAndReleasing)
        guard let others = result.original else { return memory }
        munmap(memory, size)
        return others
    }

    /// Returns the live object of a handle. It stays alive until its handle is removed: the caller keeps to one thread.
    @inline(__always)
    static func find<Object: HandleObject>(_ handle: OpaquePointer?, _: Object.Type) -> Unmanaged<Object>? {
        let bits = UInt(bitPattern: handle)
        guard bits & 7 == Object.kind.rawValue, let slot = slot(bits),
            slot.pointee.stamp.load(ordering: .acquiring) == bits, let object = slot.pointee.object
        else { return nil }
        return .fromOpaque(object)
    }

    /// Gives `object` a handle and keeps it alive.
    static func insert<Object: HandleObject>(_ object: Object) throws(StorageError) -> OpaquePointer {
        guard let slots = madeSlots() else {
            throw .io(operation: "mmap", path: "the table of handles", errno: errno)
        }
        guard let index = takeSlot(slots) else {
            throw .invalid("\(capacity) stores, transactions and cursors are open: close some")
        }
        let slot = slot(index, in: slots)
        if Object.kind == .store, slot.pointee.users.load(ordering: .acquiring) == nil {
            slot.pointee.users.store(StripedCount().address, ordering: .releasing)
        }
        slot.pointee.object = Unmanaged.passRetained(object).toOpaque()
        // The kind in the low bits is never zero.
        return stamp(slot, UInt(index) << 3 | Object.kind.rawValue).unsafelyUnwrapped
    }

    /// Ends a handle and returns its object; nil if it isn't live. Only one of two simultaneous attempts succeeds.
    static func remove<Object: HandleObject>(_ handle: OpaquePointer?, _: Object.Type) -> Object? {
        guard suspend(handle, Object.self) != nil, let slot = slot(UInt(bitPattern: handle)) else { return nil }
        return takeObject(slot)
    }

    /// Ends a handle, but keeps the object in its slot. `resume` or `discard` must follow.
    @inline(__always)
    static func suspend<Object: HandleObject>(_ handle: OpaquePointer?, _: Object.Type) -> Unmanaged<Object>? {
        let bits = UInt(bitPattern: handle)
        guard bits & 7 == Object.kind.rawValue, let slot = slot(bits),
            slot.pointee.stamp.compareExchange(expected: bits, desired: 0, ordering: .acquiringAndReleasing).exchanged,
            let object = slot.pointee.object
        else { return nil }
        return .fromOpaque(object)
    }

    /// Returns the next handle of the object whose last handle was suspended. Returns nil if there was none.
    @inline(__always)
    static func resume(_ suspended: OpaquePointer?) -> OpaquePointer? {
        let bits = UInt(bitPattern: suspended)
        guard bits & 7 != 0, let slot = slot(bits) else { return nil }
        return stamp(slot, bits & (1 << (indexBits + 3) - 1))
    }

    /// Releases the object whose handle was suspended, and its slot.
    static func discard<Object: HandleObject>(_ suspended: OpaquePointer?, _: Object.Type) {
        let bits = UInt(bitPattern: suspended)
        if bits & 7 == Object.kind.rawValue, let slot = slot(bits) { _ = takeObject(slot) as Object? }
    }

    /// Gives a new handle to a slot that its caller owns. `place`: index and kind.
    @inline(__always)
    private static func stamp(_ slot: UnsafeMutablePointer<HandleSlot>, _ place: UInt) -> OpaquePointer? {
        slot.pointee.turns &+= 1
        let bits = slot.pointee.turns << (indexBits + 3) | place
        slot.pointee.stamp.store(bits, ordering: .releasing)
        return OpaquePointer(bitPattern: bits)
    }

    /// Empties a slot whose stamp the caller has removed, and frees it.
    private static func takeObject<Object: HandleObject>(_ slot: UnsafeMutablePointer<HandleSlot>) -> Object? {
        let object = slot.pointee.object.map { Unmanaged<Object>.fromOpaque($0).takeRetainedValue() }
        slot.pointee.object = nil
        giveSlot(slot)
        return object
    }

    private static func takeSlot(_ slots: UnsafeMutableRawPointer) -> Int? {
        var head = free.load(ordering: .acquiring)
        while case let index = Int(head & 0xFFFF_FFFF) - 1, index >= 0 {
            let next = slot(index, in: slots).pointee.link.load(ordering: .relaxed)
            let changed = (head >> 32 &+ 1) << 32 | next
            let result = free.compareExchange(
                expected: head, desired: changed, ordering: .acquiringAndReleasing)
            if result.exchanged { return index }
            head = result.original
        }
        let index = used.add(1, ordering: .relaxed).oldValue
        if index < capacity { return index }
        used.subtract(1, ordering: .relaxed)
        return nil
    }

    private static func giveSlot(_ slot: UnsafeMutablePointer<HandleSlot>) {
        guard let slots = slots.load(ordering: .acquiring) else { return }
        let index = (UnsafeMutableRawPointer(slot) - slots) / HandleSlot.distance
        var head = free.load(ordering: .acquiring)
        while true {
            slot.pointee.link.store(head & 0xFFFF_FFFF, ordering: .relaxed)
            let changed = (head >> 32 &+ 1) << 32 | UInt64(index + 1)
            let result = free.compareExchange(
                expected: head, desired: changed, ordering: .acquiringAndReleasing)
            if result.exchanged { return }
            head = result.original
        }
    }
}

// A store is used from many threads at once, so each use is counted, and closing a store in use is refused, without
// waiting. A call that enters counts first and then reads the stamp; closing changes the stamp first and then adds up
// (`StripedCount`). A refused closing restores the stamp.
extension HandleTable {
    /// The stamp of a store while it is being closed. No handle has these bits, because 7 is no kind.
    private static func closing(_ bits: UInt) -> UInt { bits | 7 }

    /// Enters a store, which can't be closed until the stripe is left. Returns nil if the handle isn't live.
    @inline(__always)
    static func enter(_ handle: OpaquePointer?) -> (store: Unmanaged<StoreHandle>, stripe: StripedCount.Stripe)? {
        let bits = UInt(bitPattern: handle)
        guard bits & 7 == HandleKind.store.rawValue, let slot = slot(bits),
            let users = slot.pointee.users.load(ordering: .acquiring)
        else { return nil }
        let stripe = StripedCount(at: users).mine
        repeat {
            stripe.enter()
            if slot.pointee.stamp.load(ordering: .sequentiallyConsistent) == bits, let object = slot.pointee.object {
                return (.fromOpaque(object), stripe)
            }
            stripe.leave()
        } while isStillLive(slot, bits)
        return nil
    }

    /// Whether the handle's store is live. If it is just being closed, waits until that succeeds or is refused.
    @inline(never)
    private static func isStillLive(_ slot: UnsafeMutablePointer<HandleSlot>, _ bits: UInt) -> Bool {
        guard slot.pointee.stamp.load(ordering: .acquiring) != 0 else { return false }
        return withProcessLock { slot.pointee.stamp.load(ordering: .acquiring) == bits }
    }

    private enum Claim {
        case claimed(StoreHandle)
        /// Another thread is inside the store, or closes it.
        case inUse
        case notLive
    }

    /// Changes the stamp of an unused store to `closing`. Under the lock, so that a thread that enters meanwhile can
    /// wait for the decision, and a child forked meanwhile doesn't find the store closed.
    private static func claim(_ slot: UnsafeMutablePointer<HandleSlot>, _ bits: UInt) -> Claim {
        withProcessLock {
            let mark = slot.pointee.stamp.compareExchange(
                expected: bits, desired: closing(bits), ordering: .sequentiallyConsistent)
            guard mark.exchanged, let object = slot.pointee.object,
                let users = slot.pointee.users.load(ordering: .acquiring)
            else { return mark.original == closing(bits) ? .inUse : .notLive }
            guard StripedCount(at: users).total == 0 else {
                slot.pointee.stamp.store(bits, ordering: .sequentiallyConsistent)
                return .inUse
            }
            return .claimed(Unmanaged<StoreHandle>.fromOpaque(object).takeUnretainedValue())
        }
    }

    /// Runs `release` on an unused store, then ends its handle, unless `release` returns that it must be kept. Returns
    /// nil if the handle isn't live. Throws `.busy` if the store is in use.
    static func close(
        _ handle: OpaquePointer?, release: (StoreHandle) -> (result: Int32, keep: Bool)
    ) throws(StorageError) -> Int32? {
        let bits = UInt(bitPattern: handle)
        guard bits & 7 == HandleKind.store.rawValue, let slot = slot(bits) else { return nil }
        let store: StoreHandle
        switch claim(slot, bits) {
        case .claimed(let claimed): store = claimed
        case .inUse:
            throw .busy("transactions are open, or other threads are inside the store: end them, then close it")
        case .notLive: return nil
        }
        let (result, isKept) = release(store)
        slot.pointee.stamp.store(isKept ? bits : 0, ordering: .sequentiallyConsistent)
        if !isKept { _ = takeObject(slot) as StoreHandle? }
        return result
    }
}
