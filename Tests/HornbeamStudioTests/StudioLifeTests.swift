// SPDX-License-Identifier: Apache-2.0
// The studio under load and beside other programs: many requests at once, clients that don't read, a program that
// commits and is killed, Ctrl-C, and the command that starts the studio.

import Foundation
import Glibc
import HornbeamTestSupport
import Synchronization
import Testing

@Suite("The studio's life")
struct StudioLifeTests {
    @Test("answers 1,000 requests at once")
    func manyRequests() throws {
        let (_, studio) = try Studios.shared()
        // A process can usually open 1,024 descriptors, which isn't enough for these connections.
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 4_096))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let right = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: 1_000) { number in
            let reply = try? studio.get("api/rows?type=City&from=\(number)&count=3")
            if reply?.status == 200 { right.withLock { $0 += 1 } }
        }
        // All connections are open before the first answer is read.
        let connections = try (0..<1_000).map { _ in
            let connection = try HTTPConnection(studio.port)
            connection.send(studio.head("api/rows?type=City&from=7&count=3", more: ["Connection: close"]))
            return connection
        }
        for connection in connections where try connection.reply().status == 200 { right.withLock { $0 += 1 } }
        #expect(right.withLock { $0 } == 2_000)
    }

    @Test("isn't held up by clients that send nothing, half a head, or never read")
    func slowClients() throws {
        let (_, studio) = try Studios.shared()
        let rows = try studio.json("api/rows", ["type": "City", "where": "id = 10004"])["rows"] as? [[Any]]
        let row = try #require(rows?[0][0] as? String)
        let clients = try (0..<20).map { number in
            let client = try HTTPConnection(studio.port)
            switch number % 3 {
            case 0: break
            case 1: client.send("GET /")
            // The answer has ten megabytes; the system's buffers hold one or two of them.
            default: client.send(studio.head("api/value?type=City&row=\(row)&column=3"))
            }
            return client
        }
        let start = ContinuousClock.now
        #expect(try studio.get("api/store").status == 200)
        // The studio drops those clients after 20 seconds: the answer hasn't waited for that.
        #expect(start.duration(to: .now) < .seconds(18))
        withExtendedLifetime(clients) {}
    }

    @Test("isn't held up by a condition that takes long")
    func slowCondition() throws {
        let store = try StudioStore(isSmall: true)
        let studio = try RunningStudio(store.file)
        let slow = try HTTPConnection(studio.port)
        let condition = "REGEXP_CONTAINS(CONCAT(name, '\(String(repeating: "a", count: 60))'), '(a+)+b')"
        slow.send(studio.head("api/rows" + RunningStudio.query(["type": "City", "where": condition])))
        usleep(300_000)
        #expect(try studio.json("api/rows", ["type": "City", "where": "size > 0"])["total"] as? Int == 10)
        #expect(!slow.hasAnswer)
    }

    @Test("tells new states of a program that commits, outlives its kill, and lets the next one write")
    func otherProgram() throws {
        let store = try StudioStore()
        let studio = try RunningStudio(store.file)
        let events = try HTTPConnection(studio.port)
        events.send(studio.head("api/events"))
        _ = try events.read(through: "\"transaction\":")
        let before = try number(events)
        let worker = try WorkerProcess()
        try worker.ask("write \(store.file)")
        try worker.ask("fill")
        _ = try events.read(through: "\"transaction\":")
        #expect(try number(events) > before)
        #expect(try studio.json("api/rows", ["type": "City", "count": "1"])["total"] as? Int == StudioStore.cities + 5)
        worker.send("hammer 30")
        usleep(300_000)
        worker.kill()
        for _ in 0..<3 {
            #expect(try studio.get("api/store").status == 200)
            #expect(try studio.get("api/rows?type=City&from=1000").status == 200)
        }
        let next = try WorkerProcess()
        try next.ask("write \(store.file)")
        try next.ask("transfer 3 full")
        #expect(try studio.get("api/store").status == 200)
        store.folder.keep()
    }

    private func number(_ events: HTTPConnection) throws -> Int {
        try #require(Int(String(decoding: try events.read(through: "}").dropLast(), as: UTF8.self)))
    }

    @Test("ends at once with Ctrl-C, whatever is open")
    func interrupt() throws {
        let store = try StudioStore(isSmall: true)
        let studio = try RunningStudio(store.file)
        let events = try HTTPConnection(studio.port)
        events.send(studio.head("api/events"))
        _ = try events.read(through: "\"transaction\":")
        #expect(studio.interrupt())
        store.folder.keep()
    }

    @Test("says what to do if its program isn't there, or its port is in use")
    func failures() throws {
        let (store, studio) = try Studios.shared()
        let folder = try TemporaryFolder()
        let command = RunningStudio.binaries.appendingPathComponent("hornbeam").path
        let alone = folder.path("hornbeam")
        if link(command, alone) != 0 { try FileManager.default.copyItem(atPath: command, toPath: alone) }
        let missing = try output("PATH=/nowhere '\(alone)' studio '\(store.file)'")
        #expect(missing.text.contains("hornbeam: can't run hornbeam-studio"))
        #expect(missing.code == 1)
        let used = try output("'\(command)' studio --port \(studio.port) '\(store.file)'")
        #expect(used.text.contains("can't listen at port \(studio.port)"))
        #expect(used.code == 1)
        let none = try output("'\(command)' studio '\(folder.path("none"))'")
        #expect(none.text.contains("there is no file"))
        let help = try output("'\(command)' studio --help")
        #expect(help.text.hasPrefix("hornbeam studio: show a store in a browser"))
    }

    private func output(_ line: String) throws -> (text: String, code: Int32) {
        let folder = try TemporaryFolder()
        let code = try Spawned.run(["/bin/sh", "-c", "\(line) > '\(folder.path("out"))' 2>&1"])
        return (try folder.read("out"), code)
    }
}
