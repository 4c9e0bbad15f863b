// SPDX-License-Identifier: Apache-2.0
// Conditions in the spelling of Swift, which people write out of habit: errors say how the query language spells them.

enum SwiftSpelling {
    /// Functions of the language for tests that stand between their operands in Swift.
    private static let functions = [
        "contains": "CONTAINS(x, 'part')", "hasPrefix": "STARTS_WITH(x, 'part')", "hasSuffix": "ENDS_WITH(x, 'part')",
        "matches": "MATCH(x, 'words')",
    ]

    static let concatenation = "“||” joins texts: write OR between conditions"

    /// How the language spells `name`, as in `title contains "x"`; nil for any other name.
    static func correction(test name: String) -> String? {
        functions[name].map { "“\(name)” is a function here: \($0)" }
    }

    /// What to write for a sign that the language doesn't have; empty for any other sign.
    static func hint(sign: Unicode.Scalar) -> String {
        switch sign {
        case "&": ": write AND for &&"
        case "|": ": write OR"
        case "!": ": write NOT"
        default: ""
        }
    }

    /// What to write for a name that stands for nothing here; nil for any other name.
    static func hint(name: String) -> String? {
        name == "nil" ? ": nil is NULL here, and IS NULL tests for it" : nil
    }
}

extension Expression {
    /// Whether it can be nothing but true, false or unknown.
    var isCondition: Bool {
        switch self {
        case .like, .between, .within, .withinArray, .test, .quantified, .match, .unary(.not, _, _): true
        case .binary(let sign, _, _, _): sign == .and || sign == .or || Comparison(sign) != nil
        default: false
        }
    }
}
