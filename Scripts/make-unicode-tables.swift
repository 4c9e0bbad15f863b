// SPDX-License-Identifier: Apache-2.0
// Writes Sources/HornbeamText/Analysis/UnicodeTables.swift from the toolchain's own scalar properties, and with the
// argument `folding` FoldingTables.swift beside it:
//     swift Scripts/make-unicode-tables.swift > Sources/HornbeamText/Analysis/UnicodeTables.swift
//     swift Scripts/make-unicode-tables.swift folding > Sources/HornbeamText/Analysis/FoldingTables.swift
// A stored index depends on the tables: if they are regenerated with a newer Unicode, existing indexes refuse to open
// until they are rebuilt.

import Foundation

func isWord(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
        .decimalNumber, .letterNumber, .otherNumber:
        return true
    default: return false
    }
}

/// Adds a scalar to ranges that grow upward.
func add(_ value: UInt32, to ranges: inout [(first: UInt32, last: UInt32)]) {
    if let last = ranges.last, last.last + 1 == value {
        ranges[ranges.count - 1].last = value
    } else {
        ranges.append((value, value))
    }
}

/// Returns the form that all forms of a letter share. İ, whose lower case has a mark, and ẞ need the first step. The
/// iota below a Greek letter stays a mark, which may come before others, and becomes a letter after all of them.
func folded(_ scalar: Unicode.Scalar) -> [UInt32] {
    let parts = Array(String(scalar).decomposedStringWithCanonicalMapping.unicodeScalars)
    if parts.last?.value == 0x345 { return parts.dropLast().flatMap(folded) + [0x345] }
    let lower = scalar.properties.lowercaseMapping.unicodeScalars
    let upper = lower.flatMap { $0.properties.uppercaseMapping.unicodeScalars }
    return upper.flatMap { $0.properties.lowercaseMapping.unicodeScalars }.map(\.value)
}

extension Unicode.GeneralCategory {
    var isNumber: Bool { [.decimalNumber, .letterNumber, .otherNumber].contains(self) }
}

func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: return true
    default: return false
    }
}

/// Kana with sound marks aren't decomposed, nor are the syllables of Hangul, which need no table.
func staysWhole(_ value: UInt32) -> Bool {
    (0x3040...0x30FF).contains(value) || (0xAC00...0xD7A3).contains(value)
}

var age = (major: 0, minor: 0)
var words: [(first: UInt32, last: UInt32)] = []
var cased: [(first: UInt32, last: UInt32)] = []
var caseIgnorable: [(first: UInt32, last: UInt32)] = []
var lower: [(first: UInt32, last: UInt32, step: UInt32, shift: Int64)] = []
var numbers: [(first: UInt32, last: UInt32)] = []
var marks: [(first: UInt32, last: UInt32)] = []
var formats: [(first: UInt32, last: UInt32)] = []
var foldings: [[UInt32]] = []
var decompositions: [[UInt32]] = []
var classes: [(first: UInt32, last: UInt32, value: UInt8)] = []
for value in UInt32(0)...0x10FFFF {
    guard let scalar = Unicode.Scalar(value) else { continue }
    if let added = scalar.properties.age, added > age { age = (added.major, added.minor) }
    if isWord(scalar) { add(value, to: &words) }
    if isWord(scalar), scalar.properties.generalCategory.isNumber { add(value, to: &numbers) }
    if isMark(scalar) { add(value, to: &marks) }
    if scalar.properties.generalCategory == .format { add(value, to: &formats) }
    let parts = String(scalar).decomposedStringWithCanonicalMapping.unicodeScalars.map(\.value)
    // A letter with another folded form is looked up in that form.
    if parts != [value], !isWord(scalar) || folded(scalar) == [value], !staysWhole(value) {
        decompositions.append([value] + parts)
    }
    let order = scalar.properties.canonicalCombiningClass.rawValue
    if order > 0 {
        if let last = classes.last, last.last + 1 == value, last.value == order {
            classes[classes.count - 1].last = value
        } else {
            classes.append((value, value, order))
        }
    }
    if scalar.properties.isCased { add(value, to: &cased) }
    if scalar.properties.isCaseIgnorable { add(value, to: &caseIgnorable) }
    let lowered = scalar.properties.lowercaseMapping.unicodeScalars.map(\.value)
    if isWord(scalar), folded(scalar) != lowered || lowered.count > 1 { foldings.append([value] + folded(scalar)) }
    let mapping = Array(scalar.properties.lowercaseMapping.unicodeScalars)
    if mapping.count != 1 {
        precondition(value == 0x130, "a new scalar with a longer lower-case mapping: teach it to the tokenizer")
        continue
    }
    let shift = Int64(mapping[0].value) - Int64(value)
    guard shift != 0 else { continue }
    if let row = lower.last, row.shift == shift, value - row.last <= 2,
        row.first == row.last || value - row.last == row.step
    {
        lower[lower.count - 1].step = value - row.last
        lower[lower.count - 1].last = value
    } else {
        lower.append((value, value, 1, shift))
    }
}

/// Returns rows of numbers that fill 120 columns.
func lines(_ items: [String]) -> String {
    var text = ""
    var line = "       "
    for item in items {
        if line.count + item.count + 1 > 120 {
            text += line + "\n"
            line = "       "
        }
        line += " " + item
    }
    return text + line
}

func hex(_ value: some BinaryInteger) -> String { String(value, radix: 16, uppercase: true) }

/// Returns a declaration whose value is read from text, because the compiler takes long over literals of thousands of
/// elements.
func table(_ name: String, _ type: String, _ items: [String]) -> String {
    """
    static let \(name): [\(type)] = FrozenNumbers.read(
            \"\"\"
    \(lines(items))
            \"\"\")
    """
}

/// Returns lists of scalars, each after its count.
func counted(_ rows: [[UInt32]]) -> [String] {
    rows.flatMap { [hex($0.count - 1)] + $0.map { hex($0) } }
}

if CommandLine.arguments.dropFirst().first == "folding" {
    print(
        """
        // SPDX-License-Identifier: Apache-2.0
        // GENERATED by Scripts/make-unicode-tables.swift; do not edit. The folding of case and accents, frozen here
        // like the tables beside it.

        /// The lists from which `FoldingRules` is built.
        enum FoldingTables {
            /// Numbers (general category N*): first and last of each range.
            \(table("numbers", "UInt32", numbers.flatMap { [hex($0.first), hex($0.last)] }))

            /// Marks (general category M*): first and last of each range.
            \(table("marks", "UInt32", marks.flatMap { [hex($0.first), hex($0.last)] }))

            /// Invisible formatting characters (Cf): first and last of each range.
            \(table("formats", "UInt32", formats.flatMap { [hex($0.first), hex($0.last)] }))

            /// Letters whose folded form isn't their lower case: the number of scalars, the letter, its folded form.
            \(table("foldings", "UInt32", counted(foldings)))

            /// Folded letters, marks and symbols with a canonical decomposition, without kana and Hangul: the number
            /// of scalars, the letter, its decomposition.
            \(table("decompositions", "UInt32", counted(decompositions)))

            /// Marks with a canonical combining class, by which those of one letter are ordered: first and last of
            /// each range, and the class.
            \(table("classes", "UInt32", classes.flatMap { [hex($0.first), hex($0.last), hex($0.value)] }))
        }
        """)
    exit(0)
}

print(
    """
    // SPDX-License-Identifier: Apache-2.0
    // GENERATED by Scripts/make-unicode-tables.swift; do not edit. Unicode's data on letters, numbers and case,
    // frozen here so that a newer toolchain doesn't change stored indexes.

    /// The ranges from which `ScalarTables` is built.
    enum UnicodeTables {
        /// The version of Unicode the tables were made from.
        static let version = (major: UInt16(\(age.major)), minor: UInt16(\(age.minor)))

        /// Scalars of the general categories L* and N*: first and last of each range.
        \(table("words", "UInt32", words.flatMap { [hex($0.first), hex($0.last)] }))

        /// Scalars with a lower-case mapping to one other scalar: first, last and step of each run, and the offset.
        \(table("lower", "Int32", lower.flatMap { [hex($0.first), hex($0.last), hex($0.step), hex($0.shift)] }))

        /// Scalars with the property Cased: first and last of each range.
        \(table("cased", "UInt32", cased.flatMap { [hex($0.first), hex($0.last)] }))

        /// Scalars with the property Case_Ignorable: first and last of each range.
        \(table("caseIgnorable", "UInt32", caseIgnorable.flatMap { [hex($0.first), hex($0.last)] }))
    }
    """)
