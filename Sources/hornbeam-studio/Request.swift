// SPDX-License-Identifier: Apache-2.0
// A request as the routes see it. libmicrohttpd reads head and query; the numbers and texts in them are read here.

import CMicroHTTPD
import Hornbeam

/// Belongs to the thread of its connection.
final class Request {
    let method: String
    let path: String
    private let connection: OpaquePointer
    private(set) var body: [UInt8] = []
    private(set) var isTooLong = false
    /// Bytes that the body may have.
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

    /// A value of the query, nil if it has none of this name.
    func argument(_ name: String) -> String? { value(.GET_ARGUMENT_KIND, name) }

    /// Throws `.invalid` if the query has no such value.
    func required(_ name: String) throws -> String {
        guard let value = argument(name) else { throw HornbeamError(.invalid, "the request has no “\(name)”") }
        return value
    }

    /// The row that the query names.
    func row() throws -> RowID {
        guard let number = UInt64(try required("row")) else {
            throw HornbeamError(.invalid, "“row” must be a whole number")
        }
        return RowID(rawValue: number)
    }

    /// A number of the query. Throws `.invalid` if it is none within `bounds`.
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
