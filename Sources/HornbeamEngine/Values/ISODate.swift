// SPDX-License-Identifier: Apache-2.0
// Dates as text, exactly: ISO 8601 in UTC, used only where reading it back gives the very same double.

package enum ISODate {
    /// Seconds from 1970-01-01 to the reference date 2001-01-01.
    package static let referenceOffset = 978_307_200

    /// Seconds since the reference date as `2001-01-01T00:00:00Z`, with a fraction of up to nine digits; nil if no such
    /// text is exact, or the year is beyond 0000–9999.
    static func text(_ seconds: Double) -> String? {
        guard let whole = wholeSeconds(seconds) else { return nil }
        let nanoseconds = Int(((seconds - seconds.rounded(.down)) * 1e9).rounded())
        let text = text(whole, fraction: nanoseconds, digits: 9)
        return text.flatMap { ISODate.seconds($0) }?.bitPattern == seconds.bitPattern ? text : nil
    }

    /// The text of a time in milliseconds since 1970, exact; nil if the year is beyond 0000–9999.
    package static func text(milliseconds: Int) -> String? {
        let part = (milliseconds % 1000 + 1000) % 1000
        return text(milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0), fraction: part, digits: 3)
    }

    /// The text of a time in microseconds since 1970, exact; nil if the year is beyond 0000–9999.
    package static func text(microseconds: Int) -> String? {
        let part = (microseconds % 1_000_000 + 1_000_000) % 1_000_000
        return text((microseconds - part) / 1_000_000, fraction: part, digits: 6)
    }

    /// - Parameter seconds: since 1970.
    private static func text(_ seconds: Int, fraction: Int, digits: Int) -> String? {
        let (day, second) = dayAndSecond(seconds)
        let (year, month, dayOfMonth) = civil(day)
        guard (0...9999).contains(year) else { return nil }
        let head = pad(year, 4) + "-" + pad(month, 2) + "-" + pad(dayOfMonth, 2) + "T" + pad(second / 3600, 2)
        var text = head + ":" + pad(second / 60 % 60, 2) + ":" + pad(second % 60, 2)
        if fraction > 0 {
            text += "." + pad(fraction, digits)
            while text.hasSuffix("0") { text.removeLast() }
        }
        return text + "Z"
    }

    private static func pad(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// The seconds from 1970 to a date, rounded down; nil if the date is too far away for a text.
    package static func wholeSeconds(_ seconds: Double) -> Int? {
        abs(seconds) < 1e12 ? Int(seconds.rounded(.down)) + referenceOffset : nil
    }

    /// The milliseconds from 1970 to a date, rounded to the nearest: few dates are a whole number of them.
    package static func milliseconds(_ seconds: Double) -> Int? {
        wholeSeconds(seconds).map { $0 * 1000 + Int(((seconds - seconds.rounded(.down)) * 1000).rounded()) }
    }

    /// Reads `YYYY-MM-DD`, `YYYY-MM-DDThh:mm[:ss[.fraction]]` with `Z`, an offset `±hh:mm`, or neither (UTC).
    package static func seconds(_ text: String) -> Double? {
        guard let (whole, fraction) = read(text) else { return nil }
        let part = fraction.isEmpty ? 0 : Double("0." + String(decoding: fraction, as: UTF8.self)) ?? 0
        return Double(whole - referenceOffset) + part
    }

    /// The seconds from 1970 to the time in a text, without its fraction; nil if the text is no time.
    package static func wholeSeconds(_ text: String) -> Int? { read(text)?.seconds }

    /// The milliseconds from 1970 to the time in a text, cut off after the third digit; nil if the text is no time.
    package static func milliseconds(_ text: String) -> Int? {
        guard let (whole, fraction) = read(text) else { return nil }
        let digits = fraction.prefix(3) + Array(repeating: 48, count: max(0, 3 - fraction.count))
        return digits.reduce(0) { $0 * 10 + Int($1 - 48) } + whole * 1000
    }

    /// The microseconds from 1970 to the time in a text, without smaller fractions. Returns nil if the text is no time.
    package static func microseconds(_ text: String) -> Int? {
        guard let (seconds, fraction) = read(text) else { return nil }
        let digits = fraction.prefix(6) + Array(repeating: UInt8(ascii: "0"), count: max(0, 6 - fraction.count))
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } + seconds * 1_000_000
    }

    /// Reads a text as seconds since 1970 and the digits of their fraction; nil if the text is no time.
    private static func read(_ text: String) -> (seconds: Int, fraction: ArraySlice<UInt8>)? {
        var scanner = Scanner(bytes: Array(text.utf8))
        guard let year = scanner.number(4), scanner.take("-"), let month = scanner.number(2), scanner.take("-"),
            let day = scanner.number(2), (1...12).contains(month), (1...lastDay(year, month)).contains(day)
        else { return nil }
        var total = daysSince1970(year, month, day) * 86_400
        var fraction: ArraySlice<UInt8> = []
        if scanner.take("T") || scanner.take(" ") {
            guard let hour = scanner.number(2), scanner.take(":"), let minute = scanner.number(2), hour < 24,
                minute < 60
            else { return nil }
            total += hour * 3600 + minute * 60
            if scanner.take(":") {
                guard let second = scanner.number(2), second < 60 else { return nil }
                total += second
                if scanner.take(".") {
                    guard let part = scanner.fraction() else { return nil }
                    fraction = part
                }
            }
            guard let zone = scanner.zone() else { return nil }
            total -= zone
        }
        return scanner.isAtEnd ? (total, fraction) : nil
    }

    private static func lastDay(_ year: Int, _ month: Int) -> Int {
        if month == 2 { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28 }
        return [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    // The two conversions count from the first of March, so that the leap day ends the year.
    private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The number of the day since 1970, and the second of that day.
    package static func dayAndSecond(_ seconds: Int) -> (day: Int, second: Int) {
        let second = (seconds % 86_400 + 86_400) % 86_400
        return ((seconds - second) / 86_400, second)
    }

    /// - Parameter days: since 1970.
    package static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthIndex = (5 * dayOfYear + 2) / 153
        let month = monthIndex + (monthIndex < 10 ? 3 : -9)
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthIndex + 2) / 5 + 1)
    }

    private struct Scanner {
        let bytes: [UInt8]
        var at = 0

        var isAtEnd: Bool { at == bytes.count }

        mutating func take(_ character: Character) -> Bool {
            guard at < bytes.count, bytes[at] == character.asciiValue else { return false }
            at += 1
            return true
        }

        mutating func number(_ digits: Int) -> Int? {
            guard at + digits <= bytes.count else { return nil }
            var number = 0
            for _ in 0..<digits {
                guard (48...57).contains(bytes[at]) else { return nil }
                number = number * 10 + Int(bytes[at] - 48)
                at += 1
            }
            return number
        }

        mutating func fraction() -> ArraySlice<UInt8>? {
            let start = at
            while at < bytes.count, (48...57).contains(bytes[at]) { at += 1 }
            guard at > start, at - start <= 18 else { return nil }
            return bytes[start..<at]
        }

        /// Seconds east of UTC.
        mutating func zone() -> Int? {
            if isAtEnd || take("Z") { return 0 }
            let sign = take("+") ? 1 : take("-") ? -1 : 0
            guard sign != 0, let hours = number(2) else { return nil }
            _ = take(":")
            guard let minutes = number(2), hours < 24, minutes < 60 else { return nil }
            return sign * (hours * 3600 + minutes * 60)
        }
    }
}

extension ISODate {
    /// Appends a date without a fraction of a second as a string of JSON, in the form of `text`. Returns false and
    /// appends nothing for other dates.
    static func append(_ seconds: Double, to bytes: inout [UInt8]) -> Bool {
        // Zero is left out, because no text is exact for the negative zero.
        guard seconds == seconds.rounded(.down), seconds != 0, let whole = wholeSeconds(seconds) else { return false }
        let (days, second) = dayAndSecond(whole)
        let (year, month, day) = civil(days)
        guard (0...9999).contains(year) else { return false }
        bytes.append(UInt8(ascii: "\""))
        append(year, 4, &bytes)
        append(month, 2, &bytes, behind: "-")
        append(day, 2, &bytes, behind: "-")
        append(second / 3600, 2, &bytes, behind: "T")
        append(second / 60 % 60, 2, &bytes, behind: ":")
        append(second % 60, 2, &bytes, behind: ":")
        bytes.append(UInt8(ascii: "Z"))
        bytes.append(UInt8(ascii: "\""))
        return true
    }

    private static func append(
        _ number: Int, _ width: Int, _ bytes: inout [UInt8], behind sign: Unicode.Scalar? = nil
    ) {
        if let sign { bytes.append(UInt8(ascii: sign)) }
        var divisor = width == 4 ? 1000 : 10
        while divisor > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
    }
}
