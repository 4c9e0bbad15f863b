// SPDX-License-Identifier: Apache-2.0
// Finds the best documents of a query without scoring all: block-max MAXSCORE (Turtle, Flood, “Query evaluation:
// strategies and optimizations”, 1995; Ding, Suel, 2011), a window of documents at a time. Clauses whose bounds
// together can't reach the current threshold don't produce candidates; they are only evaluated for the candidates of
// the other clauses. Intermediate sums are approximate, and bounds allow for that. Candidates for the result are summed
// again exactly, in the query's order. So the result is identical, to the last bit, to that of scoring everything.

import HornbeamPages

/// One evaluation of a compiled query.
final class Retrieval {
    private let context: ScoreContext
    private let view: IndexView
    private let clauses: [QueryNode]
    private let order: [Leaf]
    private let leaves: [Leaf]
    private let filter: DocumentFilter
    private let required = WindowSet()
    private let candidates = WindowSet()
    private let sums: UnsafeMutablePointer<Double>
    /// Upper bound of each clause's contribution in the window.
    private var bounds: [Double]
    /// The clauses in ascending order of these bounds.
    private var ranks: [Int]
    /// By rank: upper bound of the contributions of all other clauses in the window. A document may be left out if a
    /// clause contributes so little that the others can't make up for it.
    private var others: [Double]

    /// Maximum number of clauses that are sorted by insertion.
    private static let fewClauses = 32

    /// - Parameter limit: number of documents that are wanted.
    init(
        _ query: CompiledQuery, _ context: ScoreContext, filter: TextFilter, limit: Int
    ) throws(StorageError) {
        self.context = context
        let cost = query.clauses.reduce(0) { $0.addingReportingOverflow($1.cost).partialValue }
        self.filter = try DocumentFilter(filter, context.view, cost: cost, limit: limit)
        view = context.view
        clauses = query.clauses
        order = query.order
        var leaves: [Leaf] = []
        var known: Set<ObjectIdentifier> = []
        for leaf in order where known.insert(ObjectIdentifier(leaf)).inserted { leaves.append(leaf) }
        self.leaves = leaves
        bounds = [Double](repeating: 0, count: clauses.count)
        ranks = Array(clauses.indices)
        others = bounds
        sums = .allocate(capacity: DocumentWindow.size)
        sums.initialize(repeating: 0, count: DocumentWindow.size)
    }

    deinit { sums.deallocate() }

    /// Returns the base of the next window from `target` on that may have a match, or nil at the end.
    private func nextWindow(_ target: UInt32) throws(StorageError) -> UInt32? {
        var target = target
        while target < view.docnoLimit {
            var next = UInt32.max
            for clause in clauses { next = min(next, try clause.lowerBound(from: target)) }
            guard next < view.docnoLimit else { return nil }
            guard let wanted = filter.allowed?.advance(to: next) else { return DocumentWindow.base(of: next) }
            if DocumentWindow.base(of: wanted) == DocumentWindow.base(of: next) { return DocumentWindow.base(of: next) }
            target = wanted
        }
        return nil
    }

    /// Returns the documents of a window that pass the filter, or nil if the filter has to be asked for each.
    private func requiredBits(_ base: UInt32) -> WindowBits? {
        guard filter.allowed != nil else { return nil }
        filter.allowed?.match(base, through: DocumentWindow.last(base), required.words)
        return required.words.bits
    }

    // MARK: Without scores

    /// Calls `body` with each matching document's row, in the order of documents.
    func forEach(_ body: (UInt64) throws(StorageError) -> Void) throws(StorageError) {
        try forEachWindow { (base, bits) throws(StorageError) in
            try bits.forEach { (offset) throws(StorageError) in
                let row = try view.row(of: base &+ UInt32(offset))
                if try filter.accepts(row) { try body(row) }
            }
        }
    }

    func count() throws(StorageError) -> UInt64 {
        var count: UInt64 = 0
        guard filter.isAllOrKnown else {
            try forEach { (_) throws(StorageError) in count += 1 }
            return count
        }
        try forEachWindow { (_, bits) throws(StorageError) in count += UInt64(bits.population) }
        return count
    }

    private func forEachWindow(
        _ body: (_ base: UInt32, _ bits: WindowBits) throws(StorageError) -> Void
    ) throws(StorageError) {
        var target: UInt32 = 0
        while let base = try nextWindow(target) {
            let required = requiredBits(base)
            candidates.words.clear()
            for clause in clauses {
                try clause.match(base, required, -.infinity)
                candidates.words.formUnion(clause.bits)
            }
            try body(base, candidates.words)
            guard DocumentWindow.last(base) < .max else { return }
            target = DocumentWindow.last(base) + 1
        }
    }
}

// Ranking.
extension Retrieval {
    /// Offers to `best` every document that may be among the best.
    func rank(_ best: inout TopK) throws(StorageError) {
        var target: UInt32 = 0
        while let base = try nextWindow(target) {
            try rankWindow(base, &best)
            guard DocumentWindow.last(base) < .max else { return }
            target = DocumentWindow.last(base) + 1
        }
    }

    private func rankWindow(_ base: UInt32, _ best: inout TopK) throws(StorageError) {
        let need = best.need
        let (optional, rest) = try partition(base, need)
        guard optional < clauses.count else { return }
        for leaf in leaves { leaf.reset() }
        let required = requiredBits(base)
        let candidates = self.candidates.words
        if optional + 1 == clauses.count, required == nil, let leaf = clauses[ranks[optional]] as? Leaf,
            try leaf.takeBest(base, need - rest, sums)
        {
            candidates.assign(leaf.bits)
        } else {
            candidates.clear()
            for rank in optional..<clauses.count {
                let clause = clauses[ranks[rank]]
                try clause.match(base, required, need - others[rank])
                candidates.formUnion(clause.bits)
                try addContributions(clause, base)
            }
            prune(candidates, need - rest)
        }
        try addOptional(base, optional, rest, need)
        try offer(base, &best)
        for leaf in leaves {
            for place in 0..<leaf.count { sums[Int(leaf.offsets[place])] = 0 }
        }
    }

    /// Ranks the clauses by their bounds in the window. Returns how many of them, from the lowest bound on, can't reach
    /// `need` together, and an upper bound of their sum.
    private func partition(_ base: UInt32, _ need: Double) throws(StorageError) -> (optional: Int, sum: Double) {
        for clause in clauses.indices { bounds[clause] = try clauses[clause].windowBound(base) }
        sortRanks()
        sumOthers()
        var (optional, sum) = (0, 0.0)
        while optional < clauses.count {
            let next = sum + bounds[ranks[optional]]
            // Allows for the rounding of the bounds themselves.
            guard next * (1 + TopK.slack) < need else { break }
            sum = next
            optional += 1
        }
        return (optional, sum * (1 + TopK.slack))
    }

    private func sortRanks() {
        // The clauses are few, or almost in order since the last window. The first time there may be many in random
        // order.
        guard ranks.count <= Self.fewClauses else { return ranks.sort { bounds[$0] < bounds[$1] } }
        for place in ranks.indices.dropFirst() {
            var place = place
            while place > 0, bounds[ranks[place - 1]] > bounds[ranks[place]] {
                ranks.swapAt(place - 1, place)
                place -= 1
            }
        }
    }

    private func sumOthers() {
        // Added up from both ends, because subtracting from the total would lose digits.
        var sum = 0.0
        for rank in ranks.indices {
            others[rank] = sum
            sum += bounds[ranks[rank]]
        }
        sum = 0
        for rank in ranks.indices.reversed() {
            others[rank] = (others[rank] + sum) * (1 + TopK.slack)
            sum += bounds[ranks[rank]]
        }
    }

    private func addContributions(_ clause: QueryNode, _ base: UInt32) throws(StorageError) {
        if let leaf = clause as? Leaf { return try leaf.addContributions(base, to: sums) }
        clause.activate(clause.bits)
        try forEachLeaf(clause) { (leaf) throws(StorageError) in try leaf.addContributions(base, to: sums) }
    }

    private func forEachLeaf(
        _ node: QueryNode, _ body: (Leaf) throws(StorageError) -> Void
    ) throws(StorageError) {
        if let leaf = node as? Leaf { return try body(leaf) }
        for child in node.children { try forEachLeaf(child, body) }
    }

    /// Keeps the candidates whose sums are not below `least`.
    private func prune(_ candidates: UnsafeMutablePointer<UInt64>, _ least: Double) {
        guard least > 0 else { return }
        let sums = self.sums
        for word in 0..<DocumentWindow.words {
            var rest = candidates[word]
            var kept: UInt64 = 0
            while rest != 0 {
                let bit = UInt64(truncatingIfNeeded: rest.trailingZeroBitCount)
                kept |= (sums[word &<< 6 | Int(bit)] >= least ? 1 : 0) &<< bit
                rest &= rest &- 1
            }
            candidates[word] = kept
        }
    }

    /// Evaluates the optional clauses for the candidates, in descending order of their bounds.
    private func addOptional(
        _ base: UInt32, _ optional: Int, _ sum: Double, _ need: Double
    ) throws(StorageError) {
        var rest = sum
        for rank in stride(from: optional - 1, through: 0, by: -1) {
            guard !candidates.words.bits.isEmpty else { return }
            let clause = clauses[ranks[rank]]
            try clause.match(base, candidates.words, need - others[rank])
            try addContributions(clause, base)
            rest = max(rest - bounds[ranks[rank]], 0) + need.magnitude * TopK.slack
            if need > 0 { prune(candidates.words, need - rest) }
        }
    }

    /// Sums the candidates' scores exactly and offers them.
    private func offer(_ base: UInt32, _ best: inout TopK) throws(StorageError) {
        guard !candidates.words.bits.isEmpty else { return }
        var need = best.need
        let ascends = view.rowsAscend
        for word in 0..<DocumentWindow.words {
            var rest = candidates.words[word]
            while rest != 0 {
                let offset = word << 6 | rest.trailingZeroBitCount
                rest &= rest - 1
                guard sums[offset] >= need else { continue }
                var score = 0.0
                for leaf in order {
                    if let place = leaf.find(offset) { score += try leaf.contribution(place) }
                }
                guard best.mayAdmit(score, laterRow: ascends) else { continue }
                let hit = TextHit(row: try view.row(of: base &+ UInt32(offset)), score: score)
                guard try best.admits(hit), try filter.accepts(hit.row) else { continue }
                try best.insert(hit)
                need = best.need
            }
        }
    }
}

// Explaining.
extension Retrieval {
    /// Explains the score of a row's document. Returns nil if it doesn't match. The filter must accept only that row.
    func explain(_ row: UInt64) throws(StorageError) -> TextScoreExplanation? {
        guard let docno = try view.docno(of: row) else { return nil }
        let base = DocumentWindow.base(of: docno)
        let offset = Int(docno &- base)
        required.words.clear()
        required.words.insert(offset)
        for leaf in leaves { leaf.reset() }
        var matches = false
        for clause in clauses {
            try clause.match(base, required.words, -.infinity)
            matches = matches || clause.bits.bits.contains(offset)
            if !(clause is Leaf) { clause.activate(clause.bits) }
        }
        guard matches else { return nil }
        _ = try context.lengths(base)
        var parts: [TextScoreExplanation] = []
        var score = 0.0
        for leaf in order {
            guard let part = try leaf.explain(offset) else { continue }
            score += part.value
            parts.append(part)
        }
        return TextScoreExplanation(score, "score: the sum of these, in this order", parts)
    }
}
