// SPDX-License-Identifier: Apache-2.0
// Functions of numbers. Those that round leave integers as they are.

import FoundationEssentials
import Glibc

enum NumberFunctions {
    static let all: [ScalarFunction] = [
        ScalarFunction("abs", 1...1) { arguments, _ in
            if let integer = whole(arguments[0]) { return try Arithmetic.item(Int128(integer.magnitude), "abs") }
            if case .value(.decimal(let number)) = arguments[0] { return .value(.decimal(number.magnitude)) }
            return arguments[0].number.map { .double(abs($0)) } ?? .null
        },
        ScalarFunction("sign", 1...1) { arguments, _ in
            guard let number = arguments[0].number, !number.isNaN else { return .null }
            return .int(number < 0 ? -1 : number > 0 ? 1 : 0)
        },
        rounding("ceil") { $0.rounded(.up) },
        rounding("floor") { $0.rounded(.down) },
        digits("round", .toNearestOrAwayFromZero),
        digits("round_even", .toNearestOrEven),
        digits("trunc", .towardZero),
        number("sqrt") { $0 < 0 ? nil : $0.squareRoot() },
        number("exp") { Glibc.exp($0) },
        number("ln") { $0 <= 0 ? nil : Glibc.log($0) },
        number("log") { $0 <= 0 ? nil : Glibc.log10($0) },
        number("sin") { Glibc.sin($0) },
        number("cos") { Glibc.cos($0) },
        number("tan") { Glibc.tan($0) },
        number("asin") { abs($0) > 1 ? nil : Glibc.asin($0) },
        number("acos") { abs($0) > 1 ? nil : Glibc.acos($0) },
        number("atan") { Glibc.atan($0) },
        number("degrees") { $0 * 180 / .pi },
        number("radians") { $0 * .pi / 180 },
        ScalarFunction("pi", 0...0) { _, _ in .double(.pi) },
        ScalarFunction("e", 0...0) { _, _ in .double(Glibc.exp(1)) },
        ScalarFunction("power", 2...2) { arguments, _ in
            guard let base = arguments[0].number, let exponent = arguments[1].number else { return .null }
            return .double(Glibc.pow(base, exponent))
        },
        ScalarFunction("atan2", 2...2) { arguments, _ in
            guard let y = arguments[0].number, let x = arguments[1].number else { return .null }
            return .double(Glibc.atan2(y, x))
        },
        ScalarFunction("div", 2...2) { arguments, _ in
            guard let left = arguments[0].number, let right = arguments[1].number, right != 0 else { return .null }
            return .double(left / right)
        },
        ScalarFunction("idiv", 2...2) { arguments, _ in
            guard let left = whole(arguments[0]), let right = whole(arguments[1]), right != 0 else { return .null }
            return try Arithmetic.item(left / right, "idiv")
        },
    ]

    /// An integer of an integer type.
    private static func whole(_ item: Item) -> Int128? {
        switch item {
        case .value(.int), .value(.uint): item.integer
        default: nil
        }
    }

    private static func number(_ name: String, _ body: @escaping @Sendable (Double) -> Double?) -> ScalarFunction {
        ScalarFunction(name, 1...1) { arguments, _ in
            guard let number = arguments[0].number, let result = body(number) else { return .null }
            return .double(result)
        }
    }

    private static func rounding(_ name: String, _ body: @escaping @Sendable (Double) -> Double) -> ScalarFunction {
        ScalarFunction(name, 1...1) { arguments, _ in
            if whole(arguments[0]) != nil { return arguments[0] }
            return arguments[0].number.map { result(body($0)) } ?? .null
        }
    }

    /// To so many digits behind the point, none if nothing is said.
    private static func digits(_ name: String, _ rule: FloatingPointRoundingRule) -> ScalarFunction {
        ScalarFunction(name, 1...2) { arguments, _ in
            guard let number = arguments[0].number else { return .null }
            guard arguments.count == 2 else {
                return whole(arguments[0]) != nil ? arguments[0] : result(number.rounded(rule))
            }
            guard let count = arguments[1].integer, (-300...300).contains(count) else { return .null }
            if whole(arguments[0]) != nil, count >= 0 { return arguments[0] }
            let power = Glibc.pow(10, Double(count.magnitude))
            let scaled = (count < 0 ? number / power : number * power).rounded(rule)
            // Numbers so great have no digits behind the point.
            guard scaled.isFinite else { return .double(number) }
            return .double(count < 0 ? scaled * power : scaled / power)
        }
    }

    /// An integer where it is one of 64 bits.
    private static func result(_ number: Double) -> Item {
        Int64(exactly: number).map { .value(.int($0)) } ?? .double(number)
    }
}
