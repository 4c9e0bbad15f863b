// SPDX-License-Identifier: Apache-2.0
// The JSON of `Codable` values, as columns hold it. Equal values have equal text: object keys are sorted, and so are
// the elements of a `Set` and the entries of a `Dictionary` whose keys aren't strings. Foundation's encoder writes
// these two in the order of their hashes, which differs from process to process. All other text is the same as
// Foundation's.

import FoundationEssentials

/// Writes and reads the JSON text of `Codable` values.
package enum CodedJSON {
    /// Maximum number of arrays and objects inside one another. A save refuses deeper values, so that each stored value
    /// can be read, restored, exported and imported.
    package static let maximumDepth = 128

    static var tooDeep: HornbeamError {
        HornbeamError(
            .invalid,
            "can't be stored: its arrays and objects are more than \(maximumDepth) levels deep in one another; store "
                + "deep trees as entities that lead to one another")
    }

    /// The JSON text of a value. Throws the errors of its `encode(to:)`, and `tooDeep`.
    package static func text<Coded: Encodable>(_ value: Coded) throws -> String {
        let root = CodedNode(depth: 0)
        try root.encode(value, [])
        guard !root.isEmpty else {
            throw EncodingError.invalidValue(
                value, .init(codingPath: [], debugDescription: "\(Coded.self) did not encode any values"))
        }
        return try root.text()
    }

    package static func value<Coded: Decodable>(_: Coded.Type, of text: String) throws -> Coded {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: JSONSpecial.infinity, negativeInfinity: JSONSpecial.negativeInfinity, nan: JSONSpecial.nan
        )
        return try decoder.decode(Coded.self, from: Data(text.utf8))
    }

    /// Whether JSON text has at most the levels that may be stored. It looks at brackets alone. O(n).
    /// - Parameter around: number of further levels that the text may have around values.
    static func isWithinDepth(_ text: String, around: Int = 0) -> Bool {
        let most = maximumDepth + around
        var depth = 0
        var isString = false
        var isEscaped = false
        for byte in text.utf8 {
            if isString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > most { return false }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return true
    }
}

/// The strings that stand for numbers without a form in JSON, in columns of `Codable` types and in exported rows.
enum JSONSpecial {
    static let infinity = "Infinity"
    static let negativeInfinity = "-Infinity"
    static let nan = "NaN"
}

/// A JSON value that an encoder is filling. It is a class because containers may be filled in any order.
private final class CodedNode {
    private enum Content {
        case empty
        /// A complete value, as JSON text.
        case text(String)
        case array([CodedNode])
        case object([String: CodedNode])
        /// A container that is nested too deep.
        case tooDeep
    }

    private var content = Content.empty
    /// Number of containers around it.
    private let depth: Int

    init(depth: Int) { self.depth = depth }

    var isEmpty: Bool { if case .empty = content { true } else { false } }

    func set(text: String) { content = .text(text) }

    // MARK: Containers

    func beginArray() {
        if case .array = content { return }
        content = depth < CodedJSON.maximumDepth ? .array([]) : .tooDeep
    }

    func beginObject() {
        if case .object = content { return }
        content = depth < CodedJSON.maximumDepth ? .object([:]) : .tooDeep
    }

    var count: Int { if case .array(let elements) = content { elements.count } else { 0 } }

    func element() -> CodedNode {
        let child = self.child()
        guard case .array(var elements) = content else { return child }
        // Clears the enum's reference, so that appending doesn't copy the list.
        content = .empty
        elements.append(child)
        content = .array(elements)
        return child
    }

    /// A new member of an object. It replaces an earlier member of the same name.
    /// - Parameter keepsContainer: whether an earlier member is returned instead, to be filled further.
    func member(_ name: String, keepsContainer: Bool = false) -> CodedNode {
        guard case .object(var members) = content else { return self.child() }
        if keepsContainer, let known = members[name] { return known }
        let child = self.child()
        content = .empty
        members[name] = child
        content = .object(members)
        return child
    }

    // MARK: Values

    func encode<Coded: Encodable>(_ value: Coded, _ path: [any CodingKey]) throws {
        // Checked before the value is encoded, because a value that holds itself would use up the stack.
        guard depth <= CodedJSON.maximumDepth else { throw CodedJSON.tooDeep }
        if let text = try Self.leaf(value, path) {
            content = .text(text)
        } else if let unordered = value as? any UnorderedCodable, try unordered.encodeInOrder(self, path) {
            return
        } else {
            try value.encode(to: CodedEncoder(node: self, codingPath: path))
        }
    }

    /// Makes the node an array of unordered elements, sorted by their text. The values of one element stay together.
    func setUnordered(_ elements: [[CodedNode]]) throws {
        beginArray()
        guard case .array = content else { return }
        let texts = try elements.map { try $0.map { try $0.text() } }.sorted { left, right in
            // Compares bytes, as the order does: texts of different elements may be equal as Swift strings.
            for (first, second) in zip(left, right) where !first.utf8.elementsEqual(second.utf8) {
                return first.utf8.lexicographicallyPrecedes(second.utf8)
            }
            return false
        }
        content = .array(
            texts.flatMap(\.self).map { text in
                let child = self.child()
                child.set(text: text)
                return child
            })
    }

    func child() -> CodedNode { CodedNode(depth: depth + 1) }

    /// The JSON text of a value of a simple type; nil for all other types.
    private static func leaf<Coded>(_ value: Coded, _ path: [any CodingKey]) throws -> String? {
        if let text = same(value, as: String.self) { return JSONNode.string(text).text }
        if let flag = same(value, as: Bool.self) { return flag ? "true" : "false" }
        if let number = same(value, as: Double.self) { return text(of: number) }
        if let number = same(value, as: Float.self) { return text(of: number) }
        if let text = integer(value) { return text }
        if let data = same(value, as: Data.self) { return JSONNode.string(data.base64EncodedString()).text }
        if let url = same(value, as: URL.self) { return JSONNode.string(url.absoluteString).text }
        if let number = same(value, as: Decimal.self) {
            guard !number.isNaN else {
                throw EncodingError.invalidValue(
                    number, .init(codingPath: path, debugDescription: "a Decimal that is no number has no form in JSON")
                )
            }
            return number.description
        }
        return nil
    }

    private static func integer<Coded>(_ value: Coded) -> String? {
        if let number = same(value, as: Int.self) { return String(number) }
        if let number = same(value, as: Int64.self) { return String(number) }
        if let number = same(value, as: Int32.self) { return String(number) }
        if let number = same(value, as: Int16.self) { return String(number) }
        if let number = same(value, as: Int8.self) { return String(number) }
        if let number = same(value, as: UInt.self) { return String(number) }
        if let number = same(value, as: UInt64.self) { return String(number) }
        if let number = same(value, as: UInt32.self) { return String(number) }
        if let number = same(value, as: UInt16.self) { return String(number) }
        if let number = same(value, as: UInt8.self) { return String(number) }
        if let number = same(value, as: Int128.self) { return String(number) }
        if let number = same(value, as: UInt128.self) { return String(number) }
        return nil
    }

    private static func text<Number: BinaryFloatingPoint & CustomStringConvertible>(of number: Number) -> String {
        if number.isNaN { return "\"\(JSONSpecial.nan)\"" }
        if number.isInfinite {
            return number < 0 ? "\"\(JSONSpecial.negativeInfinity)\"" : "\"\(JSONSpecial.infinity)\""
        }
        let text = number.description
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    // MARK: Text

    func text() throws -> String {
        if case .text(let text) = content { return text }
        var text = ""
        try write(to: &text)
        return text
    }

    private func write(to text: inout String) throws {
        switch content {
        case .tooDeep: throw CodedJSON.tooDeep
        // Foundation's encoder writes this too for a value within a container that encodes nothing.
        case .empty: text += "{}"
        case .text(let value): text += value
        case .array(let elements):
            text += "["
            for (place, element) in elements.enumerated() {
                if place > 0 { text += "," }
                try element.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            for (place, member) in sorted.enumerated() {
                if place > 0 { text += "," }
                JSONNode.write(member.key, to: &text)
                text += ":"
                try member.value.write(to: &text)
            }
            text += "}"
        }
    }
}

/// Collections that encode their elements in an arbitrary order.
private protocol UnorderedCodable {
    /// Encodes the elements sorted. Returns false, with nothing done, if the collection's own coding has an order.
    func encodeInOrder(_ node: CodedNode, _ path: [any CodingKey]) throws -> Bool
}

extension Set: UnorderedCodable where Element: Encodable {
    fileprivate func encodeInOrder(_ node: CodedNode, _ path: [any CodingKey]) throws -> Bool {
        var elements: [[CodedNode]] = []
        elements.reserveCapacity(count)
        for element in self {
            let child = node.child()
            try child.encode(element, path + [CodedKey(intValue: elements.count)])
            elements.append([child])
        }
        try node.setUnordered(elements)
        return true
    }
}

extension Dictionary: UnorderedCodable where Key: Encodable, Value: Encodable {
    fileprivate func encodeInOrder(_ node: CodedNode, _ path: [any CodingKey]) throws -> Bool {
        // Dictionaries with such keys are encoded as objects, whose keys are sorted.
        if Key.self == String.self || Key.self == Int.self || Key.self is any CodingKeyRepresentable.Type {
            return false
        }
        var entries: [[CodedNode]] = []
        entries.reserveCapacity(count)
        for (key, value) in self {
            let (first, second) = (node.child(), node.child())
            try first.encode(key, path + [CodedKey(intValue: 2 * entries.count)])
            try second.encode(value, path + [CodedKey(intValue: 2 * entries.count + 1)])
            entries.append([first, second])
        }
        try node.setUnordered(entries)
        return true
    }
}

// MARK: - The encoder

private struct CodedKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = "Index \(intValue)"
        self.intValue = intValue
    }

    static let `super` = CodedKey(stringValue: "super")
}

private struct CodedEncoder: Encoder {
    let node: CodedNode
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy _: Key.Type) -> KeyedEncodingContainer<Key> {
        node.beginObject()
        return KeyedEncodingContainer(CodedObject<Key>(node: node, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.beginArray()
        return CodedArray(node: node, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        CodedSingleValue(node: node, codingPath: codingPath)
    }
}

// Each container has one generic function for values, which is also the witness of the protocol's functions for numbers
// and strings. 128-bit integers need functions of their own: the protocols' default ones throw.

private struct CodedObject<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: CodedNode
    let codingPath: [any CodingKey]

    func encodeNil(forKey key: Key) { node.member(key.stringValue).set(text: "null") }

    func encode<Coded: Encodable>(_ value: Coded, forKey key: Key) throws {
        try node.member(key.stringValue).encode(value, codingPath + [key])
    }

    func encode(_ value: Int128, forKey key: Key) { node.member(key.stringValue).set(text: String(value)) }
    func encode(_ value: UInt128, forKey key: Key) { node.member(key.stringValue).set(text: String(value)) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        encoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { encoder(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { encoder(CodedKey.super) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }

    private func encoder(_ key: any CodingKey) -> CodedEncoder {
        CodedEncoder(node: node.member(key.stringValue, keepsContainer: true), codingPath: codingPath + [key])
    }
}

private struct CodedArray: UnkeyedEncodingContainer {
    let node: CodedNode
    let codingPath: [any CodingKey]
    var count: Int { node.count }

    func encodeNil() { node.element().set(text: "null") }

    func encode<Coded: Encodable>(_ value: Coded) throws {
        let key = CodedKey(intValue: count)
        try node.element().encode(value, codingPath + [key])
    }

    func encode(_ value: Int128) { node.element().set(text: String(value)) }
    func encode(_ value: UInt128) { node.element().set(text: String(value)) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        encoder().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder().unkeyedContainer() }
    func superEncoder() -> any Encoder { encoder() }

    private func encoder() -> CodedEncoder {
        let key = CodedKey(intValue: count)
        return CodedEncoder(node: node.element(), codingPath: codingPath + [key])
    }
}

private struct CodedSingleValue: SingleValueEncodingContainer {
    let node: CodedNode
    let codingPath: [any CodingKey]

    func encodeNil() { node.set(text: "null") }
    func encode<Coded: Encodable>(_ value: Coded) throws { try node.encode(value, codingPath) }
    func encode(_ value: Int128) { node.set(text: String(value)) }
    func encode(_ value: UInt128) { node.set(text: String(value)) }
}
