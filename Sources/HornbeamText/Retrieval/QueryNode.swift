// SPDX-License-Identifier: Apache-2.0
// The inner nodes of a query, evaluated one window of documents at a time. Each node finds the matching documents of
// the window; a caller can restrict it to the documents that it needs. Leaves score. Windows ascend, and each is
// matched at most once.

import HornbeamPages

/// A part of a query in evaluation. Abstract.
class QueryNode {
    /// The matches in the window of the last call of `match`.
    final let bits: UnsafeMutablePointer<UInt64>
    /// Approximate number of documents that it reads.
    final let cost: Int
    /// The node's name in an explanation.
    var name: String { "" }
    var children: [QueryNode] { [] }

    init(cost: Int) {
        self.cost = cost
        bits = .allocate(capacity: DocumentWindow.words)
        bits.clear()
    }

    deinit { bits.deallocate() }

    fileprivate final class func cost(_ parts: [QueryNode]) -> Int {
        var sum = 0
        for part in parts { sum = sum.addingReportingOverflow(part.cost).partialValue }
        return sum
    }

    fileprivate final class func sorted(_ parts: [QueryNode]) -> [QueryNode] { parts.sorted { $0.cost < $1.cost } }

    /// Returns a lower bound of the next match from `target` on; `.max` if there are no more matches.
    func lowerBound(from target: UInt32) throws(StorageError) -> UInt32 { target }

    /// Returns an upper bound of the node's contribution to any document's score in the window from `base` on.
    func windowBound(_ base: UInt32) throws(StorageError) -> Double { 0 }

    /// Sets `bits` to the matches in the window, including all of those that are in `within`.
    /// - Parameter minimum: matches that contribute less may be left out.
    func match(_ base: UInt32, _ within: WindowBits?, _ minimum: Double) throws(StorageError) { bits.clear() }

    /// Tells the leaves which of the window's documents they score: the documents of `active` that match each node on
    /// the path to the leaf.
    func activate(_ active: WindowBits) {}
}

/// Documents that match any of several nodes.
final class AnyNode: QueryNode {
    private let parts: [QueryNode]
    private let active = WindowSet()
    override var name: String { "any of" }
    override var children: [QueryNode] { parts }

    init(_ parts: [QueryNode]) {
        self.parts = parts
        super.init(cost: QueryNode.cost(parts))
    }

    override func lowerBound(from target: UInt32) throws(StorageError) -> UInt32 {
        var least = UInt32.max
        for part in parts { least = min(least, try part.lowerBound(from: target)) }
        return least
    }

    override func windowBound(_ base: UInt32) throws(StorageError) -> Double {
        var sum = 0.0
        for part in parts { sum += try part.windowBound(base) }
        return sum
    }

    override func match(_ base: UInt32, _ within: WindowBits?, _ minimum: Double) throws(StorageError) {
        bits.clear()
        for part in parts {
            try part.match(base, within, -.infinity)
            bits.formUnion(part.bits)
        }
    }

    override func activate(_ active: WindowBits) {
        for part in parts {
            self.active.words.assign(active)
            self.active.words.formIntersection(part.bits)
            part.activate(self.active.words)
        }
    }
}

/// Documents that match all of several nodes. The rarest is matched first, the others only within its matches.
final class AllNode: QueryNode {
    private let parts: [QueryNode]
    private let byCost: [QueryNode]
    override var name: String { "all of" }
    override var children: [QueryNode] { parts }

    init(_ parts: [QueryNode]) {
        self.parts = parts
        // Only locals, and no closures in the call: the optimizer of Swift 6.3 crashes otherwise.
        let sorted = QueryNode.sorted(parts)
        let cost = sorted.isEmpty ? 0 : sorted[0].cost
        byCost = sorted
        super.init(cost: cost)
    }

    override func lowerBound(from target: UInt32) throws(StorageError) -> UInt32 {
        var target = target
        var agreeing = 0
        while agreeing < byCost.count {
            for part in byCost {
                let next = try part.lowerBound(from: target)
                // It is enough that they are in one window: `match` finds the documents.
                agreeing = DocumentWindow.base(of: next) == DocumentWindow.base(of: target) ? agreeing + 1 : 1
                target = max(target, next)
                if target == .max || agreeing >= byCost.count { return target }
            }
        }
        return target
    }

    override func windowBound(_ base: UInt32) throws(StorageError) -> Double {
        var sum = 0.0
        for part in parts { sum += try part.windowBound(base) }
        return sum
    }

    override func match(_ base: UInt32, _ within: WindowBits?, _ minimum: Double) throws(StorageError) {
        bits.clear()
        var found = within
        for part in byCost {
            try part.match(base, found, -.infinity)
            found = part.bits.bits
            if part.bits.bits.isEmpty { return }
        }
        if let found { bits.assign(found) }
    }

    override func activate(_ active: WindowBits) {
        for part in parts { part.activate(active) }
    }
}

/// Documents that match one node and not another. The other never scores.
final class WithoutNode: QueryNode {
    private let first: QueryNode
    private let second: QueryNode
    override var name: String { "without" }
    override var children: [QueryNode] { [first] }

    init(_ first: QueryNode, _ second: QueryNode) {
        (self.first, self.second) = (first, second)
        super.init(cost: first.cost)
    }

    override func lowerBound(from target: UInt32) throws(StorageError) -> UInt32 { try first.lowerBound(from: target) }
    override func windowBound(_ base: UInt32) throws(StorageError) -> Double { try first.windowBound(base) }

    override func match(_ base: UInt32, _ within: WindowBits?, _ minimum: Double) throws(StorageError) {
        try first.match(base, within, -.infinity)
        bits.assign(first.bits)
        guard !bits.bits.isEmpty else { return }
        try second.match(base, bits, -.infinity)
        bits.subtract(second.bits)
    }

    override func activate(_ active: WindowBits) { first.activate(active) }
}

/// Every document.
final class EverythingNode: QueryNode {
    private let context: ScoreContext
    override var name: String { "every document" }

    init(_ context: ScoreContext) {
        self.context = context
        super.init(cost: Int(context.view.docnoLimit))
    }

    override func lowerBound(from target: UInt32) throws(StorageError) -> UInt32 {
        target < context.view.docnoLimit ? target : .max
    }

    override func match(_ base: UInt32, _ within: WindowBits?, _ minimum: Double) throws(StorageError) {
        let lengths = try context.lengths(base)
        for word in 0..<DocumentWindow.words {
            var present: UInt64 = 0
            for bit in 0..<64 where lengths[word << 6 | bit] > 0 { present |= 1 &<< UInt64(bit) }
            bits[word] = present & (within?[word] ?? .max)
        }
    }
}
