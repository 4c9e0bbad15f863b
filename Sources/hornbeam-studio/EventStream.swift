// SPDX-License-Identifier: Apache-2.0
// Server-sent events of one connection. Another thread adds events; the connection's thread waits for them.

import Foundation
import Hornbeam
import HornbeamTree

final class EventStream: @unchecked Sendable {
    /// Guards the three variables below.
    private let condition = NSCondition()
    private var waiting: [UInt8] = []
    private var isEnded = false
    private var isGone = false
    /// Interrupts the work that sends the events, once the connection is gone.
    let interruption = Interruption()

    /// Seconds without an event after which a comment is sent, so that the server doesn't close the silent connection.
    private static let silence = 3.0
    /// Maximum number of bytes that wait for a browser that doesn't read.
    private static let room = 1 << 20

    /// Adds an event, unless the stream has ended or its connection is gone.
    func send(_ event: String, _ data: JSONNode) {
        condition.withLock {
            guard !isGone, !isEnded else { return }
            waiting.append(contentsOf: "event: \(event)\ndata: \(data.text)\n\n".utf8)
            // Ends the stream. The browser begins another one if it is still there.
            if waiting.count > Self.room { isEnded = true }
            condition.signal()
        }
    }

    /// Ends the stream once its waiting events are read.
    func end() {
        condition.withLock {
            isEnded = true
            condition.signal()
        }
    }

    /// Notes that the connection is gone.
    func close() {
        condition.withLock { isGone = true }
        interruption.set()
    }

    var isOpen: Bool { condition.withLock { !isGone && !isEnded } }

    /// Waits for events and copies them. Returns the number of copied bytes, or -1 at the end of the stream.
    func read(into target: UnsafeMutableRawBufferPointer) -> Int {
        condition.withLock {
            let limit = Date(timeIntervalSinceNow: Self.silence)
            while waiting.isEmpty, !isEnded {
                guard condition.wait(until: limit) else {
                    waiting.append(contentsOf: ": still here\n\n".utf8)
                    break
                }
            }
            if waiting.isEmpty { return -1 }
            let count = min(waiting.count, target.count)
            target.copyBytes(from: waiting[..<count])
            waiting.removeFirst(count)
            return count
        }
    }
}
