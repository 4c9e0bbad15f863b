// SPDX-License-Identifier: Apache-2.0
// Backups cut by a power failure: at each call to the new file there is either no file of that name, or the whole copy.
// A backup whose calls fail ends with an error, and the store it copies isn't affected.

import Glibc
import HornbeamPages
import HornbeamTestSupport
import HornbeamTree

package enum BackupProof {
    private final class Cuts: @unchecked Sendable {
        // Sendable: used in the one thread that makes the backup.
        var images: [DiskImage] = []
        var random: SeededGenerator
        init(seed: UInt64) { random = SeededGenerator(seed: seed) }
    }

    /// A backup of a store whose content is larger than its file.
    package static func ofCompressedStore(seed: UInt64) throws {
        var model = ModelStore()
        let disk = try SimulatedDisk()
        let store = try Workload.open(disk, Workload.options(seed: seed))
        let write = try store.beginWrite()
        defer { write.abort() }
        guard let tree = try write.tree("text", create: true, options: TreeOptions(isCompressed: true)) else { return }
        var entries: [ModelStore.Key: [UInt8]] = [:]
        var random = SeededGenerator(seed: seed)
        for number in 0..<6000 {
            let key = withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
            let value = random.bytes(8) + [UInt8](repeating: UInt8(number & 0xFF), count: 900 + random.below(200))
            try write.append(tree, key, value)
            entries[key] = value
        }
        model.trees["text"] = entries
        try write.commit()
        try expect(store.statistics.fileBytes < 6000 * 900, "it doesn\u{2019}t compress")
        try run(store, digest: model.digest, seed: seed)
    }

    /// Makes a backup of a store whose content has the digest.
    static func run(_ store: TreeStore, digest: UInt64, seed: UInt64) throws {
        let cuts = Cuts(seed: seed)
        let target = try SimulatedDisk()
        target.whenCalled = { disk in
            let image = disk.image(after: PowerLoss(seed: cuts.random.next(), hasGarbage: true))
            if let image { cuts.images.append(image) }
            if let image = disk.imageAfterKill() { cuts.images.append(image) }
        }
        _ = try store.backup(to: target)
        target.whenCalled = nil
        guard let whole = target.image(after: PowerLoss(seed: seed)) else {
            throw ProofFailure("a backup without a name")
        }
        for image in cuts.images + [whole] {
            let copy = try Workload.open(try SimulatedDisk(image))
            try expect(try copy.digest() == digest, "a backup differs from what it copies")
            try Workload.expectSound(copy, "the backup\u{2019}s check")
        }
        try fail(store, calls: target.calls, digest: digest, seed: seed)
    }

    private static func fail(_ store: TreeStore, calls: Int, digest: UInt64, seed: UInt64) throws {
        let target = try SimulatedDisk()
        let code = [EIO, ENOSPC][Int(seed % 2)]
        target.plan = SimulatedDisk.Plan(call: 1 + Int(seed % UInt64(calls)), fault: .error(code))
        do {
            _ = try store.backup(to: target)
            // A second attempt succeeded after the failing call, as for a header slot: then the copy is whole.
            let copy = try Workload.open(try SimulatedDisk(target.imageAfterKill()))
            try expect(try copy.digest() == digest, "a backup that hides an error")
        } catch let error as StorageError {
            if case .failed = error {
                throw ProofFailure("a backup whose error reads as the store\u{2019}s own: \(error)")
            }
        }
        try expect(try store.digest() == digest, "a failed backup changed the store")
    }
}
