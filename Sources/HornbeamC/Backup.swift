// SPDX-License-Identifier: Apache-2.0
// A consistent copy of a store, written beside its readers and its writer: every tree, in key order, as one read
// transaction sees it, into a new store that is therefore packed. The copy gets its name only once it is complete
// and on the medium; whatever fails before, nothing is left behind. Must never write to the store it copies.

import Glibc
import HornbeamPages
import HornbeamTree
import Synchronization

struct Backup {
    private let source: TreeStore
    private let path: String
    /// Where the copy grows: beside its final name, so that it can be linked there.
    private let partialPath: String

    private static let begun = Atomic<UInt32>(0)
    /// Bytes of entries after which the copy commits, to bound the memory that its transaction takes.
    private static let batchSize = 32 << 20

    init(of source: TreeStore, to path: String) {
        self.source = source
        self.path = path
        let number = Self.begun.add(1, ordering: .relaxed).oldValue
        partialPath = "\(path).partial-\(getpid())-\(number)"
    }

    func write() throws(StorageError) {
        // Before the work, for a quick answer; what decides is `link`.
        var status = stat()
        guard lstat(path, &status) != 0 else { throw .exists(path: path) }
        // Left by a crashed process that had our number.
        unlink(partialPath)
        defer { unlink(partialPath) }

        var options = StoreOptions()
        options.pageSize = source.statistics.pageSize
        // Closing the copy makes it durable as a whole.
        options.durability = .none
        let target = try TreeStore.open(at: partialPath, options: options)
        try copyTrees(to: target)
        try target.close()
        try publish()
    }

    private func copyTrees(to target: TreeStore) throws(StorageError) {
        let reader = try source.beginRead()
        defer { reader.abort() }
        var writer = try target.beginWrite()
        var batch = 0
        for name in try reader.treeNames() {
            guard let from = try reader.tree(name), let to = try writer.tree(name, create: true) else { continue }
            var cursor = try reader.cursor(from)
            while try cursor.next() {
                try writer.append(to, cursor.key, cursor.value)
                batch += cursor.key.count + cursor.value.count
                guard batch >= Self.batchSize else { continue }
                try writer.commit()
                writer = try target.beginWrite()
                batch = 0
            }
        }
        try writer.commit()
    }

    /// Gives the copy its name, if that is still free, and makes the name durable.
    private func publish() throws(StorageError) {
        if link(partialPath, path) != 0 {
            let code = errno
            guard code != EEXIST else { throw .exists(path: path) }
            // A file system without hard links; somebody else's file that appears in this instant would be lost.
            var status = stat()
            guard code == EPERM || code == EOPNOTSUPP || code == EMLINK, lstat(path, &status) != 0,
                rename(partialPath, path) == 0
            else { throw .io(operation: "link", path: path, errno: code) }
        }
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .io(operation: "open", path: folder, errno: errno) }
        defer { _ = Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw .io(operation: "fsync", path: folder, errno: errno)
        }
    }
}
