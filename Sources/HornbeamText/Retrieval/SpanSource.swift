// SPDX-License-Identifier: Apache-2.0
// The positions of words, phrases and groups of words in documents. Documents are found by their numbers alone;
// positions are read only when asked for. Forward only.

import HornbeamPages

/// Something with positions in documents. Abstract.
class SpanSource {
    /// Upper bound of the number of its documents.
    final let documentBound: Int
    /// A bound of all its documents.
    final let bound: Bound
    /// The first and the last position of each occurrence in the document that `read` was called for, in ascending
    /// order of the first positions, which are distinct.
    final var starts: [UInt32] = []
    final var ends: [UInt32] = []

    init(documentBound: Int, bound: Bound) {
        self.documentBound = documentBound
        self.bound = bound
    }

    fileprivate final class func sorted(_ parts: [SpanSource]) -> [SpanSource] {
        parts.sorted { $0.documentBound < $1.documentBound }
    }

    /// Blocks that contain all its documents, with bounds that are known before they are read. Nil if it has none.
    /// Between two calls of `advance` they may be moved, but not beyond the next call's target.
    var blocks: PostingSource? { nil }

    /// Returns the first document from `target` on that may have it, or `.max` if there is none. Targets never descend.
    func advance(to target: UInt32) throws(StorageError) -> UInt32 { .max }

    /// Upper bound of the number of occurrences in the document that `advance` found.
    var frequencyBound: UInt32 { bound.frequency }

    /// Sets each occurrence to one token. Copies the elements, because a shared array would be reallocated by the next
    /// change.
    final func endAtStarts() {
        ends.removeAll(keepingCapacity: true)
        ends.append(contentsOf: starts)
    }

    /// Reads the occurrences in the document that `advance` found. There may be none.
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

    override var blocks: PostingSource? { source }
    override func advance(to target: UInt32) throws(StorageError) -> UInt32 { try source.advance(to: target) }
    override var frequencyBound: UInt32 { source.frequencies[source.current] }

    override func read() throws(StorageError) {
        try source.readPositions(source.current, &starts)
        endAtStarts()
    }
}

/// Any of several sources.
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

/// Several sources in the same document. Subclasses define how their positions must relate.
class JoinedSpans: SpanSource {
    /// Distinct.
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

/// Parts in order, with at most `slop` other positions between them in all.
final class PhraseSpans: JoinedSpans {
    /// The part at each position of the phrase.
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

/// A part of `NearSpans`, and the number of occurrences that it needs.
struct NearPart {
    let source: SpanSource
    let count: Int
}

/// Parts in any order, the last of which begins at most `distance` positions behind the end of the first.
final class NearSpans: JoinedSpans {
    private let distance: Int
    private let counts: [Int]
    private var places: [Int]

    init(_ parts: [NearPart], within distance: Int, _ view: IndexView) {
        self.distance = distance
        counts = parts.map(\.count)
        places = [Int](repeating: 0, count: parts.count)
        var frequency: UInt32 = 0
        for part in parts {
            let (sum, overflows) = frequency.addingReportingOverflow(part.source.bound.frequency)
            frequency = overflows ? .max : sum
        }
        super.init(parts.map(\.source), view, frequency: frequency)
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
        guard !parts.isEmpty else { return }
        while true {
            // The first start, and the end of the longest span that begins there.
            var (first, firstEnd) = (UInt32.max, UInt32(0))
            var (last, end) = (UInt32(0), UInt32(0))
            for part in parts.indices {
                let from = places[part]
                let source = parts[part]
                guard source.starts.count - from >= counts[part] else { return }
                let to = from + counts[part]
                let start = source.starts[from]
                if start < first { (first, firstEnd) = (start, 0) }
                if start == first { firstEnd = max(firstEnd, source.ends[from]) }
                last = max(last, source.starts[to - 1])
                for place in from..<to { end = max(end, source.ends[place]) }
            }
            if Int(last) - Int(firstEnd) <= distance, try view.isOneSection(document, first, end) {
                starts.append(first)
                ends.append(end)
            }
            for part in parts.indices where parts[part].starts[places[part]] == first { places[part] += 1 }
        }
    }
}

/// A leaf whose frequency is the number of occurrences of a source in a document: in some fields only, or weighted by
/// field.
final class SpanLeaf: Leaf {
    private let source: SpanSource
    private let blocks: PostingSource?
    /// The fields that count, which are few. Nil means all.
    private let fields: [Int]?
    /// The starts of the current document's fields.
    private var starts: [UInt32] = []

    init(_ context: ScoreContext, _ source: SpanSource, _ weight: LeafWeight, fields: Set<Int>?, title: String) {
        self.source = source
        blocks = source.blocks
        let fields = fields.map { Array($0) }
        self.fields = fields
        let most = context.mostWeight(in: fields)
        let bound = Leaf.bound(source.blocks?.bounds ?? [source.bound], context, weight: weight.value, most: most)
        super.init(
            context, weight, cost: source.documentBound, bound: bound, mostWeight: most, title: title)
    }

    override func lowerBound(from target: UInt32) throws(StorageError) -> UInt32 {
        if let blocks { return try blocks.lowerBound(from: target) }
        return try source.advance(to: target)
    }

    override func windowBound(_ base: UInt32) throws(StorageError) -> Double {
        if let blocks { return try windowBound(base, blocks) }
        return try super.windowBound(base)
    }

    override func match(_ base: UInt32, _ within: WindowBits?, _ minimum: Double) throws(StorageError) {
        bits.clear()
        count = 0
        let last = DocumentWindow.last(base)
        var target = base
        while true {
            if let within {
                let next = within.next(from: Int(target &- base))
                guard next < DocumentWindow.size else { return }
                target = base &+ UInt32(next)
            }
            if minimum > 0, let blocks {
                try blocks.seekBlock(target)
                guard !blocks.isAtEnd, blocks.blockFirst <= last else { return }
                if blockBound(blocks) < minimum {
                    guard blocks.blockLast < last else { return }
                    target = blocks.blockLast + 1
                    continue
                }
            }
            let docno = try source.advance(to: target)
            guard docno <= last, docno < .max else { return }
            if let within, !within.contains(Int(docno &- base)) {
                // It is behind the target; continue there.
                target = docno
                continue
            }
            try take(docno, Int(docno &- base), minimum)
            guard docno < last else { return }
            target = docno + 1
        }
    }

    /// Whether this weighted frequency contributes at least `minimum` to the score of a document of this length.
    private func reaches(_ minimum: Double, frequency: Double, length: Double) -> Bool {
        guard frequency > 0 else { return false }
        let contribution = BM25.score(
            weight: weight, frequency: frequency, length: length, averageLength: context.averageLength)
        return contribution * Double(multiplicity) >= minimum
    }

    /// Takes a document if it has an occurrence that counts and may contribute at least `minimum`. Bounds are checked
    /// first, then its fields are read, and its positions last.
    private func take(_ docno: UInt32, _ offset: Int, _ minimum: Double) throws(StorageError) {
        let isLimited = minimum > 0
        if isLimited {
            let length = UInt32(try context.lengths(base(of: docno), from: offset, through: offset)[offset])
            let bound = Bound(frequency: source.frequencyBound, length: length == 0 ? 0 : length - 1)
            guard contributionBound(bound) >= minimum else { return }
        }
        var weightedLength = 0.0
        if fields != nil || context.fieldWeights != nil {
            try context.view.fieldStarts(docno, &starts)
            let most = frequencyBound
            guard most.isThere else { return }
            weightedLength = context.weightedLength(starts)
            if isLimited {
                let length = context.fieldWeights == nil ? try context.length(offset) : weightedLength
                guard reaches(minimum, frequency: most.frequency, length: length) else { return }
            }
        }
        try source.read()
        guard let frequency = frequency() else { return }
        bits.insert(offset)
        guard context.scores else { return }
        guard count < capacity else { throw context.view.corrupt("\(name) is in more documents than it can be") }
        offsets[count] = UInt16(truncatingIfNeeded: offset)
        frequencies[count] = frequency
        lengths?[count] = weightedLength
        count += 1
    }

    private func base(of docno: UInt32) -> UInt32 { DocumentWindow.base(of: docno) }

    private func counts(_ field: Int) -> Bool { fields?.contains(field) ?? true }

    private func tokens(_ field: Int) -> UInt32 { field + 1 < starts.count ? starts[field + 1] &- starts[field] : 0 }

    /// Upper bound of the frequency, from the number of tokens of each field: all occurrences in the fields of highest
    /// weight.
    private var frequencyBound: (isThere: Bool, frequency: Double) {
        var rest = source.frequencyBound
        var sum = 0.0
        var isThere = false
        func add(_ field: Int, _ weight: Double) {
            guard counts(field) else { return }
            let most = min(rest, tokens(field))
            if most > 0 { isThere = true }
            sum += weight * Double(most)
            rest -= most
        }
        if context.fieldWeights == nil {
            for field in 0..<max(starts.count - 1, 0) { add(field, 1) }
        } else {
            for (field, weight) in context.fieldsByWeight { add(field, weight) }
        }
        return (isThere, sum)
    }

    /// Returns the weighted frequency, or nil if no occurrence counts.
    private func frequency() -> Double? {
        guard !source.starts.isEmpty else { return nil }
        if fields == nil, context.fieldWeights == nil { return Double(source.starts.count) }
        var sum = 0.0
        var isThere = false
        var place = 0
        for field in 0..<max(starts.count - 1, 0) {
            var occurrences = 0
            while place < source.starts.count, source.starts[place] < starts[field + 1] {
                occurrences += 1
                place += 1
            }
            guard occurrences > 0, counts(field) else { continue }
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
