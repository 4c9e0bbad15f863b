// SPDX-License-Identifier: Apache-2.0
// Requests and their answers, without HTTP: tests call them with a database in memory.
//
//   GET    /parcels?state=waiting   the first 100 parcels, or those of a state, by id
//   GET    /parcels/7               a parcel; 404 if there is none
//   PUT    /parcels/7               stores the JSON of a parcel
//   DELETE /parcels/7               deletes it; 404 if there is none
//   GET    /metrics                 figures of the database, for Prometheus
//   GET    /health                  200 as long as the database can be read and takes writes

import FoundationEssentials
import Hornbeam

public struct Request: Sendable {
    public var method: String
    public var path: String
    public var state: String?
    public var body: [UInt8]

    public init(_ method: String, _ path: String, state: String? = nil, body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.state = state
        self.body = body
    }
}

public struct Response: Sendable {
    public var status: Int
    public var type: String
    public var body: [UInt8]

    static func text(_ status: Int, _ text: String) -> Response {
        Response(status: status, type: "text/plain; charset=utf-8", body: Array("\(text)\n".utf8))
    }

    static func json(_ value: some Encodable) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Response(status: 200, type: "application/json", body: Array(try encoder.encode(value)))
    }
}

/// The answers of the service. Any thread may call; reads run beside a write.
public struct Routes: Sendable {
    private let database: Database
    private let health: Health

    public init(_ database: Database, _ health: Health) {
        self.database = database
        self.health = health
    }

    /// Answers a request. An error that isn't the client's is a 500 without details, which are in the log.
    public func answer(_ request: Request) -> Response {
        do {
            return try answered(request)
        } catch let error as HornbeamError where error.code == .full {
            return .text(507, "no space left")
        } catch {
            health.report(error, of: "\(request.method) \(request.path)")
            return .text(500, "the request failed")
        }
    }

    private func answered(_ request: Request) throws -> Response {
        switch (request.method, request.path) {
        case ("GET", "/parcels"): return try .json(list(state: request.state))
        case ("GET", "/metrics"):
            let text = try database.statistics.prometheus(labels: ["service": "parcels"])
            return Response(status: 200, type: "text/plain; version=0.0.4", body: Array(text.utf8))
        case ("GET", "/health"):
            try database.read { _ in }
            return health.isGood ? .text(200, "ok") : .text(503, "the database takes no more writes")
        default: break
        }
        guard request.path.hasPrefix("/parcels/"), let id = Int(request.path.dropFirst("/parcels/".count)) else {
            return .text(404, "there is nothing at \(request.path)")
        }
        switch request.method {
        case "GET":
            guard let parcel = try database.read({ try Parcel.query(id).resolve(in: $0) }) else { return missing(id) }
            return try .json(parcel)
        case "PUT": return try store(id, request.body)
        case "DELETE":
            let isFound = try database.write { context in
                guard try Parcel.query(id).resolve(in: context) != nil else { return false }
                try Parcel.delete(id: id, from: &context)
                return true
            }
            return isFound ? .text(200, "deleted") : missing(id)
        default: return .text(405, "\(request.method) isn't possible here")
        }
    }

    private func missing(_ id: Int) -> Response { .text(404, "there is no parcel \(id)") }

    private func list(state: String?) throws -> [Parcel] {
        try database.read { context in
            let all = state.map { Parcel.filter(\.state == $0) } ?? Parcel.query()
            return try all.sorted(by: \.id).limit(100).resolve(in: context)
        }
    }

    private func store(_ id: Int, _ body: [UInt8]) throws -> Response {
        let parcel: Parcel
        do {
            parcel = try JSONDecoder().decode(Parcel.self, from: Data(body))
        } catch {
            return .text(400, "the body is no parcel: give id, state, address and grams as JSON")
        }
        guard parcel.id == id else { return .text(400, "the body has the id \(parcel.id), the path \(id)") }
        try database.write { try parcel.save(to: &$0) }
        return try .json(parcel)
    }
}
