// SPDX-License-Identifier: Apache-2.0
// Properties of scalars for the tokenizer of `unicode`: the role in a word, the folded form, the base letter. Made once
// from the frozen tables, so that a newer toolchain can't change the meaning of a stored index.

/// The role of a scalar in a text, after the property Word_Break of Unicode's annex 29. Letters of scripts without
/// spaces have a role of their own, whatever their Word_Break is.
enum WordPart: UInt8 {
    case separator = 0
    case letter, number
    /// Letters and ideographs of scripts without spaces between words, and Hangul: taken in pairs.
    case unspaced
    /// Underscores and similar scalars. They join both sides, and aren't a word by themselves.
    case joiner
    /// Marks, and formatting characters. They belong to the scalar before them.
    case mark, format
    /// Joins two letters (`·`), two numbers (`,`), or both (`.` and `'`).
    case midLetter, midNumber, midBoth
    /// An apostrophe of any form. Joins like `midBoth`, and is written as `'`.
    case apostrophe
}

/// Look-up tables over all scalars. Immutable after initialization, so any thread may read them.
struct FoldingRules: @unchecked Sendable {
    static let shared = FoldingRules()

    /// The properties of a scalar, in a byte.
    struct Facts {
        fileprivate var bits: UInt8
        var part: WordPart { WordPart(rawValue: bits & 0x0F) ?? .separator }
        /// Whether the folded form differs from the lower case.
        fileprivate var hasFolding: Bool { bits & 0x10 != 0 }
        fileprivate var hasDecomposition: Bool { bits & 0x20 != 0 }
        /// Whether it is a mark that is removed with accents.
        fileprivate var isAccent: Bool { bits & 0x40 != 0 }
        /// Whether it is a mark that is subject to canonical ordering, or is decomposed to such marks.
        var isOrdered: Bool { bits & 0x80 != 0 }
    }

    /// For each page of 256 scalars the index of its facts in `facts`. Equal pages share one.
    private let pages: UnsafePointer<UInt16>
    private let facts: UnsafePointer<UInt8>
    private let foldings: [UInt32: [UInt32]]
    private let decompositions: [UInt32: [UInt32]]
    private let compositions: [UInt64: UInt32]
    private let classes: [UInt32: UInt8]

    private static let scalarLimit = 0x11_0000
    /// The iota below a Greek letter: a mark that folds to a letter. It comes after all other marks of its letter.
    static let iota: UInt32 = 0x345

    private init() {
        foldings = Self.rows(FoldingTables.foldings)
        var decompositions = Self.rows(FoldingTables.decompositions)
        let letters = Dictionary(decompositions.map { ($0.value, $0.key) }, uniquingKeysWith: { min($0, $1) })
        compositions = Self.pairs(letters)
        // Letters with the same decomposition, such as the two of ά, are represented by the first.
        for (letter, parts) in decompositions where parts.count > 1 {
            if let first = letters[parts], first != letter { decompositions[letter] = [first] }
        }
        decompositions.merge(Self.strokes) { _, base in base }
        self.decompositions = decompositions
        var facts = Self.allParts()
        for scalar in foldings.keys { facts[Int(scalar)] |= 0x10 }
        for scalar in decompositions.keys { facts[Int(scalar)] |= 0x20 }
        for range in Self.accents { for scalar in range { facts[scalar] |= 0x40 } }
        classes = Self.combiningClasses()
        for scalar in classes.keys { facts[Int(scalar)] |= 0x80 }
        for (scalar, parts) in decompositions where parts.count > 1 && classes[parts[0]] != nil {
            facts[Int(scalar)] |= 0x80
        }
        (pages, self.facts) = Self.paged(facts)
    }

    @inline(__always)
    func facts(_ scalar: UInt32) -> Facts {
        guard scalar < Self.scalarLimit else { return Facts(bits: 0) }
        return Facts(bits: facts[Int(pages[Int(scalar >> 8)]) << 8 | Int(scalar & 255)])
    }

    /// Calls `body` with the scalars of the folded form, which is the same for all cases and widths of a letter. Case
    /// is folded as in `CaseFolding`. The dot of an i counts as an accent: if accents are kept, `ı` isn't `i`.
    @inline(__always)
    func forEachFolded(_ scalar: UInt32, keepsAccents: Bool, _ body: (UInt32) -> Void) {
        if keepsAccents, scalar == 0x131 { return body(scalar) }
        if facts(scalar).hasFolding, let folded = foldings[scalar] {
            for part in folded { body(part) }
        } else {
            body(canonical(ScalarTables.shared.lower(scalar)))
        }
    }

    /// Returns the canonical form of a letter that Unicode has twice or in another width.
    private func canonical(_ scalar: UInt32) -> UInt32 {
        guard scalar >= 0x340 else { return scalar }
        if (0xFF01...0xFF9D).contains(scalar) {
            if scalar <= 0xFF5E { return scalar - 0xFEE0 }
            return scalar >= 0xFF66 ? Self.kana[Int(scalar - 0xFF66)] : scalar
        }
        guard facts(scalar).hasDecomposition, let same = decompositions[scalar], same.count == 1,
            Self.strokes[scalar] == nil
        else { return scalar }
        return same[0]
    }

    /// Returns the composition of a letter and a mark, or nil if there is none.
    func composed(_ letter: UInt32, _ mark: UInt32) -> UInt32? {
        compositions[UInt64(letter) << 32 | UInt64(mark)] ?? Self.composedHangul(letter, mark)
            ?? Self.voiced(letter, mark)
    }

    /// Returns the class by which the marks of a letter are ordered; marks of one class keep their order. 0 for other
    /// scalars.
    func combiningClass(_ scalar: UInt32) -> UInt8 {
        facts(scalar).isOrdered ? classes[scalar] ?? 0 : 0
    }

    /// Returns the decomposition of a folded letter or mark. Returns nil if it has none.
    func parts(of scalar: UInt32) -> [UInt32]? {
        if scalar < 0xC0 { return nil }
        if let sounded = Self.sounded[scalar] { return sounded }
        guard facts(scalar).hasDecomposition, Self.strokes[scalar] == nil, let parts = decompositions[scalar],
            parts.count > 1
        else { return nil }
        return parts
    }

    /// Calls `body` with the scalars of a folded letter without its accents and strokes.
    @inline(__always)
    func forEachBase(_ scalar: UInt32, _ body: (UInt32) -> Void) {
        let facts = facts(scalar)
        guard facts.hasDecomposition, let parts = decompositions[scalar] else {
            if !facts.isAccent { body(scalar) }
            return
        }
        for part in parts where !self.facts(part).isAccent {
            // The base of an accented letter may have a stroke, as in ǿ.
            if let base = Self.strokes[part] { base.forEach(body) } else { body(part) }
        }
    }

    /// Marks that are removed with accents: of Latin, Greek, Cyrillic, Hebrew and Arabic, and marks for symbols. The
    /// vowel signs of other scripts are a part of the word, and so is the iota below Greek letters.
    private static let accents: [ClosedRange<Int>] = [
        0x300...0x344, 0x346...0x36F, 0x483...0x487, 0x591...0x5BD, 0x5BF...0x5BF, 0x5C1...0x5C2, 0x5C4...0x5C5,
        0x5C7...0x5C7,
        0x610...0x61A, 0x64B...0x65F, 0x670...0x670, 0x6D6...0x6DC, 0x6DF...0x6E4, 0x6E7...0x6E8, 0x6EA...0x6ED,
        0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE20...0xFE2F,
    ]

    /// Kana with sound marks, which aren't in the tables.
    private static let sounded: [UInt32: [UInt32]] = {
        var parts: [UInt32: [UInt32]] = [:]
        for kana in UInt32(0x3041)...0x30FF {
            for mark in [UInt32(0x3099), 0x309A] { if let whole = voiced(kana, mark) { parts[whole] = [kana, mark] } }
        }
        return parts
    }()

    /// Latin letters that readers decompose but Unicode doesn't.
    private static let strokes: [UInt32: [UInt32]] = [
        0xE6: [0x61, 0x65], 0xF0: [0x64], 0xF8: [0x6F], 0xFE: [0x74, 0x68], 0x111: [0x64], 0x127: [0x68],
        0x142: [0x6C], 0x153: [0x6F, 0x65], 0x167: [0x74], 0x180: [0x62], 0x1E5: [0x67],
        0x19A: [0x6C], 0x1B6: [0x7A], 0x23C: [0x63], 0x247: [0x65], 0x249: [0x6A], 0x24D: [0x72], 0x24F: [0x79],
        0x268: [0x69],
    ]

    /// The half-width kana from U+FF66 on, in full width.
    private static let kana = Array(
        "ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン".unicodeScalars
    ).map(\.value)
}

// Making the tables.
extension FoldingRules {
    private static func allParts() -> [UInt8] {
        var parts = [UInt8](repeating: WordPart.separator.rawValue, count: scalarLimit)
        func set(_ ranges: [UInt32], _ part: (UInt32) -> WordPart) {
            for index in stride(from: 0, to: ranges.count, by: 2) {
                for scalar in ranges[index]...ranges[index + 1] { parts[Int(scalar)] = part(scalar).rawValue }
            }
        }
        set(UnicodeTables.words) { scalar in
            if isUnspaced(scalar) { return .unspaced }
            return .letter
        }
        set(FoldingTables.numbers) { isUnspaced($0) ? .unspaced : .number }
        set(FoldingTables.marks) { _ in .mark }
        set(FoldingTables.formats) { _ in .format }
        // Half-width sound marks of kana are letters by category.
        for scalar in [0xFF9E, 0xFF9F] { parts[scalar] = WordPart.mark.rawValue }
        // It folds to a letter, independent of the scalar before it.
        parts[Int(iota)] = WordPart.letter.rawValue
        parts[0x200B] = WordPart.separator.rawValue
        for scalar in [0x200C, 0x200D] { parts[scalar] = WordPart.format.rawValue }
        for scalar in [0x5F, 0x203F, 0x2040, 0x2054, 0xFE33, 0xFE34, 0xFE4D, 0xFE4E, 0xFE4F, 0xFF3F] {
            parts[scalar] = WordPart.joiner.rawValue
        }
        // Without the colon, which only Swedish uses within words.
        for scalar in [0xB7, 0x387, 0x55F, 0x5F4, 0x2027] {
            parts[scalar] = WordPart.midLetter.rawValue
        }
        for scalar in [
            0x2C, 0x3B, 0x37E, 0x589, 0x60C, 0x60D, 0x66C, 0x7F8, 0x2044, 0xFE10, 0xFE14, 0xFE50, 0xFE54, 0xFF0C,
            0xFF1B,
        ] { parts[scalar] = WordPart.midNumber.rawValue }
        for scalar in [0x2E, 0x2024, 0xFE52, 0xFF0E] { parts[scalar] = WordPart.midBoth.rawValue }
        for scalar in [0x27, 0x2018, 0x2019, 0xFF07] { parts[scalar] = WordPart.apostrophe.rawValue }
        return parts
    }

    /// Whether a letter or number belongs to a script without spaces.
    private static func isUnspaced(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0xE01...0xE46, 0xE81...0xEC6, 0xEDC...0xEDF,  // Thai, Lao
            0x1000...0x103F, 0x1050...0x108F, 0xA9E0...0xA9EF, 0xA9FA...0xA9FE, 0xAA60...0xAA7F,  // Myanmar
            0x1780...0x17DC, 0x1950...0x19AF, 0x1A20...0x1A7F, 0xAA80...0xAADF,  // Khmer and the scripts of the Tai
            0x1100...0x11FF, 0x3131...0x318E, 0xA960...0xA97F, 0xAC00...0xD7FF, 0xFFA0...0xFFDC,  // Hangul
            0x3005...0x3007, 0x3021...0x3029, 0x3031...0x303C, 0x3041...0x30FF, 0x31F0...0x31FF, 0xFF66...0xFF9F,
            0x1AFF0...0x1B16F,  // kana
            0x3105...0x312F, 0x31A0...0x31BF,  // Bopomofo
            0x2E80...0x2FDF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xF900...0xFAFF, 0x2_0000...0x3_FFFF:  // Han
            true
        default: false
        }
    }

    private static func paged(_ all: [UInt8]) -> (pages: UnsafePointer<UInt16>, facts: UnsafePointer<UInt8>) {
        let pages = UnsafeMutablePointer<UInt16>.allocate(capacity: scalarLimit >> 8)
        var stored: [UInt8] = []
        var places: [ArraySlice<UInt8>: UInt16] = [:]
        for page in 0..<scalarLimit >> 8 {
            let content = all[page << 8..<(page + 1) << 8]
            let place = places[content] ?? UInt16(stored.count >> 8)
            if places.updateValue(place, forKey: content) == nil { stored += content }
            (pages + page).initialize(to: place)
        }
        let facts = UnsafeMutablePointer<UInt8>.allocate(capacity: stored.count)
        facts.initialize(from: stored, count: stored.count)
        return (UnsafePointer(pages), UnsafePointer(facts))
    }

    private static func combiningClasses() -> [UInt32: UInt8] {
        var classes: [UInt32: UInt8] = [:]
        let table = FoldingTables.classes
        for row in stride(from: 0, to: table.count, by: 3) {
            for scalar in table[row]...table[row + 1] { classes[scalar] = UInt8(truncatingIfNeeded: table[row + 2]) }
        }
        return classes
    }

    /// Reads lists that are preceded by their lengths. Returns them by their first scalar.
    private static func rows(_ table: [UInt32]) -> [UInt32: [UInt32]] {
        var rows: [UInt32: [UInt32]] = [:]
        var place = 0
        while place < table.count {
            let end = place + 2 + Int(table[place])
            rows[table[place + 1]] = Array(table[place + 2..<end])
            place = end
        }
        return rows
    }

    /// Returns each letter that is composed of another letter and a mark. The key has the letter in the upper half and
    /// the mark in the lower.
    /// - Parameter letters: by their decompositions.
    private static func pairs(_ letters: [[UInt32]: UInt32]) -> [UInt64: UInt32] {
        var pairs: [UInt64: UInt32] = [:]
        for (parts, letter) in letters where parts.count > 1 {
            let base = parts.count == 2 ? parts[0] : letters[Array(parts.dropLast())]
            if let base { pairs[UInt64(base) << 32 | UInt64(parts[parts.count - 1])] = letter }
        }
        return pairs
    }

    /// Composes Hangul syllables from their letters, by arithmetic (The Unicode Standard, 3.12).
    private static func composedHangul(_ first: UInt32, _ second: UInt32) -> UInt32? {
        if (0x1100..<0x1113).contains(first), (0x1161..<0x1176).contains(second) {
            return 0xAC00 + ((first - 0x1100) * 21 + second - 0x1161) * 28
        }
        guard (0xAC00..<0xD7A4).contains(first), (first - 0xAC00) % 28 == 0, (0x11A8..<0x11C3).contains(second) else {
            return nil
        }
        return first + second - 0x11A7
    }

    /// Composes kana and a sound mark, of any width.
    private static func voiced(_ kana: UInt32, _ mark: UInt32) -> UInt32? {
        let isHalf = mark == 0x309A || mark == 0xFF9F
        guard isHalf || mark == 0x3099 || mark == 0xFF9E else { return nil }
        let isKatakana = kana >= 0x30A1
        let letter = isKatakana ? kana - 0x60 : kana
        switch letter {
        case 0x306F, 0x3072, 0x3075, 0x3078, 0x307B: return kana + (isHalf ? 2 : 1)
        case 0x304B, 0x304D, 0x304F, 0x3051, 0x3053, 0x3055, 0x3057, 0x3059, 0x305B, 0x305D, 0x305F, 0x3061, 0x3064,
            0x3066, 0x3068, 0x309D:
            return isHalf ? nil : kana + 1
        case 0x3046: return isHalf ? nil : isKatakana ? 0x30F4 : 0x3094
        // Only katakana have these: ヷ, ヸ, ヹ and ヺ.
        case 0x308F...0x3092: return isHalf || !isKatakana ? nil : kana + 8
        default: return nil
        }
    }
}
