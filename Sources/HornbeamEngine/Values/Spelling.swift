// SPDX-License-Identifier: Apache-2.0
// Spells numbers, sizes, times and nouns as people write them, for messages, reports and the command.

package enum Spelling {
    /// `1234567` as `1,234,567`.
    package static func grouped(_ number: some BinaryInteger) -> String {
        let digits = Array(String(number.magnitude))
        var text = number.signum() < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        return text
    }

    /// A number with its noun: `1 row`, `2,000 rows`.
    package static func counted(_ number: some BinaryInteger, _ singular: String, _ plural: String? = nil) -> String {
        "\(grouped(number)) \(number == 1 ? singular : plural ?? singular + "s")"
    }

    /// Decimal units, three digits: `42.1 MB`.
    package static func bytes(_ size: UInt64) -> String {
        let units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"]
        guard size >= 1_000 else { return size == 1 ? "1 byte" : "\(size) bytes" }
        var value = Double(size)
        var unit = 0
        while value >= 999.5, unit < units.count - 1 {
            value /= 1_000
            unit += 1
        }
        return "\(fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0)) \(units[unit])"
    }

    /// `250 µs`, `4.1 ms`, `3.21 s`, `2:05 min`.
    package static func time(_ duration: Duration) -> String {
        let parts = duration.components
        let seconds = Double(parts.seconds) + Double(parts.attoseconds) * 1e-18
        if seconds < 0.000_999_5 { return "\(fixed(seconds * 1e6, 0)) µs" }
        if seconds < 0.009_95 { return "\(fixed(seconds * 1e3, 1)) ms" }
        if seconds < 0.999_5 { return "\(fixed(seconds * 1e3, 0)) ms" }
        if seconds < 99.95 { return "\(fixed(seconds, seconds < 9.995 ? 2 : 1)) s" }
        return "\(clock(seconds)) min"
    }

    /// `m:ss`, or `h:mm:ss`.
    package static func clock(_ seconds: Double) -> String {
        let whole = seconds.isFinite ? Int(min(max(0, seconds.rounded(.up)), 359_999)) : 359_999
        let two = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes) = (whole / 3_600, whole / 60 % 60)
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(whole % 60))" : "\(minutes):\(two(whole % 60))"
    }

    /// A number with `places` decimals, of at most 15 digits in all.
    package static func fixed(_ value: Double, _ places: Int) -> String {
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let scaled = (value * scale).rounded()
        guard scaled.magnitude < 1e15 else { return "\(value)" }
        let whole = Int64(scaled.magnitude)
        let sign = scaled < 0 ? "-" : ""
        guard places > 0 else { return "\(sign)\(whole)" }
        let fraction = String(whole % Int64(scale))
        let zeros = String(repeating: "0", count: places - fraction.count)
        return "\(sign)\(whole / Int64(scale)).\(zeros)\(fraction)"
    }

    /// A table with a line for each value: names in the first column, values in the second.
    package static func report(_ lines: [(name: String, value: String)]) -> String {
        let width = lines.map(\.name.count).max() ?? 0
        return lines.map { $0.name + String(repeating: " ", count: width - $0.name.count + 2) + $0.value }
            .joined(separator: "\n")
    }
}

extension String {
    /// The name with its article: `an int64`, `a uint64`, `an Author`, `a User`.
    package var withArticle: String {
        let name = lowercased().drop { $0 == "[" }
        // A "u" that is spoken as "you" takes "a".
        let isYou = ["uint", "uuid", "url", "uri", "uni", "us", "ut"].contains { name.hasPrefix($0) }
        return (name.first.map { "aeiou".contains($0) } == true && !isYou ? "an " : "a ") + self
    }
}

extension String {
    /// The text with `sign` before each of the ASCII `characters`. Bytes are compared, not Swift's characters: a quote
    /// and the accent behind it are one character to Swift, but a quote to a parser.
    package func escaping(_ characters: String, with sign: UInt8) -> String {
        guard utf8.contains(where: { characters.utf8.contains($0) }) else { return self }
        var bytes: [UInt8] = []
        for byte in utf8 {
            if characters.utf8.contains(byte) { bytes.append(sign) }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
