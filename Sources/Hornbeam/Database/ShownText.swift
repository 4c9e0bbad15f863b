// SPDX-License-Identifier: Apache-2.0
// Shortens user data of any length for messages.

extension String {
    /// The whole text if it is short; else its beginning and its size.
    /// - Parameter limit: maximum size of the shown part in bytes of UTF-8.
    func shown(_ limit: Int = 200) -> String {
        utf8.count <= limit ? self : "\(beginning(limit))… (\(utf8.count) bytes)"
    }

    /// The whole message if it is short; else its beginning, its size and its end, which mostly says what to do.
    func shownAsMessage(_ limit: Int = 4_000) -> String {
        guard utf8.count > limit else { return self }
        return "\(beginning(limit / 2)) … (\(utf8.count) bytes) … \(end(limit / 2))"
    }

    /// The longest beginning of whole scalars that fits into `size` bytes.
    private func beginning(_ size: Int) -> Substring {
        var end = utf8.index(startIndex, offsetBy: size)
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return self[..<end]
    }

    private func end(_ size: Int) -> Substring {
        var start = utf8.index(endIndex, offsetBy: -size)
        while start.samePosition(in: unicodeScalars) == nil { start = utf8.index(after: start) }
        return self[start...]
    }
}

/// Two different values in the words of a message. Of lists and dictionaries it shows the first part that differs, of
/// long texts the part from the first difference on.
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
