// SPDX-License-Identifier: Apache-2.0
// Reductions whose values may be absent. A branch has a child's reduced value if the program that changed the child
// knew the reduction and the value fits. Otherwise it has a mark that there is none, and folding a range reads the
// nodes below. So a tree stays right if a program changes it, or recovers it, without the code of its reduction.

import HornbeamPages

/// The first byte of an optional reduced value.
enum ReducedState: UInt8 {
    /// There is no value: a program changed the subtree without knowing the reduction.
    case unknown = 0
    /// The value follows.
    case present = 1
    /// There is no value: it would be too large.
    case tooLarge = 2

    /// Reads bytes of any content. Bytes without a known meaning count as unknown.
    init(_ reduced: Bytes) { self = reduced.first.flatMap { ReducedState(rawValue: $0) } ?? .unknown }
}

extension ReductionFold {
    /// The reduced value after a child record, its state first.
    private func reduced(_ node: NodeView, _ index: Int) -> Bytes {
        Bytes(start: node.cell(index).value + NodeLayout.childSize, count: reduction.size)
    }

    /// Writes the reduced value of all entries below a node, or that it isn't known.
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

    /// Adds the reduced entries of [from, to) below a node to the folder; nil is an open end. Reads below a child only
    /// if a bound is in it, or if its value is absent.
    func gather(
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

    /// Whether a child's value is unknown. An unknown value makes those above it unknown too.
    func hasUnknown(_ record: ChildRecord, level: Int) throws(StorageError) -> Bool {
        let mark = view.heldMark
        defer { view.letGo(to: mark) }
        let node = try node(record, level: level)
        return (0..<node.count).contains { ReducedState(reduced(node, $0)) == .unknown }
    }

    /// Collects, for each unknown value below a node, the first key of a leaf below it: of the child leaf itself, or of
    /// any leaf if the values below it are known.
    func unknownLeaves(
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
