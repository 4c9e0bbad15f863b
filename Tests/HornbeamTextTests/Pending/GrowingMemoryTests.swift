// SPDX-License-Identifier: Apache-2.0
// Memory that grows: it keeps its content in order, however that was added.

import Testing

@testable import HornbeamText

@Suite("Memory that grows")
struct GrowingMemoryTests {
    @Test("keeps everything appended one by one and in pieces, and begins anew when emptied")
    func appended() {
        var memory = GrowingMemory<UInt32>(capacity: 2)
        for _ in 0..<2 {
            for value in UInt32(0)..<100 {
                memory.append(value)
                let room = memory.room(for: 3)
                (room[0], room[1]) = (value + 1000, value + 2000)
                memory.setEnd(room + 2)
            }
            #expect(memory.count == 300)
            let expected = (UInt32(0)..<100).flatMap { [$0, $0 + 1000, $0 + 2000] }
            #expect((0..<memory.count).map { memory[$0] } == expected)
            memory.removeAll()
            #expect(memory.count == 0)
        }
        #expect(memory.byteCount >= 4 * 300)
    }
}
