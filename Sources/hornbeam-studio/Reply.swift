// SPDX-License-Identifier: Apache-2.0
// An answer to a request, with the headers that shut the page off from other sites.

import CMicroHTTPD
import Hornbeam
import HornbeamCommand

struct Reply {
    var status: UInt32 = 200
    var type: String
    var body: Body
    var more: [(name: String, value: String)] = []

    enum Body {
        case bytes([UInt8])
        case events(EventStream)
    }

    /// Allows scripts, styles and data from this server only. Scripts can't turn text into elements (Trusted Types).
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        + "require-trusted-types-for 'script'; trusted-types 'none'"

    private static let headers = [
        ("Content-Security-Policy", policy), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
    ]

    static func text(_ text: String, status: UInt32 = 200) -> Reply {
        Reply(status: status, type: "text/plain; charset=utf-8", body: .bytes(Array((text + "\n").utf8)))
    }

    static func json(_ node: JSONNode, status: UInt32 = 200) -> Reply {
        json(node.text, status: status)
    }

    /// - Parameter text: JSON.
    static func json(_ text: String, status: UInt32 = 200) -> Reply {
        Reply(status: status, type: "application/json", body: .bytes(Array(text.utf8)))
    }

    static func events(_ stream: EventStream) -> Reply {
        Reply(type: "text/event-stream; charset=utf-8", body: .events(stream))
    }

    static func refused(_ status: UInt32, _ reason: String) -> Reply { text(reason, status: status) }

    static func redirect(to path: String, cookie: String) -> Reply {
        var reply = text("the page is at \(path)", status: 303)
        reply.more = [("Location", path), ("Set-Cookie", cookie)]
        return reply
    }

    static func failure(_ error: any Error) -> Reply {
        if let error = error as? FieldErrors {
            let fields = error.fields.map { field in
                JSONNode.object([("name", .string(field.name)), ("message", .string(field.message))])
            }
            return json(
                .object([
                    ("error", .string("nothing was changed")), ("code", .string("\(error.code)")),
                    ("fields", .array(fields)),
                ]), status: status(error.code))
        }
        let typed = HornbeamError.typed(error)
        let error = typed as? HornbeamError ?? HornbeamError(.io, "\(typed)")
        let fields: [(name: String, value: JSONNode)] = [
            ("error", .string(error.message)), ("code", .string("\(error.code)")),
        ]
        return json(.object(fields), status: status(error.code))
    }

    private static func status(_ code: HornbeamError.Code) -> UInt32 {
        switch code {
        case .readOnly: 403
        case .notStored, .unregisteredEntity: 404
        case .uniqueViolation, .alreadyStored, .deleteDenied, .missingRelation, .identityChanged, .conflict: 409
        case .cancelled, .busy: 503
        case .invalid, .tooLarge, .needsIndex, .indexNotReady, .schemaMismatch, .undecodable: 400
        default: 500
        }
    }

    /// Hands the answer to a connection.
    func queue(on connection: OpaquePointer) -> MHD_Result {
        let response: OpaquePointer? =
            switch body {
            case .bytes(var bytes):
                bytes.withUnsafeMutableBytes {
                    MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
                }
            case .events(let stream):
                MHD_create_response_from_callback(
                    UInt64.max, 4096,
                    { (stream, _, buffer, size) in
                        guard let stream, let buffer else { return -1 }
                        let target = UnsafeMutableRawBufferPointer(start: buffer, count: size)
                        return Unmanaged<EventStream>.fromOpaque(stream).takeUnretainedValue().read(into: target)
                    }, Unmanaged.passRetained(stream).toOpaque(),
                    { (stream) in
                        guard let stream else { return }
                        Unmanaged<EventStream>.fromOpaque(stream).takeRetainedValue().close()
                    })
            }
        guard let response else { return .NO }
        defer { MHD_destroy_response(response) }
        MHD_add_response_header(response, "Content-Type", type)
        for (name, value) in Self.headers + more { MHD_add_response_header(response, name, value) }
        return MHD_queue_response(connection, status, response)
    }
}
