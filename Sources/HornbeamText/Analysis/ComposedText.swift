// SPDX-License-Identifier: Apache-2.0
// Text in one form: what Unicode holds equal has the same bytes. Marks wait until all of a letter's are there, are put
// in their canonical order (The Unicode Standard, 3.11, D109), and those that make one scalar with the letter do so.
// That is the form C of normalisation, but that letters which it always takes apart may be whole here.

import HornbeamPages

/// Text that grows by folded scalars. Owns its buffers; one thread at a time.
struct ComposedText: ~Copyable {
    /// A mark that waits, with its class and its place among the others: together its order.
    private struct Mark {
        let scalar: UInt32
        let order: UInt64

        init(_ scalar: UInt32, _ combiningClass: UInt8, place: Int) {
            self.scalar = scalar
            order = UInt64(combiningClass) << 56 | UInt64(place)
        }

        var combiningClass: UInt8 { UInt8(truncatingIfNeeded: order >> 56) }
    }

    private let rules = FoldingRules.shared
    private var text = ByteBuffer()
    /// The scalar at the end of `text`, unless a mark is: what comes behind may make another one of it. 0 is none.
    private(set) var letter: UInt32 = 0
    /// Where it begins.
    private var letterStart = 0
    private var marks: [Mark] = []
    /// More than the marks of any one scalar: so many come before those that follow it.
    private static let ownMarks = 16
    /// The iota below a Greek letter, a mark up to here, and the iota that it becomes.
    private static let iota: (mark: UInt32, letter: UInt32) = (FoldingRules.iota, 0x3B9)

    var isEmpty: Bool { text.isEmpty && marks.isEmpty }

    mutating func removeAll() {
        text.removeAll()
        letter = 0
        if !marks.isEmpty { marks.removeAll(keepingCapacity: true) }
    }

    /// All of it. Good until the next change.
    mutating func finish() -> Bytes {
        settle()
        return text.bytes
    }

    /// A lower-case letter or anything else of ASCII.
    @inline(__always)
    mutating func append(ascii: UInt8) {
        if !marks.isEmpty { settle() }
        (letter, letterStart) = (UInt32(ascii), text.count)
        text.append(byte: ascii)
    }

    mutating func append(_ scalar: UInt32) {
        let facts = rules.facts(scalar)
        if facts.isOrdered { return appendMarks(scalar) }
        if !marks.isEmpty { settle() }
        let mayJoin = facts.part == .mark || (0x1161..<0x11C3).contains(scalar)
        if mayJoin, let whole = rules.composed(letter, scalar) {
            text.shorten(to: letterStart)
            letter = whole
        } else {
            letterStart = text.count
            letter = scalar
        }
        text.append(letter)
    }

    private mutating func appendMarks(_ scalar: UInt32) {
        guard let parts = rules.parts(of: scalar) else { return appendMark(scalar) }
        for part in parts { appendMark(part) }
    }

    private mutating func appendMark(_ mark: UInt32) {
        marks.append(Mark(mark, rules.combiningClass(mark), place: Self.ownMarks + marks.count))
    }

    /// Ends the letter with the marks that wait.
    private mutating func settle() {
        if marks.isEmpty { return }
        if letter != 0 { takeApart() }
        if !zip(marks, marks.dropFirst()).allSatisfy({ $0.order < $1.order }) { marks.sort { $0.order < $1.order } }
        // A mark joins the letter unless one of its class stays before it.
        var kept = 0
        for mark in marks {
            let isBlocked = kept > 0 && marks[kept - 1].combiningClass == mark.combiningClass
            if letter != 0, !isBlocked, let whole = rules.composed(letter, mark.scalar) {
                letter = whole
            } else {
                marks[kept] = mark
                kept += 1
            }
        }
        if letter != 0 {
            text.shorten(to: letterStart)
            text.append(letter)
        }
        for mark in marks[..<kept] { text.append(mark.scalar == Self.iota.mark ? Self.iota.letter : mark.scalar) }
        if kept > 0 { letter = 0 }
        marks.removeAll(keepingCapacity: true)
    }

    /// Leaves the letter without its own marks, which come before the others of their classes.
    private mutating func takeApart() {
        guard let parts = rules.parts(of: letter), parts.count <= Self.ownMarks else { return }
        let own = parts.dropFirst().enumerated().map { Mark($1, rules.combiningClass($1), place: $0) }
        // What is no mark of a class keeps its place.
        guard own.allSatisfy({ $0.combiningClass > 0 }) else { return }
        letter = parts[0]
        marks.insert(contentsOf: own, at: 0)
    }
}
