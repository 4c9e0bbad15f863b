// SPDX-License-Identifier: Apache-2.0
// The server: takes requests from libmicrohttpd, asks the door, collects bodies, and hands requests to the routes. Each
// connection has a thread, so that a slow statement holds up no other request.

import CMicroHTTPD
import Glibc
import Hornbeam
import HornbeamCommand
import HornbeamTree

final class StudioServer: Sendable {
    private let door: Door
    private let routes: Routes
    private let reads: StoreReads

    /// Starts to serve the page of a store; the connections end with the process. Throws `.busy` if the port is in
    /// use.
    init(_ options: StudioOptions, _ store: TreeStore) throws {
        var port = options.port
        let listening = studio_listen(&port)
        guard listening >= 0 else {
            let reason = String(cString: strerror(errno))
            throw HornbeamError(.busy, "can't listen at port \(port): \(reason); give another --port, or none")
        }
        door = Door(port: port)
        reads = StoreReads(store, options)
        routes = Routes(reads)
        let daemon = studio_start(
            listening,
            { (owner, connection, path, method, _, data, size, state) in
                guard let owner, let connection, let path, let method, let size, let state else { return .NO }
                let part = UnsafeRawBufferPointer(start: data, count: size.pointee)
                return Unmanaged<StudioServer>.fromOpaque(owner).takeUnretainedValue()
                    .handle(connection, path, method, part, size, state)
            },
            { (_, _, state, _) in
                guard let request = state?.pointee else { return }
                Unmanaged<Request>.fromOpaque(request).release()
            }, Unmanaged.passRetained(self).toOpaque())
        guard daemon != nil else { throw HornbeamError(.io, "the server can't start: no thread is left") }
    }

    /// The address to open in a browser.
    var address: String { door.address }

    /// Ends the work on the store, so that it can be closed. Requests are refused from here on.
    func end() { reads.end() }

    /// Called once the head is read, then for each part of the body, and at the end.
    private func handle(
        _ connection: OpaquePointer, _ path: UnsafePointer<CChar>, _ method: UnsafePointer<CChar>,
        _ data: UnsafeRawBufferPointer, _ size: UnsafeMutablePointer<Int>,
        _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    ) -> MHD_Result {
        guard let known = state.pointee else {
            let request = Request(connection, method: String(cString: method), path: String(cString: path))
            state.pointee = Unmanaged.passRetained(request).toOpaque()
            if let refusal = refusal(of: request) { return refusal.queue(on: connection) }
            return .YES
        }
        let request = Unmanaged<Request>.fromOpaque(known).takeUnretainedValue()
        if !data.isEmpty {
            request.add(data)
            size.pointee = 0
            return .YES
        }
        return answer(request).queue(on: connection)
    }

    /// Returns the answer to a request that is refused before its body is read, or nil if the body is to be read.
    private func refusal(of request: Request) -> Reply? {
        if let refusal = door.refusal(of: request) { return refusal }
        guard let name = door.name(request.path) else { return .refused(404, "there is no such page") }
        if let refusal = routes.refusal(name) { return refusal }
        request.bodyLimit = routes.bodyLimit(name)
        let length = request.header("Content-Length").map { Int($0) ?? .max } ?? 0
        return length > request.bodyLimit ? Self.tooLong(request) : nil
    }

    private func answer(_ request: Request) -> Reply {
        if request.isTooLong { return Self.tooLong(request) }
        do {
            return try routes.answer(request, door.name(request.path) ?? "")
        } catch {
            return .failure(error)
        }
    }

    private static func tooLong(_ request: Request) -> Reply {
        .refused(413, "this request has at most \(request.bodyLimit) bytes")
    }
}
