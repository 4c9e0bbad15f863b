// SPDX-License-Identifier: Apache-2.0
// Answers requests by their names below the page's folder: the page's files, and the requests of its scripts.

import Hornbeam
import HornbeamCommand

struct Routes: Sendable {
    private let reads: StoreReads
    private static let change = "api/change"

    init(_ reads: StoreReads) { self.reads = reads }

    /// Answers a request that the door has let in.
    func answer(_ request: Request, _ name: String) throws -> Reply {
        if let file = PageFiles.all[name.isEmpty ? "index.html" : name] {
            return try get(request) { Reply(type: file.type, body: .bytes(file.bytes)) }
        }
        switch name {
        case "api/store": return try get(request) { try StoreAnswer(reads).reply() }
        case "api/sizes": return try get(request) { .json(try SizesAnswer(reads).node()) }
        case "api/rows": return try get(request) { .json(try RowsAnswer(reads, request).node()) }
        case "api/entity": return try get(request) { .json(try EntityAnswer(reads, request).node()) }
        case "api/related": return try get(request) { .json(try EntityAnswer(reads, request).related(request)) }
        case "api/value": return try get(request) { try EntityAnswer(reads, request).value(request) }
        case "api/search": return try get(request) { .json(try SearchAnswer(reads, request).node()) }
        case "api/events": return try get(request) { .events(try reads.listen()) }
        case "api/check": return try get(request) { .events(CheckAnswer(reads).stream()) }
        case "api/fields": return try get(request) { .json(try FieldsAnswer(reads, request).node()) }
        case "api/deletion": return try get(request) { .json(try DeletionAnswer(reads, request).node()) }
        case "api/statement": return try post(request) { .json(try StatementAnswer(reads, request.body).node()) }
        case "api/completions": return try post(request) { .json(try CompletionAnswer(reads, request.body).node()) }
        case Self.change: return try post(request) { .json(try ChangeAnswer(reads, request.body).node()) }
        default: return .refused(404, "there is no such page")
        }
    }

    /// Maximum size of a request's body in bytes. It has room for the longest statement, or for the values of an
    /// entity, with the escapes of JSON.
    func bodyLimit(_ name: String) -> Int { name == Self.change ? 32 << 20 : 2 << 20 }

    /// Returns the refusal of a change without `--write`, for which the body needn't be read. Returns nil for other
    /// requests.
    func refusal(_ name: String) -> Reply? {
        name == Self.change && !reads.options.isWritable ? .failure(StoreReads.noWrites) : nil
    }

    private func get(_ request: Request, _ reply: () throws -> Reply) throws -> Reply {
        request.method == "GET" ? try reply() : Self.wrongMethod("GET")
    }

    /// Answers a POST request with JSON. A page of another site can't make one: browsers send JSON to a site only with
    /// that site's consent.
    private func post(_ request: Request, _ reply: () throws -> Reply) throws -> Reply {
        guard request.method == "POST" else { return Self.wrongMethod("POST") }
        guard request.header("Content-Type") == "application/json" else {
            return .refused(415, "a body is sent as application/json")
        }
        return try reply()
    }

    private static func wrongMethod(_ right: String) -> Reply {
        var reply = Reply.refused(405, "this is asked for by \(right)")
        reply.more = [("Allow", right)]
        return reply
    }
}
