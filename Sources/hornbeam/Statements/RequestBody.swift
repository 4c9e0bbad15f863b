// SPDX-License-Identifier: Apache-2.0
// The bodies of requests that the studio's page sends. Reading them needs no store, so fuzzers can test it.

package import Hornbeam

/// A JSON object without duplicate names, whose members are taken out one by one.
struct RequestBody {
    private let what: String
    private var members: [(name: String, value: JSONNode)]

    /// Throws `.invalid` if the bytes aren't such an object.
    /// - Parameter what: the noun for the object, for errors.
    init(_ bytes: UnsafeRawBufferPointer, _ what: String) throws {
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw HornbeamError(.invalid, "\(what): no UTF-8")
        }
        try self.init(try JSONParser.parse(bytes), what)
    }

    private init(_ node: JSONNode, _ what: String) throws {
        guard case .object(let members) = node else {
            throw HornbeamError(.invalid, "\(what) is sent as a JSON object")
        }
        var names: Set<String> = []
        for member in members where !names.insert(member.name).inserted {
            throw HornbeamError(.invalid, "\(what) has “\(member.name.shown())” twice")
        }
        (self.what, self.members) = (what, members)
    }

    /// Removes a member and returns its value. Returns nil if there is none with this name.
    mutating func take(_ name: String) -> JSONNode? {
        members.firstIndex { $0.name == name }.map { members.remove(at: $0).value }
    }

    mutating func text(_ name: String) throws -> String? {
        switch take(name) {
        case nil: nil
        case .string(let text): text
        default: throw HornbeamError(.invalid, "“\(name)” of \(what) must be a text")
        }
    }

    mutating func required(_ name: String) throws -> String {
        guard let text = try text(name) else { throw HornbeamError(.invalid, "\(what) has no “\(name)”") }
        return text
    }

    /// Removes a member that is an object, and returns its members; none if it is absent.
    mutating func object(_ name: String) throws -> [(name: String, value: JSONNode)] {
        try take(name).map { try RequestBody($0, "“\(name)”").members } ?? []
    }

    mutating func array(_ name: String) throws -> [JSONNode] {
        switch take(name) {
        case nil: []
        case .array(let nodes): nodes
        default: throw HornbeamError(.invalid, "“\(name)” of \(what) must be an array")
        }
    }

    /// Throws `.invalid` if a member is left.
    func requireEmpty() throws {
        guard let other = members.first else { return }
        throw HornbeamError(.invalid, "“\(other.name.shown())” doesn't belong to \(what)")
    }
}

/// `{"statement": "SELECT …", "parameters": ["1", …]}`: parameters are read like those of `hornbeam sql --param`.
package struct StatementRequest {
    package let text: String
    package let parameters: StatementParameters

    package init(json: UnsafeRawBufferPointer) throws {
        var body = try RequestBody(json, "a statement")
        text = try body.required("statement")
        parameters = StatementParameters(
            positions: try body.array("parameters").map { node in
                if case .string(let text) = node { return StatementParameters.value(text) }
                return StatementParameters.value(node.text)
            })
        try body.requireEmpty()
    }
}

/// `{"before": "SELECT na", "after": " FROM City"}`: a statement before and after the cursor.
package struct CompletionRequest {
    package let before: String
    package let after: String

    package init(json: UnsafeRawBufferPointer) throws {
        var body = try RequestBody(json, "a completion")
        before = try body.required("before")
        after = try body.text("after") ?? ""
        try body.requireEmpty()
    }
}
