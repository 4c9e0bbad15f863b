// SPDX-License-Identifier: Apache-2.0
// Memory for what is gathered anew for each document: it grows, is emptied without being given back, and is read by
// address. An array does the same for a check of its owner and of its bounds at every element, and a record has some
// hundred of them.

/// Elements one behind the other. What it hands out is good until the next one is appended.
struct GrowingMemory<Element: BitwiseCopyable>: ~Copyable {
    private(set) var start: UnsafeMutablePointer<Element>
    private(set) var count = 0
    private var capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
        start = .allocate(capacity: capacity)
    }

    deinit { start.deallocate() }

    /// Bytes of memory that it has.
    var byteCount: Int { capacity * MemoryLayout<Element>.stride }

    /// - Parameter place: less than `count`.
    @inline(__always)
    subscript(place: Int) -> Element { start[place] }

    @inline(__always)
    mutating func removeAll() { count = 0 }

    @inline(__always)
    mutating func append(_ element: Element) {
        if count == capacity { grow(by: 1) }
        start[count] = element
        count &+= 1
    }

    /// Room for so many more behind those that are there; `setEnd` says how many were written.
    @inline(__always)
    mutating func room(for more: Int) -> UnsafeMutablePointer<Element> {
        if capacity &- count < more { grow(by: more) }
        return start + count
    }

    /// All before `end`, which lies in what `room` gave, are there.
    @inline(__always)
    mutating func setEnd(_ end: UnsafeMutablePointer<Element>) { count = end - start }

    @inline(never)
    private mutating func grow(by more: Int) {
        let larger = max(capacity * 2, count + more)
        let new = UnsafeMutablePointer<Element>.allocate(capacity: larger)
        new.update(from: start, count: count)
        start.deallocate()
        (start, capacity) = (new, larger)
    }
}
