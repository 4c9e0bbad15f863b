// SPDX-License-Identifier: Apache-2.0
// The forms of a query that join others, a window of documents at a time. Each node says which of the window's
// documents match it, at best only among those that matter to who asks; what scores are leaves. Windows ascend, and
// each is matched at most once.

import HornbeamPages

/// Part of a query in evaluation. Abstract.
class QueryNode {
    /// The matches in the window that `match` was last called for.
    final let bits: UnsafeMutablePointer<UInt64>
    /// About how many documents it goes through.
    final let cost: Int
    /// What the node is, in an explanation.
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

    /// A document from `target` on below which nothing matches; `.max` if nothing does any more.
    func lowerBound(from target: UInt32) throws(StorageError) -> UInt32 { target }

    /// No document's score in the window from `base` on has more than this from it.
    func windowBound(_ base: UInt32) throws(StorageError) -> Double { 0 }

    /// Sets `bits` to the matches in the window, all of those that are in `within`.
    /// - Parameter minimum: what contributes less may be left out.
    func match(_ base: UInt32, _ within: WindowBits?, _ minimum: Double) throws(StorageError) { bits.clear() }

    /// Tells the leaves which of the window's documents they score: those of `active` that got there through matches.
    func activate(_ active: WindowBits) {}
}

/// Documents that match any of several.
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

/// Documents that match all of several: the rarest says which, the others are asked about those alone.
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
                // In the same window is near enough: `match` finds out.
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

/// Documents that match one and not another. The other never scores.
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
