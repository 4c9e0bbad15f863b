// SPDX-License-Identifier: Apache-2.0
// Places for idle objects: each thread has its own place, and leaves further objects to others.

import Foundation
import HornbeamPages
import Synchronization
import Testing

@testable import HornbeamTree

@Suite("Places for idle objects")
struct IdlePlacesTests {
    private let places = IdlePlaces()

    private func address(_ number: Int) -> UnsafeMutableRawPointer {
        UnsafeMutableRawPointer(bitPattern: number * 16).unsafelyUnwrapped
    }

    private static func number(_ address: UnsafeMutableRawPointer?) -> Int? { address.map { Int(bitPattern: $0) / 16 } }

    /// Runs `body` in a thread with another stripe than the caller's. This may take several threads.
    private func elsewhere(_ body: @escaping @Sendable (IdlePlaces) -> Void) {
        let (mine, places) = (Stripes.mine, places)
        let isDone = Mutex(false)
        while !isDone.withLock({ $0 }) {
            let thread = DispatchGroup()
            thread.enter()
            Thread.detachNewThread {
                if Stripes.mine != mine {
                    body(places)
                    isDone.withLock { $0 = true }
                }
                thread.leave()
            }
            thread.wait()
        }
    }

    @Test("a thread takes back the object it gave, as often as it gave it")
    func own() {
        #expect(places.take() == nil)
        for number in 1...4 { #expect(places.give(address(number))) }
        #expect(!places.give(address(5)))
        let taken = (0..<4).compactMap { _ in Self.number(places.take()) }
        #expect(taken.sorted() == [1, 2, 3, 4])
        #expect(places.take() == nil)
        #expect(places.give(address(6)))
        #expect(Self.number(places.take()) == 6)
    }

    @Test("another thread takes all but one")
    func spare() {
        for number in 1...3 { #expect(places.give(address(number))) }
        elsewhere { places in
            let taken = (0..<2).compactMap { _ in Self.number(places.take()) }
            #expect(Set(taken).count == 2)
            #expect(places.take() == nil)
        }
        #expect(places.take() != nil)
        #expect(places.take() == nil)
    }

    @Test("all objects are taken at the end, from every thread")
    func all() {
        for number in 1...3 { #expect(places.give(address(number))) }
        elsewhere { places in
            if let address = UnsafeMutableRawPointer(bitPattern: 64) { #expect(places.give(address)) }
        }
        var taken: [Int] = []
        places.takeAll { if let number = Self.number($0) { taken.append(number) } }
        #expect(taken.sorted() == [1, 2, 3, 4])
        #expect(places.take() == nil)
    }
}
