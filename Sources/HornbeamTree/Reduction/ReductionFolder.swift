// SPDX-License-Identifier: Apache-2.0
// Reductions whose values may be absent. A branch keeps a child's reduced value if the program that changed the child
// knew the reduction and the value fits; otherwise it says that there is none, and who folds a range reads what lies
// below. So a tree stays right when a program changes it, or recovers it, without the code of its reduction.

package import HornbeamPages

/// Condenses entries and reduced values, in the order of their keys, to a value of the program's own. Must give the
/// same bytes for the same input, as `Reduction` says; associative, and need not be commutative. Belongs to one thread.
///
/// It must take any bytes for an entry and for a reduced value: they may come from a damaged file. What it can't read
/// it notes, and then `write` gives nothing.
package protocol ReductionFolder: AnyObject {
    /// Whether it looks at keys; they are empty otherwise.
    var needsKeys: Bool { get }
    /// Forgets what was added.
    func start()
    func add(key: Bytes, value: Bytes)
    /// Adds what another folder has written, with the zeros behind it.
    func add(reduced: Bytes)
    /// Writes what was added to memory that is all zero; false if it doesn't fit or can't be told.
    func write(to target: UnsafeMutableRawBufferPointer) -> Bool
}

extension ReductionFolder {
    package var needsKeys: Bool { true }
}

/// What the first byte of an optional reduced value says.
enum ReducedState: UInt8 {
    /// There is none: a program changed what lies below without knowing the reduction.
    case unknown = 0
    /// It follows.
    case present = 1
    /// There is none: it would be larger than the room for it.
    case tooLarge = 2

    /// Of bytes of any content: what is none of these counts as unknown.
    init(_ reduced: Bytes) { self = reduced.first.flatMap { ReducedState(rawValue: $0) } ?? .unknown }
}

extension ReductionFold {
    /// The reduced value behind a child record, its state first.
    private func reduced(_ node: NodeView, _ index: Int) -> Bytes {
        Bytes(start: node.cell(index).value + NodeLayout.childSize, count: reduction.size)
    }

    /// Writes what all entries below a node come to, or that it isn't known.
    func foldOptional(_ node: NodeView, level: Int, into target: UnsafeMutableRawPointer) throws(StorageError) {
        target.initializeMemory(as: UInt8.self, repeating: 0, count: reduction.size)
        guard let folder else { return }
        folder.start()
        if level == 0 {
            try forEachEntry(node, 0..<node.count, withKeys: folder.needsKeys) { (key, value) in
                folder.add(key: key, value: value)
            }
        } else {
            var state = ReducedState.present
            for index in 0..<node.count {
                switch ReducedState(reduced(node, index)) {
                case .present: continue
                case .unknown: return
                case .tooLarge: state = .tooLarge
                }
            }
            guard state == .present else { return target.storeBytes(of: state.rawValue, as: UInt8.self) }
            for index in 0..<node.count { folder.add(reduced: Bytes(rebasing: reduced(node, index).dropFirst())) }
        }
        let room = UnsafeMutableRawBufferPointer(start: target + 1, count: reduction.size - 1)
        let isWritten = folder.write(to: room)
        if !isWritten { room.initializeMemory(as: UInt8.self, repeating: 0) }
        target.storeBytes(of: (isWritten ? ReducedState.present : .tooLarge).rawValue, as: UInt8.self)
    }

    /// Gives the folder what the entries of [from, to) below a node come to; nil is an open end. Goes below a child
    /// only if a bound falls into it, or if its value is absent.
    fileprivate func gather(
        _ record: ChildRecord, level: Int, from: Bytes?, to: Bytes?, into folder: any ReductionFolder
    ) throws(StorageError) {
        let mark = view.heldMark
        defer { view.letGo(to: mark) }
        let node = try node(record, level: level)
        guard level > 0 else {
            return try forEachEntry(node, Self.entries(node, from, to), withKeys: folder.needsKeys) { (key, value) in
                folder.add(key: key, value: value)
            }
        }
        let left = from.map { node.childIndex($0) } ?? 0
        let right = to.map { node.childIndex($0) } ?? node.count - 1
        guard left <= right else { return }
        for index in left...right {
            let low = index == left ? from : nil
            let high = index == right ? to : nil
            if low == nil, high == nil, ReducedState(reduced(node, index)) == .present {
                folder.add(reduced: Bytes(rebasing: reduced(node, index).dropFirst()))
            } else {
                try gather(node.child(index), level: level - 1, from: low, to: high, into: folder)
            }
        }
    }

    /// Whether a child's value is unknown; one that is further below makes those above it so.
    fileprivate func hasUnknown(_ record: ChildRecord, level: Int) throws(StorageError) -> Bool {
        let mark = view.heldMark
        defer { view.letGo(to: mark) }
        let node = try node(record, level: level)
        return (0..<node.count).contains { ReducedState(reduced(node, $0)) == .unknown }
    }

    /// For each value below a node that isn't known, the first key of a leaf that it stands above: of the leaf itself,
    /// or of any if those below are known.
    fileprivate func unknownLeaves(
        _ record: ChildRecord, level: Int, into keys: inout [[UInt8]]
    ) throws(StorageError) {
        guard level > 0 else { return }
        let mark = view.heldMark
        defer { view.letGo(to: mark) }
        let node = try node(record, level: level)
        for index in 0..<node.count where ReducedState(reduced(node, index)) == .unknown {
            if level == 1 {
                let leaf = try self.node(node.child(index), level: 0)
                if leaf.count > 0 { keys.append(leaf.keyBytes(0)) }
            } else {
                let known = keys.count
                try unknownLeaves(node.child(index), level: level - 1, into: &keys)
                if keys.count == known, let key = try firstKey(node.child(index), level: level - 1) { keys.append(key) }
            }
        }
    }

    private func firstKey(_ record: ChildRecord, level: Int) throws(StorageError) -> [UInt8]? {
        let mark = view.heldMark
        defer { view.letGo(to: mark) }
        let node = try node(record, level: level)
        guard node.count > 0 else { return nil }
        return level == 0 ? node.keyBytes(0) : try firstKey(node.child(0), level: level - 1)
    }
}

extension Transaction {
    /// Gives `folder` what the entries of [from, to) come to, in order, as entries and as values that the tree keeps;
    /// an empty bound is an open end. Reads O(log n) nodes where no value is absent.
    /// - Returns: how many nodes were looked at.
    @discardableResult
    package func fold(
        _ tree: TreeID, from: Bytes, to: Bytes, into folder: any ReductionFolder
    ) throws(StorageError) -> Int {
        let open = try opened(tree)
        guard let reduction = open.pointee.reduction, reduction.isOptional else {
            throw .invalid("the tree was created without a reduction whose values may be absent")
        }
        if let failure { throw failure }
        return try answer(open) { () throws(StorageError) in
            try writer?.settleReductions(open)
            let root = open.pointee.root
            guard !root.isEmpty, from.isEmpty || to.isEmpty || from.order(to) < 0 else { return 0 }
            let fold = ReductionFold(reduction, tree: tree.rawValue, view: view, folder: folder)
            try fold.gather(
                ChildRecord(page: root.page, birth: root.birth, count: root.count), level: root.level,
                from: from.isEmpty ? nil : from, to: to.isEmpty ? nil : to, into: folder)
            return fold.nodesRead
        }
    }

    /// Whether programs without the tree's reduction have left reduced values unknown. Reads one node.
    package func lacksReductions(_ tree: TreeID) throws(StorageError) -> Bool {
        let open = try opened(tree)
        guard let reduction = open.pointee.reduction, reduction.isOptional else { return false }
        return try answer(open) { () throws(StorageError) in
            try writer?.settleReductions(open)
            let root = open.pointee.root
            guard !root.isEmpty, root.level > 0 else { return false }
            let fold = ReductionFold(reduction, tree: tree.rawValue, view: view)
            let record = ChildRecord(page: root.page, birth: root.birth, count: root.count)
            return try fold.hasUnknown(record, level: root.level)
        }
    }

    /// Computes the reduced values that programs without the reduction have left unknown. The reduction must have been
    /// given to the store before this transaction first looked at the tree.
    package func completeReductions(_ tree: TreeID) throws(StorageError) {
        let open = try opened(tree)
        guard let reduction = open.pointee.reduction, reduction.isOptional, reduction.makeFolder != nil else { return }
        let keys = try answer(open) { () throws(StorageError) in
            try writer?.settleReductions(open)
            var keys: [[UInt8]] = []
            let root = open.pointee.root
            guard !root.isEmpty else { return keys }
            let fold = ReductionFold(reduction, tree: tree.rawValue, view: view)
            try fold.unknownLeaves(
                ChildRecord(page: root.page, birth: root.birth, count: root.count), level: root.level, into: &keys)
            return keys
        }
        // Any change of a leaf has the values on its path computed anew.
        for key in keys {
            try key.withBytes { (key) throws(StorageError) in
                guard let value = try get(tree, key).map({ Array($0) }) else { return }
                try value.withBytes { (value) throws(StorageError) in try put(tree, key, value) }
            }
        }
    }
}
