// SPDX-License-Identifier: Apache-2.0
// A request as the routes see it. libmicrohttpd parses head and query; this reads the numbers and texts in them.

import CMicroHTTPD
import Hornbeam

/// Belongs to the thread of its connection.
final class Request {
    let method: String
    let path: String
    private let connection: OpaquePointer
    private(set) var body: [UInt8] = []
    private(set) var isTooLong = false
    /// Maximum size of the body, in bytes.
    var bodyLimit = 2 << 20

    init(_ connection: OpaquePointer, method: String, path: String) {
        self.connection = connection
        self.method = method
        self.path = path
    }

    func add(_ bytes: UnsafeRawBufferPointer) {
        isTooLong = isTooLong || body.count + bytes.count > bodyLimit
        if isTooLong { body = [] } else { body.append(contentsOf: bytes) }
    }

    func header(_ name: String) -> String? { value(.HEADER_KIND, name) }
    func cookie(_ name: String) -> String? { value(.COOKIE_KIND, name) }

    /// Returns a value of the query, or nil if it has none with this name.
    func argument(_ name: String) -> String? { value(.GET_ARGUMENT_KIND, name) }

    /// Returns a value of the query. Throws `.invalid` if it has none with this name.
    func required(_ name: String) throws -> String {
        guard let value = argument(name) else { throw HornbeamError(.invalid, "the request has no “\(name)”") }
        return value
    }

    /// Returns the entity that the query names by `type` and `row`. Throws `.invalid` if it names none.
    func entity() throws -> EntityRow {
        let type = try required("type")
        guard let number = UInt64(try required("row")) else {
            throw HornbeamError(.invalid, "“row” must be a whole number")
        }
        return EntityRow(type: type, rowID: RowID(rawValue: number))
    }

    /// Returns a number of the query, or `usual` if the query has none with this name. Throws `.invalid` if there is
    /// neither, or if it isn't a whole number within `bounds`.
    func number(_ name: String, _ bounds: ClosedRange<Int>, or usual: Int? = nil) throws -> Int {
        guard let text = argument(name) ?? usual.map(String.init), let number = Int(text), bounds.contains(number)
        else {
            throw HornbeamError(
                .invalid, "“\(name)” must be a whole number, \(bounds.lowerBound) to \(bounds.upperBound)")
        }
        return number
    }

    private func value(_ kind: MHD_ValueKind, _ name: String) -> String? {
        MHD_lookup_connection_value(connection, kind, name).map { String(cString: $0) }
    }
}
