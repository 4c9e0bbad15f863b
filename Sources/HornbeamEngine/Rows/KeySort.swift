// SPDX-License-Identifier: Apache-2.0
// Sorts keys in one block of bytes, without reference counting. The sort moves marks of 16 bytes.
//
//     mark:  head (8 bytes of the key, as a big-endian number) | number of the entry
//
// 1. The head of each key begins after the bytes that all keys of the range have in common.
// 2. Marks are sorted by their heads: many by a radix sort, from the last byte to the first; few by comparisons.
// 3. Marks with equal heads form a range of their own. Keys that have ended come first, by their sizes (a head has
//    zeros after the end of its key). The others are sorted by the bytes after the heads.

import HornbeamPages

/// Sorts entries by their keys.
struct KeySort {
    struct Mark {
        var head: UInt64
        let number: Int
    }

    private typealias Marks = UnsafeMutableBufferPointer<Mark>

    private let bytes: Bytes
    private let places: UnsafeBufferPointer<EntryBuffer.Place>
    /// Whether the entries' numbers ascend, so that equal keys are in order already.
    private let isAscending: Bool

    /// Fewer marks than this are sorted by comparisons, because a radix sort first clears and sums 2,048 counts.
    private static let fewMarks = 512
    /// Maximum depth of ranges of equal heads within one another. Deeper ranges are sorted by comparisons, which bounds
    /// the stack.
    private static let maximumDepth = 16

    /// - Parameter bytes: the bytes that the places refer to. Both must outlive the sort.
    init(_ bytes: Bytes, _ places: UnsafeBufferPointer<EntryBuffer.Place>, isAscending: Bool) {
        self.bytes = bytes
        self.places = places
        self.isAscending = isAscending
    }

    /// Returns the places, sorted by their keys, and by their numbers where keys are equal. It uses 32 bytes of memory
    /// for each place.
    func sorted() -> [EntryBuffer.Place] {
        let count = places.count
        return withUnsafeTemporaryAllocation(of: Mark.self, capacity: 2 * count) { memory in
            let marks = Marks(rebasing: memory[..<count])
            for number in 0..<count { marks.initializeElement(at: number, to: Mark(head: 0, number: number)) }
            sort(marks, Marks(rebasing: memory[count...]), behind: 0, depth: 0)
            return [EntryBuffer.Place](unsafeUninitializedCapacity: count) { sorted, initialized in
                for index in 0..<count { sorted.initializeElement(at: index, to: places[marks[index].number]) }
                initialized = count
            }
        }
    }

    /// - Parameters:
    ///   - spare: as much memory as the marks take, of any content.
    ///   - start: the number of leading bytes that are known to be equal in all keys.
    private func sort(_ marks: Marks, _ spare: Marks, behind start: Int, depth: Int) {
        let start = start + sharedSize(marks, behind: start)
        for index in 0..<marks.count { marks[index].head = head(places[marks[index].number], behind: start) }
        if marks.count < Self.fewMarks {
            var marks = marks
            marks.sort { $0.head != $1.head ? $0.head < $1.head : $0.number < $1.number }
        } else {
            Self.radixSort(marks, spare) { $0.head }
        }
        var first = 0
        while first < marks.count {
            var end = first + 1
            while end < marks.count, marks[end].head == marks[first].head { end += 1 }
            if end - first > 1 {
                let range = first..<end
                finish(Marks(rebasing: marks[range]), Marks(rebasing: spare[range]), behind: start + 8, depth: depth)
            }
            first = end
        }
    }

    /// Sorts marks with equal heads by the bytes after the heads.
    private func finish(_ marks: Marks, _ spare: Marks, behind start: Int, depth: Int) {
        var marks = marks
        let size = places[marks[0].number].size
        if Int(size) <= start, marks.allSatisfy({ places[$0.number].size == size }) {
            // The keys are equal.
            if !isAscending { marks.sort { places[$0.number].number < places[$1.number].number } }
        } else if marks.count < 64 || depth == Self.maximumDepth {
            marks.sort { precedes(places[$0.number], places[$1.number], behind: start - 8) }
        } else {
            let ended = splitEnded(marks, spare, behind: start)
            if ended < marks.count {
                let range = ended..<marks.count
                sort(Marks(rebasing: marks[range]), Marks(rebasing: spare[range]), behind: start, depth: depth + 1)
            }
        }
    }

    /// Moves the marks of keys that end before `start` to the front and sorts them. The others keep their order after
    /// them. The ended keys differ only in the number of zeros at their ends, so a shorter key comes first.
    /// - Returns: the number of ended keys.
    private func splitEnded(_ marks: Marks, _ spare: Marks, behind start: Int) -> Int {
        var (ended, others) = (0, 0)
        for index in 0..<marks.count {
            let mark = marks[index]
            if Int(places[mark.number].size) <= start {
                marks[ended] = mark
                ended += 1
            } else {
                spare.initializeElement(at: others, to: mark)
                others += 1
            }
        }
        guard ended > 0 else { return 0 }
        for index in 0..<others { marks[ended + index] = spare[index] }
        var front = Marks(rebasing: marks[..<ended])
        front.sort {
            let (left, right) = (places[$0.number], places[$1.number])
            return left.size != right.size ? left.size < right.size : left.number < right.number
        }
        return ended
    }

    private func precedes(_ left: EntryBuffer.Place, _ right: EntryBuffer.Place, behind start: Int) -> Bool {
        let order = key(left, behind: start).order(key(right, behind: start))
        return order == 0 ? left.number < right.number : order < 0
    }

    @inline(__always)
    private func key(_ place: EntryBuffer.Place, behind start: Int) -> Bytes {
        let start = min(start, Int(place.size))
        return Bytes(rebasing: bytes[place.start + start..<place.start + Int(place.size)])
    }

    /// Eight bytes of a key, with zeros after its end.
    @inline(__always)
    private func head(_ place: EntryBuffer.Place, behind start: Int) -> UInt64 {
        let left = Int(place.size) &- start
        if left <= 0 { return 0 }
        let offset = place.start &+ start
        if offset &+ 8 <= bytes.count {
            let head = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self).bigEndian
            return left >= 8 ? head : head & ~(UInt64.max >> UInt64(8 &* left))
        }
        var head: UInt64 = 0
        for place in 0..<8 { head = head << 8 | (place < left ? UInt64(bytes[offset + place]) : 0) }
        return head
    }

    /// The number of bytes after `start` that all keys have in common.
    private func sharedSize(_ marks: Marks, behind start: Int) -> Int {
        let first = key(places[marks[0].number], behind: start)
        var shared = first.count
        for mark in marks.dropFirst() where shared > 0 {
            let other = key(places[mark.number], behind: start)
            shared = min(shared, other.count)
            if Bytes(rebasing: first[..<shared]).order(Bytes(rebasing: other[..<shared])) == 0 { continue }
            var equal = 0
            while first[equal] == other[equal] { equal += 1 }
            shared = equal
        }
        return shared
    }

    /// Returns the marks of the numbers from 0 to `count` - 1, sorted by their heads.
    static func sorted(_ count: Int, _ head: (Int) -> UInt64) -> [Mark] {
        [Mark](unsafeUninitializedCapacity: count) { marks, initialized in
            for number in 0..<count {
                marks.initializeElement(at: number, to: Mark(head: head(number), number: number))
            }
            initialized = count
            withUnsafeTemporaryAllocation(of: Mark.self, capacity: count) { spare in
                if count > 1 { radixSort(Marks(rebasing: marks[..<count]), spare) { $0.head } }
            }
        }
    }

    /// Sorts numbers, ascending.
    static func sort(_ numbers: inout [UInt64]) {
        let count = numbers.count
        if count < fewMarks { return numbers.sort() }
        numbers.withUnsafeMutableBufferPointer { numbers in
            withUnsafeTemporaryAllocation(of: UInt64.self, capacity: count) { radixSort(numbers, $0) { $0 } }
        }
    }

    /// - Parameters:
    ///   - spare: as much memory as the marks take, of any content.
    ///   - head: the number that a mark is sorted by.
    @inline(__always)
    private static func radixSort<Mark: BitwiseCopyable>(
        _ marks: UnsafeMutableBufferPointer<Mark>, _ spare: UnsafeMutableBufferPointer<Mark>, by head: (Mark) -> UInt64
    ) {
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 8 * 256) { counts in
            counts.initialize(repeating: 0)
            for index in 0..<marks.count {
                let head = head(marks[index])
                for byte in 0..<8 { counts[byte &<< 8 | digit(head, byte)] &+= 1 }
            }
            var (source, target) = (marks, spare)
            for byte in 0..<8 {
                let counts = UnsafeMutableBufferPointer(rebasing: counts[byte << 8..<(byte + 1) << 8])
                // Nothing moves if all heads have the same byte here.
                if counts[digit(head(source[0]), byte)] == source.count { continue }
                var sum = 0
                for digit in 0..<256 { (counts[digit], sum) = (sum, sum &+ counts[digit]) }
                for index in 0..<source.count {
                    let mark = source[index]
                    let digit = Self.digit(head(mark), byte)
                    target.initializeElement(at: counts[digit], to: mark)
                    counts[digit] &+= 1
                }
                swap(&source, &target)
            }
            if source.baseAddress != marks.baseAddress { _ = marks.update(fromContentsOf: source) }
        }
    }

    /// - Parameter byte: counted from the last one.
    @inline(__always)
    private static func digit(_ head: UInt64, _ byte: Int) -> Int {
        Int(truncatingIfNeeded: head &>> UInt64(truncatingIfNeeded: byte &<< 3) & 0xFF)
    }
}
