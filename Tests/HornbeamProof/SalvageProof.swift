// SPDX-License-Identifier: Apache-2.0
// Salvage of files left by a crash. Without other damage, it gives the recovered content and reports the file as
// whole. With other damage, it invents no entry, and reports the file as whole only if it is.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree

enum SalvageProof {
    /// Salvages an image. `digest` is that of the state that recovery finds.
    static func run(_ image: DiskImage, digest: UInt64) throws {
        let (report, store) = try salvage(image)
        try expect(isWhole(report), "salvage misses something of a file that is whole: \(report.losses)")
        try expect(try store.digest() == digest, "salvage of a crash image differs from its recovery")
    }

    /// Salvages an image with one destroyed sector. `states` are all former states of the store.
    static func runDamaged(_ image: DiskImage, states: [ModelStore], seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var image = image
        let sector = random.oneIn(2) ? random.below(image.sectorCount) : random.below(600)
        guard sector < image.sectorCount else { return }
        // The crash may have torn one header slot, and the other one then has the only keys of an encrypted store.
        if sector < 2, keys(in: image[0]) != keys(in: image[1]) { return }
        image[UInt64(sector)] = random.oneIn(2) ? DiskImage.zeros : random.bytes(DiskImage.sectorSize)
        do {
            let (report, store) = try salvage(image)
            let found = try Workload.model(of: store)
            if isWhole(report), states.contains(found) { return }
            try expect(!isWhole(report), "salvage of sector \(sector) damaged calls a state whole that never was")
            for (name, entries) in found.trees where !name.hasPrefix("recovered-") {
                for (key, value) in entries {
                    let wasThere = states.contains { $0.trees[name]?[key] == value }
                    try expect(wasThere, "salvage of sector \(sector) damaged gives \(name) an entry that never was")
                }
            }
        } catch StorageError.notAStore {
            // A single destroyed sector can't take both header slots.
            throw ProofFailure("salvage finds no store with sector \(sector) damaged")
        }
    }

    /// The parts of a header slot that salvage needs to find the keys: magic, features, identifier, key slots.
    private static func keys(in slot: DiskImage.Sector) -> [UInt8] {
        [0..<8, 24..<48, 512..<1488].flatMap { slot[$0] }
    }

    /// Returns whether the report is of a whole file, apart from reductions, which only the workload knows.
    private static func isWhole(_ report: SalvageReport) -> Bool {
        var report = report
        for index in report.trees.indices { report.trees[index].lostReduction = nil }
        return report.isWhole
    }

    private static func salvage(_ image: DiskImage) throws -> (SalvageReport, TreeStore) {
        let target = try SimulatedDisk()
        let file = try Workload.damagedFile(try SimulatedDisk(image))
        let report = try Salvage.run(file, to: target) { () throws(StorageError) in try target.giveName() }
        let store = try Workload.open(try SimulatedDisk(target.imageAfterKill()))
        try Workload.expectSound(store, "check of what was salvaged")
        return (report, store)
    }
}
