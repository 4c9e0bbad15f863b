// SPDX-License-Identifier: Apache-2.0
// Growing memory that is filled again for each document. It keeps its capacity and is accessed by address. An array
// would check exclusive access and bounds at every element, and a record has hundreds of them.

/// Elements one after the other. Its addresses are valid until the next element is appended.
struct GrowingMemory<Element: BitwiseCopyable>: ~Copyable {
    private(set) var start: UnsafeMutablePointer<Element>
    private(set) var count = 0
    private var capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
        start = .allocate(capacity: capacity)
    }

    deinit { start.deallocate() }

    /// Size of its memory in bytes.
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

    /// Returns the end of the elements, with room for `more` behind it. Call `setEnd` after writing there.
    @inline(__always)
    mutating func room(for more: Int) -> UnsafeMutablePointer<Element> {
        if capacity &- count < more { grow(by: more) }
        return start + count
    }

    /// Sets the end of the elements. `end` must lie within the memory that `room` returned.
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
