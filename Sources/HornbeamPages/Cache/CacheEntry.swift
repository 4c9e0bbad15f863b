// SPDX-License-Identifier: Apache-2.0
// One page in memory: who holds it, what it is, where its bytes lie. Its bytes never change while anyone can pin it.
//
//   busy ──publish──▶ cached ──last pin goes, evicted (0 pins → busy)──▶ busy
//                       │ removed while pinned
//                       ▼
//                    orphan ──last pin goes──▶ busy
//
//   busy     belongs to whoever took it: being filled, or free; found by nobody
//   cached   in the table and in a queue; pinned by any thread without the lock
//   orphan   not in the table any more; whoever still pins it may go on reading
//   private  memory of one reader, never in the table; goes with its pin
//
// Look-ups without the lock may be stale: by the time a thread has pinned an entry, it may be busy or another page's.
// So the thread checks again after pinning; if the check fails, it gives the pin back and looks up with the lock.

import Synchronization

/// A page in the cache, or in private memory. Addresses are stable for the life of the cache.
struct CacheEntry: ~Copyable {
    /// The number of pins, and the flags above them.
    let state: Atomic<UInt64>
    let number = Atomic<UInt64>(0)
    let birth = Atomic<UInt64>(0)
    /// Used since the clock's hand last came by.
    let isTouched = Atomic<Bool>(false)
    let bytes: UnsafeMutableRawPointer
    let byteCount: Int

    // Guarded by the cache's lock.
    var queue = CacheQueue.Name.none
    var previous: CachedPage?
    var next: CachedPage?

    static var busy: UInt64 { 1 << 63 }
    static var orphan: UInt64 { 1 << 62 }
    static var privateMemory: UInt64 { 1 << 61 }

    /// Busy; no other thread knows it.
    init(bytes: UnsafeMutableRawPointer, byteCount: Int) {
        state = Atomic(Self.busy)
        self.bytes = bytes
        self.byteCount = byteCount
    }

    /// In private memory, with one pin.
    init(privateBytes: UnsafeMutableRawPointer, byteCount: Int) {
        state = Atomic(Self.privateMemory | 1)
        bytes = privateBytes
        self.byteCount = byteCount
    }

    var buffer: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: bytes, count: byteCount) }
    var isPrivate: Bool { state.load(ordering: .relaxed) & Self.privateMemory != 0 }

    func contains(_ address: UnsafeRawPointer) -> Bool {
        UnsafeRawPointer(bytes) <= address && address < UnsafeRawPointer(bytes + byteCount)
    }

    func isPage(_ number: UInt64, birth: UInt64) -> Bool {
        self.number.load(ordering: .relaxed) == number && self.birth.load(ordering: .relaxed) == birth
    }
}

typealias CachedPage = UnsafeMutablePointer<CacheEntry>

extension CachedPage {
    /// Adds a pin. False: by now the page is on its way out, or another one, and the pin is to be given back.
    @inline(__always)
    func pin(_ number: UInt64, birth: UInt64) -> Bool {
        let former = pointee.state.wrappingAdd(1, ordering: .acquiring).oldValue
        guard former & (CacheEntry.busy | CacheEntry.orphan) == 0, pointee.isPage(number, birth: birth) else {
            return false
        }
        if !pointee.isTouched.load(ordering: .relaxed) { pointee.isTouched.store(true, ordering: .relaxed) }
        return true
    }

    /// Removes a pin. Returns the former state if that may have been the last pin of a page that goes with it;
    /// otherwise nil.
    @inline(__always)
    func unpin() -> UInt64? {
        let former = pointee.state.wrappingSubtract(1, ordering: .acquiringAndReleasing).oldValue
        return former & (CacheEntry.orphan | CacheEntry.privateMemory) == 0 ? nil : former
    }
}

/// A hold on a page in memory. The holder must release it exactly once.
package struct PagePin {
    let page: CachedPage
}
