// SPDX-License-Identifier: Apache-2.0
// Canonical composition (NFC) and decomposition (NFD) with the standard library's own tables, with which `String`
// compares, whichever Unicode version they follow. ICU's tables, which may be older or newer, are not used for it.

@_spi(_Unicode) import Swift

extension String {
    /// Whether the string equals its canonical composition, NFC, byte for byte.
    package var isComposed: Bool { unicodeScalars.elementsEqual(Normalisation.composed(self)) }

    /// The string's canonical composition, NFC.
    package var composed: String { Normalisation.composedString(self) }
}

enum Normalisation {
    /// The scalars of the string's NFC.
    static func composed(_ string: String) -> some Sequence<Unicode.Scalar> {
        string._nfc
    }

    /// The scalars of the string's NFD.
    static func decomposed(_ string: String) -> some Sequence<Unicode.Scalar> {
        string._nfd
    }

    /// The string's NFC: the string itself if a quick test shows that it is composed.
    static func composedString(_ string: String) -> String {
        isInert(string) ? string : self.string(of: composed(string))
    }

    static func string(of scalars: some Sequence<Unicode.Scalar>) -> String {
        var result = String.UnicodeScalarView()
        result.append(contentsOf: scalars)
        return String(result)
    }

    /// Whether normalising would certainly change nothing. A quick test that may miss some strings: it is true for most
    /// text in Latin, Greek, Cyrillic, Chinese, Japanese and composed Korean.
    static func isInert(_ string: String) -> Bool {
        string.unicodeScalars.allSatisfy(isInert)
    }

    /// Whether the scalar is its own NFC, whatever its neighbours: it doesn't decompose, has combining class zero and
    /// is never the second part of a composition. Only whole blocks of such scalars are listed; others only take the
    /// slow way.
    static func isInert(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x300: true  // Latin
        case 0x388..<0x483: true  // Greek, Cyrillic
        case 0x2010..<0x2028: true  // dashes and quotation marks
        case 0x3000..<0x302A, 0x3041..<0x3097, 0x309B..<0x3100: true  // CJK punctuation, Hiragana, Katakana
        case 0x3400..<0xA000: true  // Chinese characters
        case 0xAC00..<0xD7A4: true  // Hangul syllables
        case 0xFF01..<0xFF5F: true  // full-width forms
        case 0x1F000..<0x20000: true  // pictographs
        default: false
        }
    }
}
