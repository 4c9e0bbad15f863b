// SPDX-License-Identifier: Apache-2.0
// Relation strategies of JSON coders, and indented JSON.

public import FoundationEssentials

extension JSONEncoder {
    /// The form in which relations are encoded, plain by default.
    public var relationEncodingStrategy: RelationEncodingStrategy {
        get { .init(userInfo) }
        set { userInfo[RelationEncodingStrategy.userInfoKey] = newValue }
    }

    /// An encoder for readable output: indented, with sorted keys.
    public static var prettyPrinting: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}

extension JSONDecoder {
    /// The forms in which relations are decoded, plain by default.
    public var relationDecodingStrategy: RelationDecodingStrategy {
        get { .init(userInfo) }
        set { userInfo[RelationDecodingStrategy.userInfoKey] = newValue }
    }
}

extension Encodable {
    /// Returns the value as JSON, or nil if it can't be encoded.
    public func prettyDescription(with encoder: JSONEncoder = .prettyPrinting) -> String? {
        guard let data = try? encoder.encode(self) else { return nil }
        return String(decoding: data, as: UTF8.self)
    }
}
