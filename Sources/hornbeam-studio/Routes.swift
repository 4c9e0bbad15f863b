// SPDX-License-Identifier: Apache-2.0
// The names below the page's folder: its files, and what its scripts ask for.

import Hornbeam

struct Routes: Sendable {
    private let reads: StoreReads

    init(_ reads: StoreReads) { self.reads = reads }

    /// The answer to a request that the door has let in.
    func answer(_ request: Request, _ name: String) throws -> Reply {
        if let file = PageFiles.all[name.isEmpty ? "index.html" : name] {
            return try get(request) { Reply(type: file.type, body: .bytes(file.bytes)) }
        }
        switch name {
        case "api/store": return try get(request) { .json(try StoreAnswer(reads).node()) }
        case "api/sizes": return try get(request) { .json(try SizesAnswer(reads).node()) }
        case "api/rows": return try get(request) { .json(try RowsAnswer(reads, request).node()) }
        case "api/entity": return try get(request) { .json(try EntityAnswer(reads, request).node()) }
        case "api/related": return try get(request) { .json(try EntityAnswer(reads, request).related(request)) }
        case "api/value": return try get(request) { try EntityAnswer(reads, request).value(request) }
        case "api/search": return try get(request) { .json(try SearchAnswer(reads, request).node()) }
        case "api/events": return try get(request) { .events(try reads.listen()) }
        case "api/check": return try get(request) { .events(CheckAnswer(reads).stream()) }
        case "api/statement":
            guard request.method == "POST" else { return Self.wrongMethod("POST") }
            guard request.header("Content-Type") == "application/json" else {
                return .refused(415, "a statement is sent as application/json")
            }
            return .json(try StatementAnswer(reads, request.body).node())
        default: return .refused(404, "there is no such page")
        }
    }

    private func get(_ request: Request, _ reply: () throws -> Reply) throws -> Reply {
        request.method == "GET" ? try reply() : Self.wrongMethod("GET")
    }

    private static func wrongMethod(_ right: String) -> Reply {
        var reply = Reply.refused(405, "this is asked for by \(right)")
        reply.more = [("Allow", right)]
        return reply
    }
}
