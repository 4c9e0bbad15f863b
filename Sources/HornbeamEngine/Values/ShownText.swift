// SPDX-License-Identifier: Apache-2.0
// Shortens user data of any length for messages.

extension String {
    /// The whole text if it is short; else its beginning and its size.
    /// - Parameter limit: maximum size of the shown part in bytes of UTF-8.
    package func shown(_ limit: Int = 200) -> String {
        utf8.count <= limit ? self : "\(beginning(limit))… (\(utf8.count) bytes)"
    }

    /// The whole message if it is short; else its beginning, its size and its end, which mostly names the remedy.
    package func shownAsMessage(_ limit: Int = 4_000) -> String {
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
