// SPDX-License-Identifier: Apache-2.0
// The HTTP server: libmicrohttpd reads requests in its threads, where the routes answer them.

import CMicroHTTP
import Glibc
import Synchronization

public struct ServerError: Error, CustomStringConvertible {
    public let description: String
}

/// A running server, for any thread. It runs until it is stopped.
public final class Server: @unchecked Sendable {
    // Sendable: only `init` and `stop` change `daemon`, and libmicrohttpd has its own locks.

    /// The greatest size of a request's body. A parcel is much smaller.
    private static let maximumBody = 64 << 10

    /// A request that is being received.
    private final class Receiving {
        var body: [UInt8] = []
        var isTooLarge = false
    }

    private let answer: @Sendable (Request) -> Response
    private var daemon: OpaquePointer?
    /// The port at which it listens.
    public private(set) var port: UInt16 = 0
    /// Number of requests that have begun and aren't answered yet.
    private let running = Atomic(0)

    /// Starts listening.
    /// - Parameters:
    ///   - host: a numeric IPv4 address: 127.0.0.1 for this machine alone, 0.0.0.0 for all networks.
    ///   - port: 0 takes a free one.
    public init(
        host: String, port: UInt16, threads: Int = 4, answer: @escaping @Sendable (Request) -> Response
    ) throws {
        self.answer = answer
        // Released by `stop`, when no thread of the daemon runs any more.
        let context = Unmanaged.passRetained(self).toOpaque()
        daemon = parcel_http_start(
            host, port, UInt32(clamping: threads),
            { context, connection, url, method, _, data, size, request in
                Server.at(context)?.receive(connection, url, method, data, size, request) ?? .NO
            },
            { context, _, request, _ in Server.at(context)?.end(request) }, context)
        guard let daemon else {
            Unmanaged<Server>.fromOpaque(context).release()
            throw ServerError(description: "no server at \(host):\(port): \(String(cString: strerror(errno)))")
        }
        self.port = parcel_http_port(daemon)
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> Server? {
        context.map { Unmanaged<Server>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Stops listening, waits until the requests in progress are answered, but at most for `patience`, and closes.
    public func stop(patience: Duration = .seconds(5)) {
        guard let daemon else { return }
        let listening = MHD_quiesce_daemon(daemon)
        let deadline = ContinuousClock.now + patience
        while running.load(ordering: .acquiring) > 0, ContinuousClock.now < deadline { usleep(5_000) }
        self.daemon = nil
        MHD_stop_daemon(daemon)
        if listening >= 0 { close(listening) }
        Unmanaged.passUnretained(self).release()
    }

    // MARK: Requests, in threads of libmicrohttpd

    /// Called when the head of a request has arrived, with each part of its body, and at its end.
    private func receive(
        _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?,
        _ data: UnsafePointer<CChar>?, _ size: UnsafeMutablePointer<Int>?,
        _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> MHD_Result {
        guard let request, let size, let url, let method else { return .NO }
        guard let known = request.pointee else {
            running.add(1, ordering: .acquiringAndReleasing)
            request.pointee = Unmanaged.passRetained(Receiving()).toOpaque()
            return .YES
        }
        let receiving = Unmanaged<Receiving>.fromOpaque(known).takeUnretainedValue()
        if size.pointee > 0 {
            receiving.isTooLarge = receiving.isTooLarge || receiving.body.count + size.pointee > Self.maximumBody
            if let data, !receiving.isTooLarge {
                receiving.body += UnsafeRawBufferPointer(start: data, count: size.pointee)
            }
            size.pointee = 0
            return .YES
        }
        if receiving.isTooLarge { return send(.text(413, "the body is too large"), connection) }
        let state = MHD_lookup_connection_value(connection, .GET_ARGUMENT_KIND, "state")
        return send(
            answer(
                Request(
                    String(cString: method), String(cString: url), state: state.map { String(cString: $0) },
                    body: receiving.body)), connection)
    }

    private func send(_ answer: Response, _ connection: OpaquePointer?) -> MHD_Result {
        let response = answer.body.withUnsafeBytes { bytes in
            MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
        }
        guard let response else { return .NO }
        defer { MHD_destroy_response(response) }
        MHD_add_response_header(response, "Content-Type", answer.type)
        return MHD_queue_response(connection, UInt32(clamping: answer.status), response)
    }

    /// Called once for each request that has begun, answered or not.
    private func end(_ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) {
        guard let known = request?.pointee else { return }
        request?.pointee = nil
        Unmanaged<Receiving>.fromOpaque(known).release()
        running.subtract(1, ordering: .acquiringAndReleasing)
    }
}
