// SPDX-License-Identifier: Apache-2.0
// The built studio, started as users start it, and a small HTTP client for requests that browsers send or would never
// send.

import Foundation
import Glibc
import HornbeamTestSupport
import Testing

/// A running studio. It is killed when the test releases it.
final class RunningStudio: @unchecked Sendable {
    let port: UInt16
    /// The address that the studio has printed.
    let address: String
    let token: String
    /// The folder of its pages, with slashes.
    let folder: String
    private let process: Spawned
    var processIdentifier: pid_t { process.pid }

    /// The binaries are beside the test bundle.
    static let binaries = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

    init(_ file: String, write: Bool = false) throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        process = try Spawned(
            [Self.binaries.appendingPathComponent("hornbeam").path, "studio", file] + (write ? ["--write"] : []),
            output: ends[1])
        close(ends[1])
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(ends[0], &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        address = String(decoding: line, as: UTF8.self)
        let parts = try #require(address.wholeMatch(of: #/http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})/#))
        port = try #require(UInt16(parts.1))
        token = String(parts.2)
        let reply = try HTTPConnection(port).ask("GET /?token=\(token) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
        folder = try #require(reply.headers["location"])
    }

    private var isOver = false

    deinit { if !isOver { Glibc.kill(process.pid, SIGKILL) } }

    /// Returns the head of a request as the page sends it.
    func head(_ name: String, method: String = "GET", host: String? = nil, more: [String] = []) -> String {
        let lines =
            [
                "\(method) \(folder)\(name) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(port)")",
                "Cookie: hornbeam=\(token)",
            ]
            + more
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    /// Sends a GET request as the page does, on its own connection, and returns the answer.
    func get(_ name: String, more: [String] = []) throws -> HTTPReply {
        try HTTPConnection(port).ask(head(name, more: more))
    }

    /// Sends a GET request and returns the JSON of the answer.
    func json(_ name: String, _ query: [String: String] = [:]) throws -> [String: Any] {
        try get(name + Self.query(query)).json()
    }

    /// Sends a statement and returns the answer.
    func run(_ statement: String, _ parameters: [String] = []) throws -> HTTPReply {
        try post("api/statement", ["statement": statement, "parameters": parameters])
    }

    /// Sends a change of an entity and returns the answer.
    func change(_ body: [String: Any]) throws -> HTTPReply { try post("api/change", body) }

    func post(_ name: String, _ body: [String: Any]) throws -> HTTPReply {
        let body = try JSONSerialization.data(withJSONObject: body)
        let more = ["Content-Type: application/json", "Content-Length: \(body.count)"]
        let head = head(name, method: "POST", more: more)
        return try HTTPConnection(port).ask(head + String(decoding: body, as: UTF8.self))
    }

    static func query(_ values: [String: String]) -> String {
        if values.isEmpty { return "" }
        var components = URLComponents()
        components.queryItems = values.map { URLQueryItem(name: $0.key, value: $0.value) }
        return "?" + (components.percentEncodedQuery ?? "").replacingOccurrences(of: "+", with: "%2B")
    }

    /// Sends SIGINT, as Ctrl-C does. Returns whether the studio ends within two seconds.
    func interrupt() -> Bool {
        Glibc.kill(process.pid, SIGINT)
        for _ in 0..<2_000 {
            isOver = process.hasEnded()
            if isOver { return true }
            usleep(1_000)
        }
        return false
    }
}

struct HTTPReply {
    var status: Int
    /// The names are in lower case.
    var headers: [String: String]
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    func json() throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any], "\(text)")
    }
}

/// A client's connection to the studio.
final class HTTPConnection {
    struct Ended: Error {}

    private let number: Int32
    private var received: [UInt8] = []

    init(_ port: UInt16) throws {
        number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard isConnected else { throw Ended() }
    }

    deinit { close(number) }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(number, $0.baseAddress.map { $0 + sent }, $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// Whether the socket has bytes to read, or has ended.
    var hasAnswer: Bool {
        var waiting = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, 0) > 0
    }

    /// Sends a request and returns its answer.
    func ask(_ request: String) throws -> HTTPReply {
        send(request)
        return try reply()
    }

    /// Reads the next answer.
    func reply() throws -> HTTPReply {
        let lines = String(decoding: try read(through: "\r\n\r\n"), as: UTF8.self).components(separatedBy: "\r\n")
        let status = try #require(lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) })
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(
                in: .whitespaces)
        }
        let size = headers["content-length"].flatMap { Int($0) } ?? 0
        while received.count < size { try receive() }
        defer { received.removeFirst(size) }
        return HTTPReply(status: status, headers: headers, body: Array(received[..<size]))
    }

    /// Reads up to the end of this text, and returns the bytes.
    func read(through end: String) throws -> [UInt8] {
        let end = Array(end.utf8)
        while true {
            if let range = received.firstRange(of: end) {
                defer { received.removeFirst(range.upperBound) }
                return Array(received[..<range.upperBound])
            }
            try receive()
        }
    }

    private func receive() throws {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(number, &bytes, bytes.count, 0)
        guard count > 0 else { throw Ended() }
        received += bytes[..<count]
    }
}
