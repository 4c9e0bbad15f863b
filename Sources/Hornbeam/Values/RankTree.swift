// SPDX-License-Identifier: Apache-2.0
// An ordered set of rows that knows positions: a randomized search tree whose nodes count their descendants. Each
// operation takes O(log n) expected steps, in any order of insertions, because any row of a subtree is equally likely
// to be its root.

import HornbeamPages

/// A row in the order of a query.
package struct RankedRow: Sendable {
    /// Bytes that compare in the order of the sort. Empty without a sort.
    package var key: [UInt8]
    /// The row, which decides between equal keys.
    package var row: RowID
    /// A fingerprint of its content.
    package var fingerprint: Int

    package init(key: [UInt8], row: RowID, fingerprint: Int) {
        self.key = key
        self.row = row
        self.fingerprint = fingerprint
    }

    package func order(_ other: RankedRow) -> Int {
        if !key.isEmpty || !other.key.isEmpty {
            let order = key.withUnsafeBytes { left in other.key.withUnsafeBytes { left.order($0) } }
            if order != 0 { return order }
        }
        return row < other.row ? -1 : row == other.row ? 0 : 1
    }
}

/// Rows in order, each once.
package struct RankTree: Sendable {
    /// The number of a node, negative for none.
    private typealias Link = Int32

    private struct Node: Sendable {
        var row: RankedRow
        var left: Link = -1
        var right: Link = -1
        var count: Int32 = 1
    }

    private var nodes: [Node] = []
    private var free: [Link] = []
    private var root: Link = -1
    private var random: UInt64 = 0x9E37_79B9_7F4A_7C15

    package init() {}

    /// - Parameter rows: in any order. They nearly always come sorted, and then each is only compared with the next
    ///   one.
    package init(_ rows: [RankedRow]) {
        let isOrdered = rows.indices.dropFirst().allSatisfy { rows[$0 - 1].order(rows[$0]) < 0 }
        nodes = (isOrdered ? rows : rows.sorted { $0.order($1) < 0 }).map { Node(row: $0) }
        root = build(0..<rows.count)
    }

    private mutating func build(_ range: Range<Int>) -> Link {
        guard !range.isEmpty else { return -1 }
        let middle = range.lowerBound + range.count / 2
        nodes[middle].left = build(range.lowerBound..<middle)
        nodes[middle].right = build((middle + 1)..<range.upperBound)
        nodes[middle].count = Int32(range.count)
        return Link(middle)
    }

    package var count: Int { count(root) }

    private func count(_ link: Link) -> Int { link < 0 ? 0 : Int(nodes[Int(link)].count) }

    /// Returns the position of the row, or nil if it isn't there.
    func position(of row: RankedRow) -> Int? {
        var link = root
        var before = 0
        while link >= 0 {
            let node = nodes[Int(link)]
            let order = row.order(node.row)
            if order == 0 { return before + count(node.left) }
            if order > 0 { before += count(node.left) + 1 }
            link = order < 0 ? node.left : node.right
        }
        return nil
    }

    /// Returns the number of rows before `row`, which need not be there.
    package func rank(of row: RankedRow) -> Int {
        var link = root
        var before = 0
        while link >= 0 {
            let node = nodes[Int(link)]
            let isBefore = node.row.order(row) < 0
            if isBefore { before += count(node.left) + 1 }
            link = isBefore ? node.right : node.left
        }
        return before
    }

    /// Returns the row at a position, or nil beyond the ends.
    package func row(at position: Int) -> RankedRow? {
        var link = root
        var rest = position
        while link >= 0 {
            let node = nodes[Int(link)]
            let left = count(node.left)
            if rest == left { return node.row }
            link = rest < left ? node.left : node.right
            if rest > left { rest -= left + 1 }
        }
        return nil
    }

    /// Changes the fingerprint of a row in the tree.
    mutating func update(_ row: RankedRow) {
        var link = root
        while link >= 0 {
            let order = row.order(nodes[Int(link)].row)
            if order == 0 {
                nodes[Int(link)].row.fingerprint = row.fingerprint
                return
            }
            link = order < 0 ? nodes[Int(link)].left : nodes[Int(link)].right
        }
    }

    /// All rows in order.
    var rows: [RankedRow] {
        var found: [RankedRow] = []
        found.reserveCapacity(count)
        var path: [Link] = []
        var link = root
        while link >= 0 || !path.isEmpty {
            while link >= 0 {
                path.append(link)
                link = nodes[Int(link)].left
            }
            let node = nodes[Int(path.removeLast())]
            found.append(node.row)
            link = node.right
        }
        return found
    }

    /// Number of nodes on the longest path from the root.
    var height: Int {
        var level = root < 0 ? [] : [root]
        var height = 0
        while !level.isEmpty {
            height += 1
            level = level.flatMap { [nodes[Int($0)].left, nodes[Int($0)].right] }.filter { $0 >= 0 }
        }
        return height
    }

    // MARK: Changing

    /// The row must not be in the tree.
    package mutating func insert(_ row: RankedRow) {
        let new: Link
        if let link = free.popLast() {
            nodes[Int(link)] = Node(row: row)
            new = link
        } else {
            new = Link(nodes.count)
            nodes.append(Node(row: row))
        }
        root = insert(new, below: root)
    }

    /// The row must be in the tree.
    package mutating func remove(_ row: RankedRow) { root = remove(row, below: root) }

    private mutating func insert(_ new: Link, below link: Link) -> Link {
        guard link >= 0 else { return new }
        if draw(below: count(link) + 1) == 0 {
            let (left, right) = split(link, at: nodes[Int(new)].row)
            nodes[Int(new)].left = left
            nodes[Int(new)].right = right
            recount(new)
            return new
        }
        if nodes[Int(new)].row.order(nodes[Int(link)].row) < 0 {
            nodes[Int(link)].left = insert(new, below: nodes[Int(link)].left)
        } else {
            nodes[Int(link)].right = insert(new, below: nodes[Int(link)].right)
        }
        recount(link)
        return link
    }

    private mutating func remove(_ row: RankedRow, below link: Link) -> Link {
        guard link >= 0 else { return link }
        let node = nodes[Int(link)]
        let order = row.order(node.row)
        if order == 0 {
            // Releases the key.
            nodes[Int(link)].row.key = []
            free.append(link)
            return join(node.left, node.right)
        }
        if order < 0 {
            nodes[Int(link)].left = remove(row, below: node.left)
        } else {
            nodes[Int(link)].right = remove(row, below: node.right)
        }
        recount(link)
        return link
    }

    /// Splits a subtree into the rows before `row` and the rows after it.
    private mutating func split(_ link: Link, at row: RankedRow) -> (Link, Link) {
        guard link >= 0 else { return (-1, -1) }
        if row.order(nodes[Int(link)].row) < 0 {
            let (left, right) = split(nodes[Int(link)].left, at: row)
            nodes[Int(link)].left = right
            recount(link)
            return (left, link)
        }
        let (left, right) = split(nodes[Int(link)].right, at: row)
        nodes[Int(link)].right = left
        recount(link)
        return (link, right)
    }

    /// Joins two subtrees. All rows of the first one precede those of the second.
    private mutating func join(_ left: Link, _ right: Link) -> Link {
        if left < 0 { return right }
        if right < 0 { return left }
        if draw(below: count(left) + count(right)) < count(left) {
            nodes[Int(left)].right = join(nodes[Int(left)].right, right)
            recount(left)
            return left
        }
        nodes[Int(right)].left = join(left, nodes[Int(right)].left)
        recount(right)
        return right
    }

    private mutating func recount(_ link: Link) {
        let node = nodes[Int(link)]
        nodes[Int(link)].count = Int32(1 + count(node.left) + count(node.right))
    }

    /// Returns a random number below `bound`, by xorshift, which is random enough to balance the tree.
    private mutating func draw(below bound: Int) -> Int {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return Int(random % UInt64(bound))
    }
}
