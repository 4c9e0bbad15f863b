// SPDX-License-Identifier: Apache-2.0
// A file whose failures are chosen by the test. It keeps the live image (what the process sees) and, for each sector,
// what a power failure could leave. Every call that changes it is counted; call n can be made to fail or to crash.
//
// Faults it injects, and why the store must survive them
//   crash at call n     the call may have happened in part; no call after it happens
//   lost write          bytes that were never synced need not reach the medium, in any order
//   torn write          of an unsynced sector, any 512-byte parts may be old or new; a write loses its sectors singly
//   lost size           growth that was never synced may be undone
//   lost name           a new file's name is durable only once its directory was synced
//   failed call         EIO, ENOSPC …: a write may have happened in part; a failed sync promises nothing
//   full disk           growth beyond `sizeLimit` is refused
// Bytes that were written through or synced are certain.

import Glibc
package import HornbeamPages

/// One thread at a time.
package final class SimulatedDisk: StoreFile, @unchecked Sendable {
    // Sendable: tests use a disk from one thread.
    package enum Fault: Equatable {
        case crash
        case error(Int32)
    }

    /// When a fault happens.
    package struct Plan {
        package var call: Int
        package var fault: Fault
        /// Every later call of the same kind fails too.
        package var isLasting: Bool

        package init(call: Int, fault: Fault, isLasting: Bool = false) {
            self.call = call
            self.fault = fault
            self.isLasting = isLasting
        }
    }

    private enum Name { case none, linked, durable }

    package let path = "simulated disk"
    package let isDurable = true
    private let memory: Mapping
    package var mapping: Mapping? { memory }
    package var maximumBytes: Int { memory.capacity }
    /// Calls that changed or synced something.
    package private(set) var calls = 0
    package private(set) var hasCrashed = false
    package var plan: Plan?
    package var sizeLimit = UInt64.max

    private var liveSize: UInt64
    private var durableBytes: [UInt8]
    /// Of each sector the contents since it was last durable, oldest first.
    private var unsynced: [UInt64: [[UInt8]]] = [:]
    private var name: Name

    private static let sectorSize = 4096

    /// A disk with a file of these bytes, or without a file yet.
    package init(image: [UInt8]? = nil) throws(StorageError) {
        memory = try Mapping(descriptor: -1, wanted: 1 << 28, minimum: 1 << 28, path: "simulated disk")
        durableBytes = image ?? []
        liveSize = UInt64(durableBytes.count)
        name = image == nil ? .none : .durable
        let base = memory.base
        durableBytes.withUnsafeBytes { if let source = $0.baseAddress { memcpy(base, source, $0.count) } }
    }

    // MARK: The seam

    package func size() -> UInt64 { liveSize }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) {
        precondition(offset + UInt64(buffer.count) <= liveSize, "a read beyond the end of the file")
        buffer.copyMemory(from: UnsafeRawBufferPointer(start: memory.base + Int(offset), count: buffer.count))
    }

    package func startWriteBack(at offset: UInt64, count: UInt64) {}

    package func write(_ bytes: Bytes, at offset: UInt64) throws(StorageError) {
        try begin("write") { part in put(bytes, at: offset, part: part) }
        put(bytes, at: offset, part: 1)
    }

    package func writeThrough(_ bytes: Bytes, at offset: UInt64) throws(StorageError) {
        try begin("write through") { part in put(bytes, at: offset, part: part) }
        put(bytes, at: offset, part: 1)
        for sector in sectors(bytes.count, offset) { settle(sector) }
    }

    package func sync() throws(StorageError) {
        try begin("sync") { _ in }
        settleSize()
        for sector in unsynced.keys.sorted() { settle(sector) }
    }

    package func grow(to size: UInt64) throws(StorageError) {
        try begin("grow") { part in if part > 0, size <= sizeLimit { liveSize = size } }
        guard size <= sizeLimit, size <= UInt64(memory.capacity) else { throw .full(path: path) }
        liveSize = max(liveSize, size)
    }

    package func shrink(to size: UInt64) throws(StorageError) {
        try begin("shrink") { part in if part > 0 { cut(to: size) } }
        cut(to: size)
    }

    /// Cut off at once in the live file; the medium may keep the old end until a sync.
    private func cut(to size: UInt64) {
        guard size < liveSize else { return }
        memset(memory.base + Int(size), 0, Int(liveSize - size))
        unsynced = unsynced.filter { $0.key < size / UInt64(Self.sectorSize) }
        liveSize = size
    }

    package func giveName() throws(StorageError) {
        guard name == .none else { return }
        try begin("link") { part in if part > 0 { name = .linked } }
        name = .linked
        try begin("sync of the directory") { _ in }
        name = .durable
    }

    package func close() {}

    /// Counts a call and lets the plan strike. `half` does a part of the call: more or less than half of it.
    private func begin(_ operation: String, half: (Double) -> Void) throws(StorageError) {
        guard !hasCrashed else { throw .io(operation: operation, path: path, errno: EIO) }
        calls += 1
        guard let plan, calls == plan.call || (plan.isLasting && calls > plan.call) else { return }
        switch plan.fault {
        case .crash:
            // What is under way may reach the medium whole or in part: all of it becomes an unsynced version.
            half(1)
            hasCrashed = true
            throw .io(operation: operation, path: path, errno: EIO)
        case .error(let code):
            if code == ENOSPC { throw .full(path: path) }
            half(0.5)
            throw .io(operation: operation, path: path, errno: code)
        }
    }

    // MARK: Images

    private func sectors(_ count: Int, _ offset: UInt64) -> Range<UInt64> {
        precondition(count % Self.sectorSize == 0 && offset % UInt64(Self.sectorSize) == 0, "whole sectors")
        precondition(offset + UInt64(count) <= liveSize, "a write beyond the end of the file")
        let first = offset / UInt64(Self.sectorSize)
        return first..<first + UInt64(count / Self.sectorSize)
    }

    private func put(_ bytes: Bytes, at offset: UInt64, part: Double) {
        let all = sectors(bytes.count, offset)
        for sector in all.prefix(Int(Double(all.count) * part)) {
            let start = Int(sector - all.lowerBound) * Self.sectorSize
            guard let source = bytes.baseAddress.map({ $0 + start }) else { continue }
            unsynced[sector, default: []].append(Self.copy(source, Self.sectorSize))
            memcpy(memory.base + Int(sector) * Self.sectorSize, source, Self.sectorSize)
        }
    }

    /// An array by one memcpy, whatever the build.
    private static func copy(_ source: UnsafeRawPointer, _ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            if let target = buffer.baseAddress { memcpy(target, source, count) }
            initialized = count
        }
    }

    private func settleSize() {
        if durableBytes.count > Int(liveSize) { durableBytes.removeLast(durableBytes.count - Int(liveSize)) }
        if durableBytes.count < Int(liveSize) {
            durableBytes += [UInt8](repeating: 0, count: Int(liveSize) - durableBytes.count)
        }
    }

    private func settle(_ sector: UInt64) {
        guard let newest = unsynced.removeValue(forKey: sector)?.last else { return }
        // A durable write beyond the durable end makes the size durable too.
        if (Int(sector) + 1) * Self.sectorSize > durableBytes.count { settleSize() }
        replace(sector, with: newest, in: &durableBytes)
    }

    private func replace(_ sector: UInt64, with content: [UInt8], in image: inout [UInt8]) {
        let start = Int(sector) * Self.sectorSize
        image.withUnsafeMutableBytes { target in
            content.withUnsafeBytes { source in
                if let to = target.baseAddress, let from = source.baseAddress {
                    _ = memcpy(to + start, from, source.count)
                }
            }
        }
    }

    /// What the file may hold after a power failure now; nil: no file. Each seed is another possibility.
    package func powerLossImage(seed: UInt64) -> [UInt8]? {
        var generator = SeededGenerator(seed: seed)
        if name == .none || (name == .linked && Bool.random(using: &generator)) { return nil }
        var image = durableBytes
        if image.count < Int(liveSize), Bool.random(using: &generator) {
            image += [UInt8](repeating: 0, count: Int(liveSize) - image.count)
        }
        // Some failures lose nearly all, some nearly nothing.
        let keep = [0.1, 0.5, 0.9][Int.random(in: 0..<3, using: &generator)]
        for (sector, versions) in unsynced.sorted(by: { $0.key < $1.key }) {
            guard (Int(sector) + 1) * Self.sectorSize <= image.count else { continue }
            let old = Array(image[Int(sector) * Self.sectorSize..<(Int(sector) + 1) * Self.sectorSize])
            var content = old
            if Double.random(in: 0..<1, using: &generator) < keep {
                content = versions[Int.random(in: 0..<versions.count, using: &generator)]
            }
            if Int.random(in: 0..<4, using: &generator) == 0 {
                let other = ([old] + versions)[Int.random(in: 0...versions.count, using: &generator)]
                for part in 0..<8 where Bool.random(using: &generator) {
                    content.replaceSubrange(part * 512..<(part + 1) * 512, with: other[part * 512..<(part + 1) * 512])
                }
            }
            replace(sector, with: content, in: &image)
        }
        return image
    }

    /// What the file holds after the process was killed: all that it wrote; nil: no file.
    package func killedImage() -> [UInt8]? {
        guard name != .none else { return nil }
        return Self.copy(memory.base, Int(liveSize))
    }
}
