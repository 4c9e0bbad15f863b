// SPDX-License-Identifier: Apache-2.0
// A proxy between a client and a PostgreSQL server that closes the connection at a certain message: before it reaches
// the server, or before its answer reaches the client. It knows how messages are delimited and which messages end an
// answer: https://www.postgresql.org/docs/current/protocol-message-formats.html

import Glibc
import Synchronization

/// A proxy that listens until the test releases it.
package final class CuttingProxy: Sendable {
    /// The URL of the database `postgres` through the proxy.
    package let url: String
    private let folder: String
    private let relay: Relay
    private let server: PostgresServer

    package init(to server: PostgresServer) throws {
        folder = try PostgresServer.makeFolder()
        url = postgresURL(folder: folder, database: "postgres")
        self.server = server
        let listener = unixSocket()
        relay = Relay(listener: listener, target: "\(server.socketFolder)/.s.PGSQL.\(server.port)")
        guard withAddress(of: socketPath, { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
            throw PostgresServerError("cannot listen in \(folder)")
        }
        // Other servers, such as standbys, may connect too.
        chmod(socketPath, 0o777)
        startThread { [relay] in relay.accept() }
    }

    deinit {
        relay.end()
        unlink(socketPath)
        rmdir(folder)
    }

    /// Keeps the proxy alive up to this call.
    package func keep() {}

    private var socketPath: String { "\(folder)/.s.PGSQL.5432" }

    package func url(database: String) -> String { postgresURL(folder: folder, database: database) }

    /// Returns the URL, through the proxy, of a database that `direct`, a URL of the server, names.
    package func url(insteadOf direct: String) -> String {
        let database = direct.dropFirst("postgresql://hornbeam@/".count).prefix { $0 != "?" }
        return url(database: String(database))
    }

    // MARK: Cuts

    /// Closes the connection whose client sends the `count`-th message from now on that contains `text`. The server
    /// gets the message and answers it, but the client never gets the answer. With the extended protocol, the
    /// statement's text is in Parse, its values are in Bind, and the answer comes after the next Sync.
    package func cut(behind text: String, after count: Int = 1) { relay.arm(Cut(text, isBehind: true, count)) }

    /// Closes the connection whose client sends the `count`-th message from now on that contains `text`, without
    /// passing that message to the server.
    package func cut(before text: String, after count: Int = 1) { relay.arm(Cut(text, isBehind: false, count)) }

    /// Cancels a cut that has not happened yet.
    package func disarm() { relay.arm(nil) }

    /// Number of connections closed at a message so far.
    package var cuts: Int { relay.state.withLock { $0.cuts } }

    /// Closes all connections now.
    package func cutAll() { relay.cutAll() }
}

private struct Cut: Sendable {
    let text: [UInt8]
    let isBehind: Bool
    /// Number of messages until the one to cut at.
    var count: Int

    init(_ text: String, isBehind: Bool, _ count: Int) {
        self.text = Array(text.utf8)
        self.isBehind = isBehind
        self.count = count
    }
}

// MARK: - All connections

/// The state that the threads share. They don't hold the proxy, so that a test can release it.
private final class Relay: Sendable {
    struct State {
        var cut: Cut?
        var cuts = 0
        var hasEnded = false
        /// The sockets of each connection. A thread closes its connection's sockets after it has removed them here.
        var connections: [Int: [Int32]] = [:]
        var nextConnection = 0
    }

    let state = Mutex(State())
    private let listener: Int32
    private let target: String

    init(listener: Int32, target: String) {
        self.listener = listener
        self.target = target
    }

    /// Accepts connections until the end, and starts a thread for each.
    func accept() {
        while !state.withLock({ $0.hasEnded }) {
            let client = Glibc.accept(listener, nil, nil)
            if client >= 0 { _ = fcntl(client, F_SETFD, FD_CLOEXEC) }
            if client < 0 {
                usleep(1000)
            } else if let connection = add(client) {
                startThread { self.serve(connection, client) }
            } else {
                close(client)
            }
        }
        close(listener)
    }

    private func add(_ client: Int32) -> Int? {
        state.withLock { state in
            guard !state.hasEnded else { return nil }
            state.nextConnection += 1
            state.connections[state.nextConnection] = [client]
            return state.nextConnection
        }
    }

    private func serve(_ connection: Int, _ client: Int32) {
        let server = unixSocket()
        let isConnected = withAddress(of: target) { connect(server, $0, $1) } == 0
        state.withLock { _ = $0.connections[connection]?.append(server) }
        if isConnected {
            var link = Link(relay: self, connection: connection, client: client, server: server)
            link.run()
        }
        state.withLock { _ = $0.connections.removeValue(forKey: connection) }
        for socket in [client, server] {
            // A forked process may hold the socket too.
            shutdown(socket, Int32(SHUT_RDWR))
            close(socket)
        }
    }

    func arm(_ cut: Cut?) { state.withLock { $0.cut = cut } }

    /// Returns the cut that is due at `message`, which is then no longer armed.
    func cut(at message: [UInt8]) -> Cut? {
        state.withLock { state in
            guard let cut = state.cut, contains(message, cut.text) else { return nil }
            guard cut.count <= 1 else {
                state.cut?.count -= 1
                return nil
            }
            state.cut = nil
            return cut
        }
    }

    func cutAll() { state.withLock { Self.cutAll(&$0) } }

    private static func cutAll(_ state: inout State) {
        for socket in state.connections.values.joined() { shutdown(socket, Int32(SHUT_RDWR)) }
        state.connections = [:]
    }

    func end() {
        state.withLock { state in
            state.hasEnded = true
            Self.cutAll(&state)
        }
        // Wakes `accept`.
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// Returns whether the connection was not cut.
    func mayPass(_ connection: Int) -> Bool { state.withLock { $0.connections[connection] != nil } }
}

// MARK: - One connection

/// Passes messages between a client and the server. Answers are numbered: each ends with a ReadyForQuery message.
private struct Link {
    let relay: Relay
    let connection: Int
    var client: Lane
    var server: Lane

    /// Number of answers that the client has requested.
    private var requests = 0
    /// Number of answers that have ended.
    private var answers = 0
    /// The number of the answer to drop.
    private var dropped: Int?
    private var hasStarted = false
    private var endedBySync = false
    /// Number of expected answers of one byte without a header, which follow requests of encryption.
    private var bareAnswers = 0

    init(relay: Relay, connection: Int, client: Int32, server: Int32) {
        self.relay = relay
        self.connection = connection
        self.client = Lane(socket: client)
        self.server = Lane(socket: server)
    }

    /// Passes messages until either side closes or the connection is cut.
    mutating func run() {
        while relay.mayPass(connection) {
            var sides = [client.interest, server.interest]
            guard poll(&sides, 2, -1) > 0 || errno == EINTR, relay.mayPass(connection) else { return }
            client.send()
            server.send()
            let canRead = sides.map { $0.revents & ~Int16(POLLOUT) != 0 }
            if canRead[1] {
                let isOpen = server.receive()
                guard passAnswers() else { return finish(isCut: true) }
                guard isOpen else { return finish(isCut: false) }
            }
            if canRead[0] {
                let isOpen = client.receive()
                guard passRequests() else { return finish(isCut: true) }
                guard isOpen else { return finish(isCut: false) }
            }
        }
    }

    /// Sends the messages that were passed already. The cut is counted before a client can notice the end.
    private mutating func finish(isCut: Bool) {
        if isCut { relay.state.withLock { $0.cuts += 1 } }
        client.send(waits: !isCut)
        server.send(waits: !isCut)
    }

    /// Returns false if the connection is to be cut.
    private mutating func passRequests() -> Bool {
        while let message = client.nextMessage(hasType: hasStarted) {
            let kind = hasStarted ? message[0] : 0
            let isCopy = "dcf".utf8.contains(kind)
            // Nothing after the request whose answer is dropped may happen.
            if let dropped, requests >= dropped, !isCopy { continue }
            let number = answerNumber(of: message, kind)
            let cut = relay.cut(at: message)
            if cut?.isBehind == false { return false }
            if cut != nil { dropped = dropped ?? number }
            server.outgoing += message
            server.send()
        }
        return true
    }

    /// Counts the requested answers, and returns the number of the answer that follows `message`.
    private mutating func answerNumber(of message: [UInt8], _ kind: UInt8) -> Int {
        switch kind {
        case 0:
            // SSLRequest and GSSENCRequest come before the startup message.
            hasStarted = ![80_877_103, 80_877_104].contains(bigEndian(message[4...]))
            if hasStarted { requests += 1 } else { bareAnswers += 1 }
            return max(requests, 1)
        case UInt8(ascii: "Q"), UInt8(ascii: "S"), UInt8(ascii: "F"):
            requests += 1
            endedBySync = kind == UInt8(ascii: "S")
            return requests
        case UInt8(ascii: "c"), UInt8(ascii: "f"):
            // While it copies, the server ignores the Sync that came with the statement. Another one follows.
            guard endedBySync else { return requests }
            requests -= 1
            endedBySync = false
            return requests + 1
        case UInt8(ascii: "d"), UInt8(ascii: "p"):
            return requests
        default:
            return requests + 1
        }
    }

    /// Returns false if the connection is to be cut.
    private mutating func passAnswers() -> Bool {
        while bareAnswers > 0, let byte = server.nextByte() {
            bareAnswers -= 1
            client.outgoing.append(byte)
        }
        while bareAnswers == 0, let message = server.nextMessage(hasType: true) {
            let isDropped = dropped.map { answers + 1 >= $0 } ?? false
            if message[0] == UInt8(ascii: "Z") { answers += 1 }
            // The server waits for the client's data (CopyInResponse, CopyBothResponse).
            let isQuestion = "GW".utf8.contains(message[0])
            if isDropped, isQuestion || answers == dropped { return false }
            if !isDropped { client.outgoing += message }
        }
        client.send()
        return true
    }
}

/// One side of a connection.
private struct Lane {
    let socket: Int32
    /// Bytes for this side that its socket has not taken yet.
    var outgoing: [UInt8] = []
    /// Bytes from this side that aren't a whole message yet.
    private var incoming: [UInt8] = []
    private var start = 0

    init(socket: Int32) { self.socket = socket }

    var interest: pollfd {
        pollfd(fd: socket, events: Int16(outgoing.isEmpty ? POLLIN : POLLIN | POLLOUT), revents: 0)
    }

    /// Sends as much as the socket takes now, or everything if `waits`.
    mutating func send(waits: Bool = false) {
        guard !outgoing.isEmpty else { return }
        let count = Glibc.send(
            socket, outgoing, outgoing.count, Int32(waits ? MSG_NOSIGNAL : MSG_NOSIGNAL | MSG_DONTWAIT))
        if count > 0 { outgoing.removeFirst(count) }
    }

    /// Returns false at the end.
    mutating func receive() -> Bool {
        incoming.removeFirst(start)
        start = 0
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(socket, &chunk, chunk.count, Int32(MSG_DONTWAIT))
        if count > 0 { incoming += chunk[..<count] }
        return count > 0 || (count < 0 && [EAGAIN, EINTR].contains(errno))
    }

    mutating func nextByte() -> UInt8? {
        guard start < incoming.count else { return nil }
        start += 1
        return incoming[start - 1]
    }

    /// Returns the next message if it is complete. With `hasType`, a byte precedes the length.
    mutating func nextMessage(hasType: Bool) -> [UInt8]? {
        let header = hasType ? 5 : 4
        guard incoming.count - start >= header else { return nil }
        // The length counts itself but not the type. The startup message has at least a version too.
        let length = max(bigEndian(incoming[(start + header - 4)...]), hasType ? 4 : 8)
        let end = start + header - 4 + length
        guard incoming.count >= end else { return nil }
        defer { start = end }
        return Array(incoming[start..<end])
    }
}

// MARK: - Bytes, sockets, threads

private func bigEndian(_ bytes: ArraySlice<UInt8>) -> Int { bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) } }

private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    guard let first = part.first else { return true }
    return bytes.withUnsafeBytes { bytes in
        var start = 0
        while bytes.count - start >= part.count,
            let found = memchr(bytes.baseAddress! + start, Int32(first), bytes.count - start - part.count + 1)
        {
            if memcmp(found, part, part.count) == 0 { return true }
            start = UnsafeRawPointer(found) - bytes.baseAddress! + 1
        }
        return false
    }
}

private func unixSocket() -> Int32 { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0) }

private func withAddress(of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private func startThread(_ run: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let body = Unmanaged.passRetained(ThreadBody(run)).toOpaque()
    pthread_create(
        &thread, nil,
        { body in
            Unmanaged<ThreadBody>.fromOpaque(body!).takeRetainedValue().run()
            return nil
        }, body)
    pthread_detach(thread)
}
