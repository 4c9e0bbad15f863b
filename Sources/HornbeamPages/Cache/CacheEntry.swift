// SPDX-License-Identifier: Apache-2.0
// One page in memory: its pins, its identity and its bytes, which never change while anyone can pin them.
//
//   busy ──publish──▶ cached ──last pin goes, evicted (0 pins → busy)──▶ busy
//                       │ removed while pinned
//                       ▼
//                    orphan ──last pin goes──▶ busy
//
//   busy     belongs to the thread that took it: being filled, or free; no look-up finds it
//   cached   in the table and in a queue; pinned by any thread without the lock
//   orphan   no longer in the table; threads that still have it pinned may go on reading
//   private  memory of one reader, never in the table; goes with its pin
//
// A look-up without the lock may be stale: by the time a thread has pinned an entry, the entry may be busy or hold
// another page. So the thread checks again after pinning. If the check fails, it gives the pin back and looks up with
// the lock.

import Synchronization

/// A page in the cache, or in private memory. Addresses are stable for the life of the cache.
struct CacheEntry: ~Copyable {
    /// The number of pins, and the flags above them.
    let state: Atomic<UInt64>
    let number = Atomic<UInt64>(0)
    let birth = Atomic<UInt64>(0)
    /// Whether the page was used since the clock's hand last came by.
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

    /// A busy entry that no other thread knows.
    init(bytes: UnsafeMutableRawPointer, byteCount: Int) {
        state = Atomic(Self.busy)
        self.bytes = bytes
        self.byteCount = byteCount
    }

    /// A page in private memory, with one pin.
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
    /// Adds a pin. Returns false if the page is being removed or is another one by now; the caller must give the pin
    /// back.
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
