// SPDX-License-Identifier: Apache-2.0
// The certain content of a simulated disk's medium, the writes on their way, and the files that a power failure could
// leave.

import Synchronization

extension SimulatedDisk {
    enum Name { case none, linked, durable }

    /// The disk's state, guarded by its lock.
    struct State: ~Copyable {
        var operations: [Operation] = []
        var hasCrashed = false
        var plan: Plan? {
            didSet { struck = [] }
        }
        /// The calls that failed by the plan.
        var struck: [Operation] = []
        var sizeLimit = UInt64.max
        var unreadable: Range<UInt64>?
        var whenCalled: (@Sendable (SimulatedDisk) -> Void)?
        var name: Name
        var liveSectors: UInt64

        /// The certain content.
        var durable: DiskImage
        /// The contents of each sector since it was last certain, oldest first.
        var unsynced: [UInt64: [Version]] = [:]
        /// Contents of sectors whose sync failed: the medium may have any of them, and no sync tries again.
        var abandoned: [UInt64: [DiskImage.Sector]] = [:]
        /// The file's sizes since its size was last certain, with the number of the call.
        var sizes: [(moment: Int, sectors: UInt64)] = []

        /// A write of a sector by a call; `moment` is the call's number.
        struct Version {
            var moment: Int
            var content: DiskImage.Sector
        }

        init(_ image: DiskImage?) {
            durable = image ?? DiskImage([])
            liveSectors = durable.sectors
            name = image == nil ? .none : .durable
        }
    }
}

extension SimulatedDisk.State {
    var liveBytes: UInt64 { liveSectors * UInt64(DiskImage.sectorSize) }

    /// Returns the fault of the call that was just counted.
    mutating func dueFault(_ operation: SimulatedDisk.Operation) -> SimulatedDisk.Fault? {
        guard let plan, operations.count >= plan.call, plan.operations?.contains(operation) ?? true,
            plan.isLasting || struck.isEmpty
        else { return nil }
        struck.append(operation)
        return plan.fault
    }

    mutating func resize(sectors: UInt64) {
        if sectors < liveSectors {
            unsynced = unsynced.filter { $0.key < sectors }
            abandoned = abandoned.filter { $0.key < sectors }
        }
        liveSectors = sectors
        sizes.append((operations.count, sectors))
    }

    mutating func settleSize(until moment: Int) {
        while let first = sizes.first, first.moment <= moment {
            durable.resize(first.sectors)
            sizes.removeFirst()
        }
    }

    /// Makes writes to the sector up to `moment` certain, but not later ones by other threads.
    mutating func settle(_ sector: UInt64, until moment: Int) {
        // If there are no versions, another thread has cut the sector off meanwhile.
        guard var versions = unsynced[sector], let count = versions.lastIndex(where: { $0.moment <= moment }) else {
            return
        }
        abandoned[sector] = nil
        // A durable write beyond the durable end makes the size durable too.
        if sector >= durable.sectors { settleSize(until: .max) }
        durable[sector] = versions[count].content
        versions.removeFirst(count + 1)
        unsynced[sector] = versions.isEmpty ? nil : versions
    }

    mutating func settleAll(until moment: Int) {
        settleSize(until: moment)
        for sector in unsynced.keys { settle(sector, until: moment) }
    }

    /// Handles a failed sync: as on Linux, its pending writes count as written.
    mutating func abandon() {
        for (sector, versions) in unsynced { abandoned[sector, default: []] += versions.map(\.content) }
        unsynced.removeAll()
    }

    /// Returns the live content.
    func live() -> DiskImage {
        var image = durable
        for size in sizes { image.resize(size.sectors) }
        for (sector, versions) in abandoned { if let newest = versions.last { image[sector] = newest } }
        for (sector, versions) in unsynced { if let newest = versions.last { image[sector] = newest.content } }
        return image
    }
}

// MARK: - Images

/// The effects of a power failure beyond losing uncertain writes.
package struct PowerLoss: Sendable {
    /// The number that determines the failure.
    package var seed: UInt64
    /// Sectors that were being written may hold anything.
    package var hasGarbage: Bool
    /// A sector next to a sector being written is destroyed. No store can always survive this; it must be reported.
    package var losesNeighbour: Bool

    package init(seed: UInt64, hasGarbage: Bool = false, losesNeighbour: Bool = false) {
        self.seed = seed
        self.hasGarbage = hasGarbage
        self.losesNeighbour = losesNeighbour
    }
}

extension SimulatedDisk {
    /// Returns a possible file after a power failure now, or nil for no file.
    package func image(after loss: PowerLoss) -> DiskImage? {
        state.withLock { state in
            var random = SeededGenerator(seed: loss.seed)
            if state.name == .none || (state.name == .linked && random.oneIn(2)) { return nil }
            var image = state.durable
            for size in state.sizes.prefix(random.below(state.sizes.count + 1)) { image.resize(size.sectors) }
            // Some failures lose nearly all writes, some nearly none.
            let keep = [10, 50, 90][random.below(3)]
            var uncertain = state.abandoned
            uncertain.merge(state.unsynced.mapValues { $0.map(\.content) }) { $0 + $1 }
            let sectors = uncertain.keys.sorted()
            for sector in sectors where sector < image.sectors {
                image[sector] = Self.outcome(image[sector], uncertain[sector] ?? [], keep, loss.hasGarbage, &random)
            }
            if loss.losesNeighbour, let hit = sectors.isEmpty ? nil : sectors[random.below(sectors.count)] {
                let beside = hit == 0 || random.oneIn(2) ? hit + 1 : hit - 1
                if uncertain[beside] == nil { image[beside] = random.bytes(DiskImage.sectorSize) }
            }
            return image
        }
    }

    /// Returns a possible content of an uncertain sector.
    private static func outcome(
        _ old: DiskImage.Sector, _ versions: [DiskImage.Sector], _ keep: Int, _ hasGarbage: Bool,
        _ random: inout SeededGenerator
    ) -> DiskImage.Sector {
        var content = random.below(100) < keep ? versions[random.below(versions.count)] : old
        guard random.oneIn(4) else { return content }
        let choice = random.below(versions.count + 1)
        var other = choice == 0 ? old : versions[choice - 1]
        if hasGarbage, random.oneIn(2) { other = random.bytes(DiskImage.sectorSize) }
        for part in 0..<8 where random.oneIn(2) {
            content.replaceSubrange(part * 512..<(part + 1) * 512, with: other[part * 512..<(part + 1) * 512])
        }
        return content
    }

    /// Returns the file after the process was killed, with all its writes, or nil for no file.
    package func imageAfterKill() -> DiskImage? {
        state.withLock { $0.name == .none ? nil : $0.live() }
    }

    /// Returns `image(after:)` as bytes, with effects chosen by a seed.
    package func powerLossImage(seed: UInt64) -> [UInt8]? { image(after: PowerLoss(seed: seed))?.bytes }

    /// Returns `imageAfterKill` as bytes.
    package func killedImage() -> [UInt8]? { imageAfterKill()?.bytes }
}
