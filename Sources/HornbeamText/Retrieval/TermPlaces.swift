// SPDX-License-Identifier: Apache-2.0
// Counts how often several terms occur together in a document: next to each other in order, or near each other.

import HornbeamPages

/// A part of a conjunction that scores: a term, or several terms that occur together. Parts are in the query's order.
struct ConjunctionPart {
    /// The inverse document frequency.
    var weight: Double
    /// The terms, as indexes of the sources. Several terms are a phrase, or words near each other.
    var slots: [Int]
    var order = Order.phrase(slop: 0)

    /// How the positions of several terms must relate.
    enum Order {
        /// In this order, with `slop` other positions between them in all.
        case phrase(slop: Int)
        /// In any order, the last at most `within` positions behind the first. The terms are distinct.
        case near(within: Int)
    }
}

/// A `ConjunctionPart` without references. `start..<end` are the indexes of its terms in the slots of all parts.
struct FlatPart {
    var weight: Double
    var order: ConjunctionPart.Order
    var start: Int
    var end: Int

    var isTerm: Bool { end &- start == 1 }
}

/// The positions of a conjunction's terms in the current document. They are read when needed, once for each document.
final class TermPlaces {
    /// A document that holds all terms. Its posting in the current block of source n is at index `places[n * stride]`.
    struct Document {
        let docno: UInt32
        let places: UnsafePointer<Int32>
        let stride: Int
    }

    private let view: IndexView
    /// The conjunction's sources and slots. Each slot of a part has the index of a source.
    private let sources: UnsafeMutableBufferPointer<ConjunctionList>
    private let slots: UnsafeMutableBufferPointer<Int>
    /// The order in which each part's slots are read: the rarest term first.
    private let readingOrder: UnsafeMutablePointer<Int>
    /// The positions of each source, and the document they belong to.
    private let lists: [PositionList]
    private let listDocuments: UnsafeMutablePointer<UInt64>
    private let starts = PositionList()
    /// By slot: the number of its positions that were passed.
    private let passed: UnsafeMutablePointer<Int>

    /// The buffers must stay valid as long as this is in use. `slots` are those of the parts, with indexes of
    /// `sources`.
    init(
        _ view: IndexView, _ sources: UnsafeMutableBufferPointer<ConjunctionList>,
        _ parts: UnsafeMutableBufferPointer<FlatPart>, slots: UnsafeMutableBufferPointer<Int>
    ) {
        (self.view, self.sources, self.slots) = (view, sources, slots)
        lists = sources.map { _ in PositionList() }
        listDocuments = .allocate(capacity: sources.count)
        listDocuments.initialize(repeating: .max, count: sources.count)
        readingOrder = .allocate(capacity: slots.count)
        for part in parts {
            // Sources are sorted, the rarest first.
            let rarestFirst = (0..<part.end - part.start).sorted {
                (slots[part.start + $0], $0) < (slots[part.start + $1], $1)
            }
            (readingOrder + part.start).initialize(from: rarestFirst, count: rarestFirst.count)
        }
        passed = .allocate(capacity: slots.count)
        passed.initialize(repeating: 0, count: slots.count)
    }

    deinit {
        readingOrder.deallocate()
        listDocuments.deallocate()
        passed.deallocate()
    }

    /// Returns how often the terms of a part occur together in the document as required. The part has several terms.
    func frequency(of part: FlatPart, in document: Document) throws(StorageError) -> UInt32 {
        switch part.order {
        case .phrase(slop: 0): try adjacent(part, document)
        case .phrase(let slop): try inOrder(part, slop, document)
        case .near(let distance): try near(part, distance, document)
        }
    }

    /// Returns the positions of a source's term in a document.
    @inline(__always)
    private func positions(_ source: Int, _ document: Document) throws(StorageError) -> PositionList {
        let list = lists[source]
        let docno = UInt64(document.docno)
        if listDocuments[source] != docno {
            listDocuments[source] = .max
            try sources[source].source.readPositions(Int(document.places[source &* document.stride]), into: list)
            listDocuments[source] = docno
        }
        return list
    }

    /// Counts occurrences next to each other. Takes the possible starts from the rarest word and keeps those that the
    /// others agree with.
    private func adjacent(_ part: FlatPart, _ document: Document) throws(StorageError) -> UInt32 {
        let starts = self.starts
        for step in part.start..<part.end {
            let slot = readingOrder[step]
            let list = try positions(slots[part.start &+ slot], document)
            let (values, size) = (list.values, list.count)
            let shift = UInt32(truncatingIfNeeded: slot)
            guard step > part.start else {
                starts.removeAll(reserving: size)
                for place in 0..<size where values[place] >= shift {
                    starts.values[starts.count] = values[place] &- shift
                    starts.count &+= 1
                }
                continue
            }
            let (begun, count) = (starts.values, starts.count)
            var (place, other, kept) = (0, 0, 0)
            while place < count, other < size {
                let (wanted, found) = (UInt64(begun[place]) &+ UInt64(shift), UInt64(values[other]))
                begun[kept] = begun[place]
                kept &+= wanted == found ? 1 : 0
                place &+= wanted <= found ? 1 : 0
                other &+= found <= wanted ? 1 : 0
            }
            starts.count = kept
            if kept == 0 { return 0 }
        }
        let span = UInt32(truncatingIfNeeded: part.end &- part.start &- 1)
        var found: UInt32 = 0
        for place in 0..<starts.count {
            let start = starts.values[place]
            if try view.isOneSection(document.docno, start, start &+ span) { found &+= 1 }
        }
        return found
    }

    /// Counts occurrences in order with few other positions between. Begins at each position of the first word and
    /// takes the next position of the second word, and so on.
    private func inOrder(_ part: FlatPart, _ slop: Int, _ document: Document) throws(StorageError) -> UInt32 {
        try begin(part, document)
        let (first, others) = (lists[slots[part.start]], part.start &+ 1..<part.end)
        var found: UInt32 = 0
        for place in 0..<first.count {
            let start = first.values[place]
            var position = start
            for slot in others {
                let list = lists[slots[slot]]
                while passed[slot] < list.count, list.values[passed[slot]] <= position { passed[slot] &+= 1 }
                guard passed[slot] < list.count else { return found }
                position = list.values[passed[slot]]
            }
            let between = Int(position - start) - others.count
            if between <= slop, try view.isOneSection(document.docno, start, position) { found &+= 1 }
        }
        return found
    }

    /// Counts occurrences near each other. Begins at each position of any word and takes the next positions of all
    /// others.
    private func near(_ part: FlatPart, _ distance: Int, _ document: Document) throws(StorageError) -> UInt32 {
        try begin(part, document)
        var found: UInt32 = 0
        while true {
            var (first, last) = (UInt32.max, UInt32(0))
            for slot in part.start..<part.end {
                let list = lists[slots[slot]]
                guard passed[slot] < list.count else { return found }
                let position = list.values[passed[slot]]
                (first, last) = (min(first, position), max(last, position))
            }
            if Int(last) - Int(first) <= distance, try view.isOneSection(document.docno, first, last) { found &+= 1 }
            for slot in part.start..<part.end where lists[slots[slot]].values[passed[slot]] == first {
                // Several terms may have the same position.
                passed[slot] &+= 1
            }
        }
    }

    /// Reads the positions of all terms of a part, and sets `passed` to 0.
    private func begin(_ part: FlatPart, _ document: Document) throws(StorageError) {
        for slot in part.start..<part.end {
            _ = try positions(slots[slot], document)
            passed[slot] = 0
        }
    }
}
