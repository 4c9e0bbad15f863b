// SPDX-License-Identifier: Apache-2.0
// Text in a normal form: canonically equivalent texts have the same bytes. The marks of a letter are collected, put in
// canonical order (The Unicode Standard, 3.11, D109), and composed with the letter if possible. This is normalisation
// form C, except that letters excluded from composition may be composed here.

import HornbeamPages

/// Text that grows by folded scalars. Owns its buffers; used by one thread at a time.
struct ComposedText: ~Copyable {
    /// A collected mark. Its class and its index among the others define its order.
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
    /// The scalar at the end of `text` with which following scalars may be composed. 0 if a mark is at the end.
    private(set) var letter: UInt32 = 0
    /// Offset of `letter`.
    private var letterStart = 0
    private var marks: [Mark] = []
    /// More than the number of marks of any decomposed scalar. The letter's own marks come before the collected ones.
    private static let ownMarks = 16
    /// The iota below a Greek letter: the mark in the tables, and the letter that it becomes.
    private static let iota: (mark: UInt32, letter: UInt32) = (FoldingRules.iota, 0x3B9)

    var isEmpty: Bool { text.isEmpty && marks.isEmpty }

    mutating func removeAll() {
        text.removeAll()
        letter = 0
        if !marks.isEmpty { marks.removeAll(keepingCapacity: true) }
    }

    /// Completes the text and returns it. Valid until the next change.
    mutating func finish() -> Bytes {
        settle()
        return text.bytes
    }

    /// Appends a lower-case letter or another byte of ASCII.
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

    /// Completes the letter with the collected marks.
    private mutating func settle() {
        if marks.isEmpty { return }
        if letter != 0 { takeApart() }
        if !zip(marks, marks.dropFirst()).allSatisfy({ $0.order < $1.order }) { marks.sort { $0.order < $1.order } }
        // A mark is composed with the letter unless a mark of the same class remains before it.
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

    /// Decomposes the letter and puts its own marks before the others of their classes.
    private mutating func takeApart() {
        guard let parts = rules.parts(of: letter), parts.count <= Self.ownMarks else { return }
        let own = parts.dropFirst().enumerated().map { Mark($1, rules.combiningClass($1), place: $0) }
        // If one of them isn't an ordered mark, the letter stays as it is.
        guard own.allSatisfy({ $0.combiningClass > 0 }) else { return }
        letter = parts[0]
        marks.insert(contentsOf: own, at: 0)
    }
}
