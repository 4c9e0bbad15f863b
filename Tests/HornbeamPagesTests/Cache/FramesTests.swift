// SPDX-License-Identifier: Apache-2.0
// The frames of a write transaction under savepoints. Tests with trees prove that rolling back restores them
// (SavepointTests).

import Glibc
import HornbeamTestSupport
import Testing

@testable import HornbeamPages

@Suite("Frames")
struct FramesTests {
    private func add(_ count: Int, to frames: FrameTable, from first: UInt64, birth: UInt64) {
        for index in 0..<UInt64(count) {
            let bytes = frames.add(SectorRun(start: first + index, count: 1), isNode: true)
            PageHeader.write(to: bytes, birth: birth, kind: .leaf, level: 0, sectors: 1)
        }
    }

    /// A rollback read every page that the transaction had in memory: a load of a million entries, each tried under a
    /// savepoint of its own as `transaction { … }` does, took hours. Now it costs only the work since the savepoint.
    @Test("don't make a rollback cost more if there are more of them")
    func cost() {
        func time(_ count: Int) -> Duration {
            let frames = FrameTable()
            add(count, to: frames, from: 1000, birth: 5)
            return ContinuousClock().measure {
                frames.beginSavepoint(firstBirth: 6)
                for round in 0..<300 {
                    add(1, to: frames, from: UInt64(1_000_000 + round), birth: 6)
                    frames.rollBack(to: 0) { _ in }
                }
            }
        }
        // The shortest of several runs, because the machine may be busy.
        let few = (0..<5).map { _ in time(10) }.min() ?? .zero
        let many = (0..<5).map { _ in time(50_000) }.min() ?? .zero
        #expect(many < few * 40, "\(few) with 10 frames, \(many) with 50,000")
    }

    /// A node is copied without its free space. Frames came from the program's heap as it was, and so the file, and
    /// each backup, could get what the program had in its memory.
    @Test("have nothing of the program's memory in them")
    func freshMemory() throws {
        // Makes the allocator fill what it hands out (`M_PERTURB`): after a large block has gone, large blocks too.
        let option = try #require(dlsym(nil, "mallopt"))
        let mallopt = unsafeBitCast(option, to: (@convention(c) (CInt, CInt) -> CInt).self)
        let perturb: CInt = -6
        UnsafeMutableRawPointer.allocate(byteCount: 16 << 20, alignment: 8).deallocate()
        #expect(mallopt(perturb, 0x5A) == 1)
        defer { _ = mallopt(perturb, 0) }
        let frames = FrameTable()
        for page in 0..<UInt64(48 * 128) {
            let bytes = frames.add(SectorRun(start: page * 16, count: 16), isNode: true)
            let isEmpty = UnsafeRawBufferPointer(start: bytes, count: 8192).allSatisfy { $0 == 0 }
            #expect(isEmpty, "page \(page)")
            if !isEmpty { return }
        }
    }

    @Test("forget exactly the pages since a savepoint, in new places and in old ones, within others and without")
    func exactly() {
        var random = SeededGenerator()
        for _ in 0..<60 {
            let frames = FrameTable()
            var birth: UInt64 = 1
            var levels: [(birth: UInt64, own: Set<UInt64>)] = [(1, [])]
            var next: UInt64 = 100
            for _ in 0..<200 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0:
                    birth += 1
                    frames.beginSavepoint(firstBirth: birth)
                    levels.append((birth, []))
                case 1 where levels.count > 1:
                    let savepoint = Int.random(in: 0..<levels.count - 1, using: &random)
                    var released: Set<UInt64> = []
                    frames.rollBack(to: savepoint) { released.formUnion($0.start..<$0.end) }
                    let gone = levels[(savepoint + 1)...].reduce(into: Set<UInt64>()) { $0.formUnion($1.own) }
                    #expect(released == gone)
                    levels.removeSubrange((savepoint + 2)...)
                    levels[savepoint + 1].own = []
                case 2 where levels.count > 1:
                    let first = Int.random(in: 0..<levels.count - 1, using: &random)
                    frames.mergeSavepoints(from: first)
                    let merged = levels[(first + 1)...].reduce(into: Set<UInt64>()) { $0.formUnion($1.own) }
                    levels.removeSubrange((first + 1)...)
                    levels[first].own.formUnion(merged)
                case 3: frames.dropSpilled()
                case 4, 5:
                    // Only pages made since the newest savepoint are freed at once.
                    guard let page = levels[levels.count - 1].own.min(), frames.find(page) != nil else { continue }
                    frames.free(page, keepPlace: true)
                    levels[levels.count - 1].own.remove(page)
                default:
                    let frame = frames.reuse()
                    let page = frame?.run.start ?? next
                    let bytes = frame?.bytes ?? frames.add(SectorRun(start: page, count: 1), isNode: true)
                    if frame == nil { next += 1 }
                    PageHeader.write(to: bytes, birth: birth, kind: .leaf, level: 0, sectors: 1)
                    levels[levels.count - 1].own.insert(page)
                }
                let all = levels.reduce(into: Set<UInt64>()) { $0.formUnion($1.own) }
                var there = Set(frames.inFileOrder().map(\.run.start))
                frames.forEachSpilled { there.formUnion($0.start..<$0.end) }
                #expect(there == all)
            }
        }
    }
}
