// SPDX-License-Identifier: Apache-2.0
// A file whose failures the test chooses. It keeps the live image (as the process sees it) and, for each sector, the
// possible contents after a power failure. Every call that changes or syncs something is counted; call n can fail or
// crash, or a test can examine the disk in the middle of each call. Any thread may call.
//
// Faults it injects, and why the store must survive them
//   crash at call n     the call may have happened in part; no call after it happens
//   lost write          bytes that were never synced need not reach the medium, in any order
//   torn write          of an unsynced sector, any 512-byte parts may be old or new; a write loses its sectors singly
//   garbage             a sector that was being written holds anything at all
//   lost neighbour      only on request: a write in progress destroys the sector beside it (reported, not survived)
//   lost size           growth or shrinking that was never synced may be undone
//   lost name           a new file's name is durable only once its directory was synced
//   failed call         EIO, ENOSPC …: a write may have happened in part, or as a whole
//   failed sync         its data counts as clean and is never written again, though the process still sees
//                       it; a failed write-through does that to its own bytes and to any others that were waiting
//   failed read         of chosen sectors
//   full disk           growth beyond `sizeLimit` is refused
//   no memory beyond    reading beyond the file's end is a fault of the machine, as in a real mapping
// Bytes that were written through or synced are certain.

import Glibc
package import HornbeamPages
import Synchronization

/// A file on a disk that fails as planned.
package final class SimulatedDisk: StoreFile, @unchecked Sendable {
    // Sendable: `state` is guarded by a lock; `mapping` is constant, and its memory follows the engine's own rules.

    package enum Fault: Equatable, Sendable {
        case crash
        case error(Int32)
    }

    /// The calls that are counted.
    package enum Operation: String, CaseIterable, Sendable {
        case write, writeThrough, sync, grow, shrink, link, directorySync
    }

    /// When a fault happens: at call `call`, or the first one after it of the given kinds.
    package struct Plan: Sendable {
        package var call: Int
        package var fault: Fault
        /// Whether every later call fails too.
        package var isLasting: Bool
        /// The kinds of calls that fail; nil for all.
        package var operations: Set<Operation>?
        /// The part of a failing write that the process sees afterwards, from 0 (nothing) to 1 (all of it).
        package var part: Double

        package init(
            call: Int, fault: Fault, isLasting: Bool = false, operations: Set<Operation>? = nil, part: Double = 0.5
        ) {
            self.call = call
            self.fault = fault
            self.isLasting = isLasting
            self.operations = operations
            self.part = part
        }
    }

    package let path = "simulated disk"
    package let isDurable = true
    let memory: Mapping
    package var mapping: Mapping? { memory }
    package var maximumBytes: Int { memory.capacity }
    let state: Mutex<State>

    /// Called in the middle of each counted call, which may have reached the medium in part or whole and isn't
    /// certain yet. The images of a power failure are then those of a crash at this call.
    package var whenCalled: (@Sendable (SimulatedDisk) -> Void)? {
        get { state.withLock { $0.whenCalled } }
        set { state.withLock { $0.whenCalled = newValue } }
    }

    /// Number of calls that changed or synced something.
    package var calls: Int { state.withLock { $0.operations.count } }
    /// All counted calls, in order.
    package var operations: [Operation] { state.withLock { $0.operations } }
    /// The calls that failed by the present plan.
    package var struck: [Operation] { state.withLock { $0.struck } }
    package var hasCrashed: Bool { state.withLock { $0.hasCrashed } }
    package var plan: Plan? {
        get { state.withLock { $0.plan } }
        set { state.withLock { $0.plan = newValue } }
    }
    package var sizeLimit: UInt64 {
        get { state.withLock { $0.sizeLimit } }
        set { state.withLock { $0.sizeLimit = newValue } }
    }
    /// Sectors that can't be read by `read(into:at:)`.
    package var unreadable: Range<UInt64>? {
        get { state.withLock { $0.unreadable } }
        set { state.withLock { $0.unreadable = newValue } }
    }

    /// Creates a disk with a file of this content, or without a file.
    package init(_ image: DiskImage?) throws(StorageError) {
        let reserved = 1 << 28
        memory = try Mapping(descriptor: -1, wanted: reserved, minimum: reserved, path: "simulated disk")
        let base = memory.base
        mprotect(base, reserved, PROT_NONE)
        image?.map(at: base)
        state = Mutex(State(image))
    }

    /// Creates a disk with a file of these bytes, or without a file.
    package convenience init(image: [UInt8]? = nil) throws(StorageError) { try self.init(image.map { DiskImage($0) }) }

    // MARK: The seam

    package func size() -> UInt64 { state.withLock { $0.liveSectors * UInt64(DiskImage.sectorSize) } }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) {
        let first = offset / UInt64(DiskImage.sectorSize)
        let end = (offset + UInt64(buffer.count) + UInt64(DiskImage.sectorSize) - 1) / UInt64(DiskImage.sectorSize)
        let isReadable = state.withLock { state in
            precondition(offset + UInt64(buffer.count) <= state.liveBytes, "a read beyond the end of the file")
            return !(state.unreadable?.overlaps(first..<end) ?? false)
        }
        guard isReadable else { throw .io(operation: "read", path: path, errno: EIO) }
        buffer.copyMemory(from: UnsafeRawBufferPointer(start: memory.base + Int(offset), count: buffer.count))
    }

    package func startWriteBack(at offset: UInt64, count: UInt64) {}

    package func write(_ bytes: Bytes, at offset: UInt64) throws(StorageError) {
        try perform(.write) { state, part in put(bytes, at: offset, part: part, &state) }
    }

    package func writeThrough(_ bytes: Bytes, at offset: UInt64) throws(StorageError) {
        let moment = try perform(.writeThrough) { state, part in put(bytes, at: offset, part: part, &state) }
        state.withLock { state in
            for sector in sectors(bytes.count, offset, state) { state.settle(sector, until: moment) }
        }
    }

    package func sync() throws(StorageError) {
        let moment = try perform(.sync) { _, _ in }
        state.withLock { $0.settleAll(until: moment) }
    }

    package func grow(to size: UInt64) throws(StorageError) {
        let isPossible = size <= sizeLimit && size <= UInt64(memory.capacity)
        try perform(.grow) { state, part in
            if isPossible, part == 1, size > state.liveBytes { resize(size, &state) }
        }
        guard isPossible else { throw .full(path: path) }
    }

    package func shrink(to size: UInt64) throws(StorageError) {
        try perform(.shrink) { state, part in if part == 1, size < state.liveBytes { resize(size, &state) } }
    }

    package func giveName() throws(StorageError) {
        guard state.withLock({ $0.name == .none }) else { return }
        try perform(.link) { state, part in if part == 1 { state.name = .linked } }
        try perform(.directorySync) { _, _ in }
        state.withLock { $0.name = .durable }
    }

    package func close() {}

    // MARK: Calls

    /// Counts a call, makes it fail if the plan says so, and does `part` of it: all of it, or half if it fails. Its
    /// effect is uncertain until it is settled. Returns the call's number.
    @discardableResult
    private func perform(_ operation: Operation, _ act: (inout State, Double) -> Void) throws(StorageError) -> Int {
        let (moment, fault, look) = state.withLock { state -> (Int, Fault?, (@Sendable (SimulatedDisk) -> Void)?) in
            guard !state.hasCrashed else { return (0, .error(EIO), nil) }
            state.operations.append(operation)
            let fault = state.dueFault(operation)
            switch fault {
            case nil: act(&state, 1)
            case .crash?:
                // The call in progress may reach the medium whole or in part: all of it is uncertain.
                act(&state, 1)
                state.hasCrashed = true
            case .error?:
                let isWrite = operation == .write || operation == .writeThrough
                act(&state, isWrite ? state.plan?.part ?? 0.5 : 0.5)
                if operation == .sync || operation == .writeThrough { state.abandon() }
            }
            return (state.operations.count, fault, fault == nil ? state.whenCalled : nil)
        }
        look?(self)
        switch fault {
        case nil: return moment
        case .crash?: throw .io(operation: operation.rawValue, path: path, errno: EIO)
        case .error(let code)?:
            if code == ENOSPC || code == EDQUOT { throw .full(path: path) }
            throw .io(operation: operation.rawValue, path: path, errno: code)
        }
    }

    private func sectors(_ count: Int, _ offset: UInt64, _ state: borrowing State) -> Range<UInt64> {
        let size = DiskImage.sectorSize
        precondition(count % size == 0 && offset % UInt64(size) == 0, "whole sectors")
        precondition(offset + UInt64(count) <= state.liveBytes, "a write beyond the end of the file")
        let first = offset / UInt64(size)
        return first..<first + UInt64(count / size)
    }

    private func put(_ bytes: Bytes, at offset: UInt64, part: Double, _ state: inout State) {
        let all = sectors(bytes.count, offset, state)
        for sector in all.prefix(Int(Double(all.count) * part)) {
            let start = Int(sector - all.lowerBound) * DiskImage.sectorSize
            guard let source = bytes.baseAddress.map({ $0 + start }) else { continue }
            let version = State.Version(moment: state.operations.count, content: DiskImage.copy(source))
            state.unsynced[sector, default: []].append(version)
            memcpy(memory.base + Int(sector) * DiskImage.sectorSize, source, DiskImage.sectorSize)
        }
    }

    /// Changes the file's size at once for the process; the medium may keep the old size until a sync.
    private func resize(_ size: UInt64, _ state: inout State) {
        let former = Int(state.liveBytes)
        let target = Int(size)
        if target > former {
            mprotect(memory.base + former, target - former, PROT_READ | PROT_WRITE)
        } else if target < former {
            // Fresh memory, so that there are zeros if the file grows again.
            let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE
            let mapped = mmap(memory.base + target, former - target, PROT_NONE, flags, -1, 0)
            precondition(mapped != MAP_FAILED, "no memory")
        }
        state.resize(sectors: size / UInt64(DiskImage.sectorSize))
    }
}
