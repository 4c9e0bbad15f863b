// SPDX-License-Identifier: Apache-2.0
// What JSON coders know of relations, and JSON for people.

public import FoundationEssentials

extension JSONEncoder {
    /// How relations are encoded; plain at first.
    public var relationEncodingStrategy: RelationEncodingStrategy {
        get { .init(userInfo) }
        set { userInfo[RelationEncodingStrategy.userInfoKey] = newValue }
    }

    /// An encoder for people: indented, keys in order.
    public static var prettyPrinting: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}

extension JSONDecoder {
    /// Which forms of relations are decoded; the plain one at first.
    public var relationDecodingStrategy: RelationDecodingStrategy {
        get { .init(userInfo) }
        set { userInfo[RelationDecodingStrategy.userInfoKey] = newValue }
    }
}

extension Encodable {
    /// The value as JSON; nil if it can't be encoded.
    public func prettyDescription(with encoder: JSONEncoder = .prettyPrinting) -> String? {
        guard let data = try? encoder.encode(self) else { return nil }
        return String(decoding: data, as: UTF8.self)
    }
}
