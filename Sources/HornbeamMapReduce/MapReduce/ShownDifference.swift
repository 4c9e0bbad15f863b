// SPDX-License-Identifier: Apache-2.0
// Two different results of a reducer, in the words of a message.

/// Two different values in the words of a message. Shows the first different part of lists and dictionaries, and the
/// part of long texts from the first difference on.
struct ShownDifference: CustomStringConvertible {
    private let found: String
    private let expected: String
    private let place: String

    init(_ found: Any, _ expected: Any) {
        if let found = found as? MapKey, let expected = expected as? MapKey {
            self.init(found, expected, place: "")
        } else {
            self.init("\(found)", "\(expected)", place: "")
        }
    }

    private init(_ found: MapKey, _ expected: MapKey, place: String) {
        switch (found, expected) {
        case (.array(let left), .array(let right)) where left.count == right.count:
            if let index = left.indices.first(where: { left[$0] != right[$0] }) {
                self.init(left[index], right[index], place: "\(place)[\(index)]")
                return
            }
        case (.dictionary(let left), .dictionary(let right)):
            let keys = Set(left.keys).union(right.keys).sorted()
            if let key = keys.first(where: { left[$0] != right[$0] }) {
                let inner = "\(place)[\"\(key.shown(60))\"]"
                if let found = left[key], let expected = right[key] {
                    self.init(found, expected, place: inner)
                } else {
                    self.init(
                        left[key]?.description ?? "nothing", right[key]?.description ?? "nothing", place: inner)
                }
                return
            }
        default: break
        }
        self.init(found.description, expected.description, place: place)
    }

    /// Shows long texts from a little before their first difference.
    private init(_ found: String, _ expected: String, place: String) {
        let shared = zip(found.unicodeScalars, expected.unicodeScalars).prefix { $0 == $1 }.count
        func part(_ text: String) -> String {
            guard text.utf8.count > 200, shared > 40 else { return text.shown() }
            return "…" + String(text.unicodeScalars.dropFirst(shared - 20)).shown()
        }
        self.found = part(found)
        self.expected = part(expected)
        self.place = place
    }

    var description: String { "it gives \(found)\(place.isEmpty ? "" : " at \(place)"), and should give \(expected)" }
}
