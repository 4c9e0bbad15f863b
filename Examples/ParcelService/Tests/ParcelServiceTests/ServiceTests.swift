// SPDX-License-Identifier: Apache-2.0
// The service as a process: requests over HTTP, and its end by SIGTERM.

import Foundation
import Glibc
import Hornbeam
import ParcelService
import Synchronization
import Testing

private struct Failure: Error {
    let text: String
}

@Suite("The parcel service as a process")
struct ServiceTests {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "parcels-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private var file: String { folder.appending(path: "parcels.hornbeam").path }

    /// The service in a process of its own, at a free port.
    private final class Running {
        let process = Process()
        let port: UInt16
        private let log = Pipe()

        init(file: String) throws {
            // The program is beside the test bundle.
            let products = try #require(
                CommandLine.arguments.first.map { URL(fileURLWithPath: $0).deletingLastPathComponent() })
            process.executableURL = products.appending(path: "parcel-service")
            process.environment = ["PARCELS_FILE": file, "PARCELS_PORT": "0"]
            process.standardError = log
            try process.run()
            var text = ""
            var found: UInt16?
            while found == nil {
                let part = log.fileHandleForReading.availableData
                if part.isEmpty { throw Failure(text: "the service has ended: \(text)") }
                text += String(decoding: part, as: UTF8.self)
                found = text.firstMatch(of: /listening at 127\.0\.0\.1:([0-9]+)\n/).flatMap { UInt16($0.1) }
            }
            port = try #require(found)
        }

        /// Ends the service, and returns the rest of its log.
        func end() -> String {
            process.terminate()
            let rest = log.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return String(decoding: rest, as: UTF8.self)
        }
    }

    @Test("Stored parcels are there after SIGTERM, and nothing has to be recovered", .timeLimit(.minutes(2)))
    func life() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let service = try Running(file: file)
        let json = #"{"id":7,"state":"waiting","address":"Oslo","grams":250}"#
        #expect(try exchange(service.port, "PUT /parcels/7", json).hasPrefix("HTTP/1.1 200"))
        #expect(try exchange(service.port, "GET /parcels?state=waiting").hasSuffix("[\(sorted)]"))
        #expect(try exchange(service.port, "GET /metrics").contains("# TYPE hornbeam_file_bytes gauge"))
        let large = String(repeating: "x", count: 100_000)
        #expect(try exchange(service.port, "PUT /parcels/8", large).hasPrefix("HTTP/1.1 413"))
        let log = service.end()
        #expect(service.process.terminationStatus == 0 && service.process.terminationReason == .exit)
        #expect(log.contains("<6>info: closed \(file)"))

        let events = Mutex<[Database.LogEntry.Event]>([])
        var options = Database.Options()
        options.log = Database.Log { entry in events.withLock { $0.append(entry.event) } }
        let database = try Database(at: file, models: Parcel.self, options: options)
        #expect(try database.read { try Parcel.query(7).resolve(in: $0)?.address } == "Oslo")
        try database.close()
        #expect(!events.withLock { $0 }.contains(.recovered))
    }

    @Test("A request that has begun is answered before the end", .timeLimit(.minutes(2)))
    func slowRequest() throws {
        let isAsked = DispatchSemaphore(value: 0)
        let mayAnswer = DispatchSemaphore(value: 0)
        let server = try Server(host: "127.0.0.1", port: 0) { _ in
            isAsked.signal()
            mayAnswer.wait()
            return Routes(try! Database.inMemory(models: Parcel.self), Health { _ in }).answer(
                Request("GET", "/health"))
        }
        let answer = Mutex("")
        let hasEnded = DispatchSemaphore(value: 0)
        let port = server.port
        Thread.detachNewThread {
            let text = (try? exchange(port, "GET /health")) ?? "no answer"
            answer.withLock { $0 = text }
            hasEnded.signal()
        }
        isAsked.wait()
        Thread.detachNewThread {
            Thread.sleep(forTimeInterval: 0.2)
            mayAnswer.signal()
        }
        server.stop()
        hasEnded.wait()
        #expect(answer.withLock { $0 }.hasPrefix("HTTP/1.1 200"))
        #expect(throws: (any Error).self) { try exchange(port, "GET /health") }
    }

    @Test("Impossible settings are refused", arguments: ["-1", "65536", "http"])
    func settings(_ port: String) {
        #expect(throws: ServerError.self) { try Settings(["PARCELS_PORT": port]) }
        #expect(throws: ServerError.self) { try Server(host: "nowhere", port: 0) { _ in fatalError() } }
    }

    private var sorted: String { #"{"address":"Oslo","grams":250,"id":7,"state":"waiting"}"# }
}

/// Sends a request, and returns the whole answer.
private func exchange(_ port: UInt16, _ line: String, _ body: String = "") throws -> String {
    let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(file) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let connected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    guard connected == 0 else { throw Failure(text: "no connection") }
    let head = "\(line) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
    var rest = ArraySlice((head + body).utf8)
    while !rest.isEmpty {
        let sent = rest.withUnsafeBytes { send(file, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard sent > 0 else { throw Failure(text: "the connection was closed") }
        rest = rest.dropFirst(sent)
    }
    var answer: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 4_096)
    while true {
        let count = read(file, &part, part.count)
        guard count > 0 else { break }
        answer += part[..<count]
    }
    return String(decoding: answer, as: UTF8.self)
}
