// SPDX-License-Identifier: Apache-2.0
// Where in a document words, phrases and groups of words stand. Documents are found by their numbers alone; positions
// are read for those that are asked about. Forward only.

import HornbeamPages

/// Something that stands at places of documents. Abstract.
class SpanSource {
    /// No more documents than this have it.
    final let documentBound: Int
    /// Of all documents.
    final let bound: Bound
    /// The first and the last position of each occurrence in the document that `read` was called for, ascending by the
    /// first, no two with the same first.
    final var starts: [UInt32] = []
    final var ends: [UInt32] = []

    init(documentBound: Int, bound: Bound) {
        self.documentBound = documentBound
        self.bound = bound
    }

    fileprivate final class func sorted(_ parts: [SpanSource]) -> [SpanSource] {
        parts.sorted { $0.documentBound < $1.documentBound }
    }

    /// The first document from `target` on that may have it, `.max` if there is none. Targets never descend.
    func advance(to target: UInt32) throws(StorageError) -> UInt32 { .max }

    /// No more occurrences than this are in the document that `advance` found.
    var frequencyBound: UInt32 { bound.frequency }

    /// Reads the occurrences in the document that `advance` found; there may be none after all.
    func read() throws(StorageError) {
        starts.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }
}

/// A term.
final class TermSpans: SpanSource {
    private let source: PostingSource

    init(_ source: PostingSource) {
        self.source = source
        super.init(documentBound: Int(source.documentFrequency), bound: source.bound)
    }

    override func advance(to target: UInt32) throws(StorageError) -> UInt32 { try source.advance(to: target) }
    override var frequencyBound: UInt32 { source.frequencies[source.current] }

    override func read() throws(StorageError) {
        try source.readPositions(source.current, &starts)
        ends = starts
    }
}

/// Any of the terms of a group, whose documents are known already.
final class GroupSpans: SpanSource {
    private let documents: PostingSource
    private let terms: [PostingSource]
    /// Each term with the document it is at, as a heap: none is at a lower one than its parent, that of place `i` at
    /// `(i - 1) / 2`. A document holds few of a group's terms, and is asked about those alone.
    private var heap: [(document: Int, term: Int)]
    /// Places of the heap to be looked at.
    private var open: [Int] = []
    private var document: UInt32 = 0
    private var positions: [UInt32] = []

    init(_ documents: PostingSource, _ terms: [PostingSource]) {
        self.documents = documents
        self.terms = terms
        heap = terms.indices.map { (-1, $0) }
        super.init(documentBound: Int(documents.documentFrequency), bound: documents.bound)
    }

    override func advance(to target: UInt32) throws(StorageError) -> UInt32 {
        document = try documents.advance(to: target)
        return document
    }

    override var frequencyBound: UInt32 { documents.frequencies[documents.current] }

    override func read() throws(StorageError) {
        starts.removeAll(keepingCapacity: true)
        let document = Int(self.document)
        while let top = heap.first, top.document < document { try advanceFirst(to: self.document) }
        open.append(0)
        while let place = open.popLast() {
            guard place < heap.count, heap[place].document == document else { continue }
            let term = terms[heap[place].term]
            try term.readPositions(term.current, &positions)
            starts += positions
            open.append(2 * place + 1)
            open.append(2 * place + 2)
        }
        starts.sort()
        ends = starts
    }

    /// Moves the heap's first term on, and to where it belongs then.
    private func advanceFirst(to target: UInt32) throws(StorageError) {
        var moved = heap[0]
        moved.document = Int(try terms[moved.term].advance(to: target))
        var place = 0
        while true {
            var child = 2 * place + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].document < heap[child].document { child += 1 }
            guard heap[child].document < moved.document else { break }
            heap[place] = heap[child]
            place = child
        }
        heap[place] = moved
    }
}

/// Any of several.
final class AnySpans: SpanSource {
    private let parts: [SpanSource]
    private var found: [UInt32]
    private var document: UInt32?

    init(_ parts: [SpanSource]) {
        self.parts = parts
        found = [UInt32](repeating: 0, count: parts.count)
        var bound = Bound(frequency: 0, length: .max)
        for part in parts {
            let (sum, overflows) = bound.frequency.addingReportingOverflow(part.bound.frequency)
            bound = Bound(frequency: overflows ? .max : sum, length: min(bound.length, part.bound.length))
        }
        var documents = 0
        for part in parts { documents += part.documentBound }
        super.init(documentBound: documents, bound: bound)
    }

    override func advance(to target: UInt32) throws(StorageError) -> UInt32 {
        if let document, document >= target { return document }
        var least = UInt32.max
        for place in parts.indices {
            if document == nil || found[place] < target { found[place] = try parts[place].advance(to: target) }
            least = min(least, found[place])
        }
        document = least
        return least
    }

    override func read() throws(StorageError) {
        var spans: [(start: UInt32, end: UInt32)] = []
        for place in parts.indices where found[place] == document {
            try parts[place].read()
            for (start, end) in zip(parts[place].starts, parts[place].ends) { spans.append((start, end)) }
        }
        spans.sort { ($0.start, $0.end) < ($1.start, $1.end) }
        starts.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        for span in spans where span.start != starts.last {
            starts.append(span.start)
            ends.append(span.end)
        }
    }
}

/// Several in the same document; what their places must be, a subclass says.
class JoinedSpans: SpanSource {
    /// Each once.
    final let parts: [SpanSource]
    final let view: IndexView
    private let byCost: [SpanSource]
    private final var found: UInt32?

    init(_ parts: [SpanSource], _ view: IndexView, frequency: UInt32) {
        self.parts = parts
        self.view = view
        let sorted = SpanSource.sorted(parts)
        let documentBound = sorted.isEmpty ? 0 : sorted[0].documentBound
        byCost = sorted
        var length: UInt32 = 0
        for part in parts { length = max(length, part.bound.length) }
        super.init(documentBound: documentBound, bound: Bound(frequency: frequency, length: length))
    }

    /// The document that all parts are at.
    final var document: UInt32 { found ?? .max }

    final override func advance(to target: UInt32) throws(StorageError) -> UInt32 {
        if let found, found >= target { return found }
        var document = target
        var agreeing = 0
        while true {
            for part in byCost {
                let next = try part.advance(to: document)
                agreeing = next == document ? agreeing + 1 : 1
                document = next
                if document == .max || agreeing == byCost.count {
                    found = document
                    return document
                }
            }
        }
    }
}

/// Parts in their order, with at most `slop` other positions between them in all.
final class PhraseSpans: JoinedSpans {
    /// The part at each place of the phrase.
    private let order: [Int]
    private let slop: Int
    private var places: [Int]

    init(_ parts: [SpanSource], order: [Int], slop: Int, _ view: IndexView) {
        (self.order, self.slop) = (order, slop)
        places = [Int](repeating: 0, count: order.count)
        let frequency = order.isEmpty ? 0 : parts[order[0]].bound.frequency
        super.init(parts, view, frequency: frequency)
    }

    override var frequencyBound: UInt32 { order.first.map { parts[$0].frequencyBound } ?? 0 }

    override func read() throws(StorageError) {
        starts.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        for part in parts { try part.read() }
        for slot in places.indices { places[slot] = 0 }
        guard let first = order.first else { return }
        for start in parts[first].starts {
            var position = start
            for slot in 1..<order.count {
                let positions = parts[order[slot]].starts
                var place = places[slot]
                while place < positions.count, positions[place] <= position { place += 1 }
                places[slot] = place
                guard place < positions.count else { return }
                position = positions[place]
            }
            guard Int(position - start) - (order.count - 1) <= slop,
                try view.isOneSection(document, start, position)
            else { continue }
            starts.append(start)
            ends.append(position)
        }
    }
}

/// Parts in any order, whose beginnings are at most `distance` positions from each other.
final class NearSpans: JoinedSpans {
    private let distance: Int
    private var places: [Int]

    init(_ parts: [SpanSource], within distance: Int, _ view: IndexView) {
        self.distance = distance
        places = [Int](repeating: 0, count: parts.count)
        var frequency: UInt32 = 0
        for part in parts {
            let (sum, overflows) = frequency.addingReportingOverflow(part.bound.frequency)
            frequency = overflows ? .max : sum
        }
        super.init(parts, view, frequency: frequency)
    }

    override var frequencyBound: UInt32 {
        parts.reduce(0) { sum, part in
            let (sum, overflows) = sum.addingReportingOverflow(part.frequencyBound)
            return overflows ? .max : sum
        }
    }

    override func read() throws(StorageError) {
        starts.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        for part in parts { try part.read() }
        for place in places.indices { places[place] = 0 }
        while true {
            var (first, last, end) = (UInt32.max, UInt32(0), UInt32(0))
            for place in parts.indices {
                guard places[place] < parts[place].starts.count else { return }
                let start = parts[place].starts[places[place]]
                (first, last) = (min(first, start), max(last, start))
                end = max(end, parts[place].ends[places[place]])
            }
            if Int(last - first) <= distance, try view.isOneSection(document, first, end) {
                starts.append(first)
                ends.append(end)
            }
            for place in parts.indices where parts[place].starts[places[place]] == first { places[place] += 1 }
        }
    }
}

/// A leaf whose frequency is how often something stands in a document: in some fields alone, or each occurrence with
/// the weight of its field.
final class SpanLeaf: Leaf {
    private let source: SpanSource
    /// The fields that count; all if nil.
    private let fields: Set<Int>?
    private var starts: [UInt32] = []

    init(_ context: ScoreContext, _ source: SpanSource, weight: Double, fields: Set<Int>?, title: String) {
        self.source = source
        self.fields = fields
        super.init(context, weight: weight, cost: source.documentBound, bounds: [source.bound], title: title)
    }

    override func lowerBound(from target: UInt32) throws(StorageError) -> UInt32 { try source.advance(to: target) }

    override func match(_ base: UInt32, _ within: WindowBits?, _ minimum: Double) throws(StorageError) {
        bits.clear()
        count = 0
        let last = DocumentWindow.last(base)
        var docno = try source.advance(to: base)
        while docno <= last, docno < .max {
            let offset = Int(docno &- base)
            if let within, !within.contains(offset) {
                let next = within.next(from: offset + 1)
                guard next < DocumentWindow.size else { return }
                docno = try source.advance(to: base &+ UInt32(next))
                continue
            }
            if try canReach(minimum, base, offset) { try take(docno, offset) }
            guard docno < last else { return }
            docno = try source.advance(to: docno + 1)
        }
    }

    private func canReach(_ minimum: Double, _ base: UInt32, _ offset: Int) throws(StorageError) -> Bool {
        guard minimum > 0, context.fieldWeights == nil else { return true }
        let length = UInt32(try context.lengths(base, from: offset, through: offset)[offset])
        let bound = Bound(frequency: source.frequencyBound, length: length == 0 ? 0 : length - 1)
        return context.contributionBound(bound, weight: weight) * Double(multiplicity) >= minimum
    }

    private func take(_ docno: UInt32, _ offset: Int) throws(StorageError) {
        try source.read()
        guard let frequency = try frequency(docno) else { return }
        bits.insert(offset)
        guard context.scores else { return }
        guard count < capacity else { throw context.view.corrupt("\(name) is in more documents than it can be") }
        offsets[count] = UInt16(truncatingIfNeeded: offset)
        frequencies[count] = frequency
        lengths?[count] = context.weightedLength(starts)
        count += 1
    }

    /// How often it counts, nil if it doesn't stand where it would.
    private func frequency(_ docno: UInt32) throws(StorageError) -> Double? {
        guard !source.starts.isEmpty else { return nil }
        if fields == nil, context.fieldWeights == nil { return Double(source.starts.count) }
        try context.view.fieldStarts(docno, &starts)
        var sum = 0.0
        var isThere = false
        var place = 0
        for field in 0..<max(starts.count - 1, 0) {
            var occurrences = 0
            while place < source.starts.count, source.starts[place] < starts[field + 1] {
                occurrences += 1
                place += 1
            }
            guard occurrences > 0, fields?.contains(field) ?? true else { continue }
            isThere = true
            if let weights = context.fieldWeights {
                sum += (field < weights.count ? weights[field] : 1) * Double(occurrences)
            } else {
                sum += Double(occurrences)
            }
        }
        return isThere ? sum : nil
    }
}
