// SPDX-License-Identifier: Apache-2.0
// Conditions in the spelling of Swift, which people write out of habit: errors say how the query language spells them.

enum SwiftSpelling {
    /// The function of the query language for each Swift method on strings.
    private static let functions = [
        "contains": "CONTAINS(x, 'part')", "hasPrefix": "STARTS_WITH(x, 'part')", "hasSuffix": "ENDS_WITH(x, 'part')",
        "matches": "MATCH(x, 'words')",
    ]

    static let concatenation = "“||” joins texts: write OR between conditions"

    /// The function to call for a Swift method between operands, such as `title contains "x"`. Returns nil for any
    /// other name.
    static func correction(test name: String) -> String? {
        functions[name].map { "“\(name)” is a function here: \($0)" }
    }

    /// The end of an error about an unknown sign: the keyword to write for it. Empty if there is none.
    static func hint(sign: Unicode.Scalar) -> String {
        switch sign {
        case "&": ": write AND for &&"
        case "|": ": write OR"
        case "!": ": write NOT"
        default: ""
        }
    }

    /// The end of an error about the unknown name `nil`. Returns nil for any other name.
    static func hint(name: String) -> String? {
        name == "nil" ? ": nil is NULL here, and IS NULL tests for it" : nil
    }
}

extension Expression {
    /// Whether its value is always true, false or unknown.
    var isCondition: Bool {
        switch self {
        case .like, .between, .within, .withinArray, .test, .quantified, .match, .exists, .unary(.not, _, _): true
        case .binary(let sign, _, _, _): sign == .and || sign == .or || Comparison(sign) != nil
        default: false
        }
    }
}
