// SPDX-License-Identifier: Apache-2.0
// Functions that test the kind of a value, convert it, or choose the first known value; and functions of dates.

import FoundationEssentials

enum ValueFunctions {
    static let all: [ScalarFunction] = choices + tests + conversions + dates

    // MARK: Choices

    private static let choices: [ScalarFunction] = [
        first("coalesce") { !$0.isUnknown },
        first("ifmissingornull") { !$0.isUnknown },
        first("ifnull") { $0 != .null },
        first("ifmissing") { $0 != .missing },
        unlessEqual("nullif", .null),
        unlessEqual("missingif", .missing),
        extreme("greatest") { $0 > 0 },
        extreme("least") { $0 < 0 },
    ]

    /// A function that returns the first argument that passes, or null if none does.
    private static func first(_ name: String, _ passes: @escaping @Sendable (StatementValue) -> Bool) -> ScalarFunction
    {
        ScalarFunction(name, 2...100, isStrict: false) { arguments, _ in arguments.first(where: passes) ?? .null }
    }

    private static func unlessEqual(_ name: String, _ other: StatementValue) -> ScalarFunction {
        // Unknown values equal nothing; then the first argument is the result.
        ScalarFunction(name, 2...2, isStrict: false) { arguments, _ in
            let isKnown = !arguments[0].isUnknown && !arguments[1].isUnknown
            return isKnown && arguments[0].equals(arguments[1]) ? other : arguments[0]
        }
    }

    private static func extreme(_ name: String, _ wins: @escaping @Sendable (Int) -> Bool) -> ScalarFunction {
        ScalarFunction(name, 2...100, isStrict: false) { arguments, _ in
            var best = StatementValue.null
            for item in arguments where !item.isUnknown && (best == .null || wins(item.order(best))) { best = item }
            return best
        }
    }

    // MARK: Types

    private static let tests: [ScalarFunction] =
        test("array") { $0 == "array" } + test("object") { $0 == "object" } + test("string") { $0 == "string" }
        + test("number") { $0 == "number" } + test("boolean") { $0 == "boolean" } + test("date") { $0 == "date" }
        + test("atom") { $0 != "array" && $0 != "object" }
        + [ScalarFunction("type", 1...1, isStrict: false) { arguments, _ in .string(type(of: arguments[0])) }]

    /// The function under two names, with and without an underscore.
    private static func test(_ name: String, _ passes: @escaping @Sendable (String) -> Bool) -> [ScalarFunction] {
        ["is_\(name)", "is\(name)"].map { word in
            ScalarFunction(word, 1...1) { arguments, _ in .bool(passes(type(of: arguments[0]))) }
        }
    }

    private static func type(of item: StatementValue) -> String {
        switch item {
        case .missing: "missing"
        case .array, .value(.array): "array"
        case .object: "object"
        case .value(let value):
            switch value {
            case .null: "null"
            case .bool: "boolean"
            case .int, .uint, .double, .decimal: "number"
            case .date: "date"
            case .uuid: "uuid"
            case .data: "data"
            default: "string"
            }
        }
    }

    // MARK: Conversions

    private static let conversions: [ScalarFunction] = [
        conversion("string") { item in
            switch item {
            case .array, .object: .null
            case .value(.string): item
            default: .string(text(of: item))
            }
        },
        conversion("number") { item in
            switch item {
            case .value(.int), .value(.uint), .value(.double), .value(.decimal): item
            case .value(.bool(let flag)): .int(flag ? 1 : 0)
            case .value(.date(let seconds)): .double(seconds)
            case .value(.string(let text)):
                StatementValue.written(text).map { .value($0) } ?? Double(text).map { .double($0) } ?? .null
            default: .null
            }
        },
        conversion("boolean") { item in
            switch item {
            case .value(.bool): item
            case .value(.string(let text)): .bool(!text.isEmpty)
            case .array(let items): .bool(!items.isEmpty)
            case .object(let fields): .bool(!fields.isEmpty)
            default: item.number.map { .bool($0 != 0 && !$0.isNaN) } ?? .bool(true)
            }
        },
        conversion("array") { item in if case .array = item { item } else { .array([item]) } },
    ]

    private static func conversion(_ name: String, _ body: @escaping @Sendable (StatementValue) -> StatementValue)
        -> ScalarFunction
    {
        ScalarFunction("to\(name)", 1...1) { arguments, _ in body(arguments[0]) }
    }

    /// The text of a value as in JSON, without quotes.
    static func text(of item: StatementValue) -> String { item.text ?? (item.node.plainText) }

    // MARK: Dates

    private static let dates: [ScalarFunction] = [
        ScalarFunction("date", 1...1) { arguments, _ in date(arguments[0]).map { .value(.date($0)) } ?? .null },
        ScalarFunction("date_part", 2...2) { arguments, _ in
            guard let part = arguments[1].text, let seconds = wholeSeconds(arguments[0]) else { return .null }
            return try component(part, of: seconds)
        },
        ScalarFunction("str_to_millis", 1...1) { arguments, _ in
            milliseconds(arguments[0]).map { .int($0) } ?? .null
        },
        ScalarFunction("millis_to_str", 1...1) { arguments, _ in
            guard let whole = try NumberFunctions.rounded(arguments[0], 0, .down)?.integer,
                let millis = Int(exactly: whole)
            else { return .null }
            return ISODate.text(milliseconds: millis).map { .string($0) } ?? .null
        },
    ]

    /// The seconds since 2001 of a date, or of a text that spells one.
    private static func date(_ item: StatementValue) -> Double? {
        switch item {
        case .value(.date(let seconds)): seconds
        case .value(.string(let text)): ISODate.seconds(text)
        default: nil
        }
    }

    /// Whole seconds since 1970; nil if the item is no date.
    private static func wholeSeconds(_ item: StatementValue) -> Int? {
        switch item {
        case .value(.date(let seconds)): ISODate.wholeSeconds(seconds)
        case .value(.string(let text)): ISODate.wholeSeconds(text)
        default: nil
        }
    }

    private static func milliseconds(_ item: StatementValue) -> Int? {
        switch item {
        case .value(.date(let seconds)): ISODate.milliseconds(seconds)
        case .value(.string(let text)): ISODate.milliseconds(text)
        default: nil
        }
    }

    /// A part of a date, in UTC. Throws `.invalid` if dates have no part of this name.
    private static func component(_ name: String, of seconds: Int) throws -> StatementValue {
        let (day, time) = ISODate.dayAndSecond(seconds)
        let civil = ISODate.civil(day)
        switch name.lowercased() {
        case "year": return .int(civil.year)
        case "quarter": return .int((civil.month + 2) / 3)
        case "month": return .int(civil.month)
        case "day": return .int(civil.day)
        case "hour": return .int(time / 3600)
        case "minute": return .int(time / 60 % 60)
        case "second": return .int(time % 60)
        // Sunday is 0; 1970-01-01 was a Thursday.
        case "day_of_week", "dow": return .int(((day + 4) % 7 + 7) % 7)
        default:
            throw HornbeamError(
                .invalid,
                "a date has no part “\(name)”: ask for year, quarter, month, day, hour, minute, second or day_of_week")
        }
    }
}

extension JSONNode {
    /// Strings without their quotes.
    var plainText: String { if case .string(let text) = self { text } else { text } }
}
