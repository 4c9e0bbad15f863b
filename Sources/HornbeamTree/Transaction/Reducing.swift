// SPDX-License-Identifier: Apache-2.0
// Reads the reduced value of a range of keys.

package import HornbeamPages

extension Transaction {
    /// Returns the reduced value of the entries in [from, to); an empty bound is an open end. Takes O(log n) time.
    /// Throws `.invalid` if the tree has no reduction or one whose values may be absent, `.unsupported` if the program
    /// doesn't know it.
    package func reduce(_ tree: TreeID, from: Bytes, to: Bytes) throws(StorageError) -> [UInt8] {
        try reduceCounting(tree, from: from, to: to).value
    }

    package func reduce(_ tree: TreeID, from: [UInt8] = [], to: [UInt8] = []) throws(StorageError) -> [UInt8] {
        try from.withBytes { (a) throws(StorageError) in
            try to.withBytes { (b) throws(StorageError) in try reduce(tree, from: a, to: b) }
        }
    }

    /// Returns the reduced value of a range, and the number of nodes read for it.
    func reduceCounting(
        _ tree: TreeID, from: Bytes, to: Bytes
    ) throws(StorageError) -> (value: [UInt8], nodesRead: Int) {
        let open = try opened(tree)
        guard open.pointee.reductionSize > 0 else { throw .invalid("the tree was created without a reduction") }
        guard let reduction = open.pointee.reduction else { throw unknownReduction(open) }
        guard !reduction.isOptional else { throw .invalid("the tree's reduced values may be missing: fold the tree") }
        if let failure { throw failure }
        return try answer(open) { () throws(StorageError) in
            try writer?.settleReductions(open)
            let root = open.pointee.root
            guard !root.isEmpty, from.isEmpty || to.isEmpty || from.order(to) < 0 else {
                return (reduction.identity, 0)
            }
            let fold = ReductionFold(reduction, tree: tree.rawValue, view: view)
            let target = UnsafeMutableRawPointer.allocate(byteCount: reduction.size, alignment: 16)
            defer { target.deallocate() }
            fold.start(target)
            try fold.add(
                ChildRecord(page: root.page, birth: root.birth, count: root.count), level: root.level,
                from: from.isEmpty ? nil : from, to: to.isEmpty ? nil : to, to: target)
            return (Array(Bytes(start: target, count: reduction.size)), fold.nodesRead)
        }
    }

    func unknownReduction(_ tree: OpenTreePointer) -> StorageError {
        let name = String(decoding: tree.pointee.stored.options.reduction, as: UTF8.self)
        let owner = String(decoding: tree.pointee.name, as: UTF8.self)
        return .unsupported(
            "tree “\(owner)” is kept with the reduction “\(name)”, which this program doesn't know: "
                + "open the store with it")
    }
}

extension Transaction {
    /// Passes the entries of [from, to) to `folder`, in order, as entries and as stored reduced values; an empty bound
    /// is an open end. Reads O(log n) nodes if no value is absent.
    /// - Returns: the number of nodes read.
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

    /// Computes the reduced values that programs without the reduction have left unknown. The store must have been
    /// given the reduction before this transaction first opened the tree.
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
        // Any change of a leaf makes the values on its path stale, so that they are computed again.
        for key in keys {
            try key.withBytes { (key) throws(StorageError) in
                guard let value = try get(tree, key).map({ Array($0) }) else { return }
                try value.withBytes { (value) throws(StorageError) in try put(tree, key, value) }
            }
        }
    }
}
