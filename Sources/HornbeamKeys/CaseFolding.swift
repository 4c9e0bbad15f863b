// SPDX-License-Identifier: Apache-2.0
// Text without case, and text without accents. Only this file defines case: collations without case, string conditions
// without case and `FOLD` in statements all compare the results of `CaseFolding.folded`. Full-text analyzers other than
// `words` fold with tables of their own, frozen in the file's format, and agree with it.

private import CICU

/// Full case folding by Unicode (The Unicode Standard, 3.13, toCasefold), independent of language.
///
/// `ß`, `ẞ` and `ss` are equal, and so are `ς`, `σ` and `Σ`, `ﬁ` and `fi`, `İ` and an `i` with a dot above. Neither `ı`
/// nor `İ` is `i`. Canonically equivalent texts fold to canonically equivalent texts.
package enum CaseFolding {
    /// The version of ICU's tables.
    static var unicodeVersion: String {
        var four: [UInt8] = [0, 0, 0, 0]
        hb_icu_unicode_version(&four)
        return "\(four[0]).\(four[1])"
    }

    /// Returns the folded text. Folding it again changes nothing. Takes time linear in the text's length; for ASCII two
    /// passes over the bytes.
    /// - Parameter removingAccents: whether to remove the accents that `Accents` removes, too.
    package static func folded(_ text: String, removingAccents: Bool = false) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return foldedASCII(text) }
        // Folding must not depend on how its input is composed, so it is decomposed first (Unicode, D145). An inert
        // text folds to an equal result without that.
        guard removingAccents || !Normalisation.isInert(text) else { return folded(Array(text.utf16)) }
        var units: [UInt16] = []
        for scalar in Normalisation.decomposed(text) where !(removingAccents && Accents.isAccent(scalar)) {
            units.append(contentsOf: scalar.utf16)
        }
        // Only letters that decompose fold to text with an accent, so folding brings no accent back.
        return folded(units)
    }

    /// Returns the text with its letters A to Z in lower case. Text that may be in different forms must be composed
    /// before: “Á” is one scalar, or an “A” and its accent.
    static func foldedASCII(_ text: String) -> String {
        String(unsafeUninitializedCapacity: text.utf8.count) { buffer in
            var count = 0
            for byte in text.utf8 {
                buffer[count] = 0x41...0x5A ~= byte ? byte | 0x20 : byte
                count += 1
            }
            return count
        }
    }

    /// Size of the pieces in which a long text is folded, because ICU counts in 32 bits.
    private static let pieceSize = 1 << 20

    private static func folded(_ text: [UInt16]) -> String {
        var result = ""
        var start = 0
        while start < text.count {
            // Scalars fold one by one, independent of their neighbours.
            var end = min(start + pieceSize, text.count)
            if end < text.count, UTF16.isLeadSurrogate(text[end - 1]) { end -= 1 }
            result += String(decoding: folded(text[start..<end]), as: UTF16.self)
            start = end
        }
        return result
    }

    private static func folded(_ piece: ArraySlice<UInt16>) -> [UInt16] {
        // No scalar folds to more than three times its units.
        [UInt16](unsafeUninitializedCapacity: 3 * piece.count) { buffer, count in
            piece.withUnsafeBufferPointer { piece in
                var status: Int32 = 0
                let length = hb_icu_fold_case(
                    buffer.baseAddress, Int32(buffer.count), piece.baseAddress, Int32(piece.count), &status)
                if status <= 0, length >= 0, length <= buffer.count {
                    count = Int(length)
                } else {
                    // ICU fails only for bad arguments, and these are good. If it fails nevertheless, the text keeps
                    // its case.
                    count = buffer.initialize(fromContentsOf: piece)
                }
            }
        }
    }
}

/// The removal of accents from text.
package enum Accents {
    /// Returns the text without its accents, in canonical decomposition: “é” becomes “e”, “ø” stays. ASCII text is
    /// unchanged.
    package static func removed(from text: String) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
        return Normalisation.string(of: Normalisation.decomposed(text).filter { !isAccent($0) })
    }

    /// Whether a scalar is a mark on a letter: overlays, Hebrew, Arabic and Syriac points, and all marks above, below
    /// or beside the letter. Marks of the other combining classes are part of the spelling (the voicing of Kana, the
    /// vowels and viramas of Indic scripts).
    static func isAccent(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value >= 0x300 else { return false }
        return switch scalar.properties.canonicalCombiningClass.rawValue {
        case 1, 10...36, 200...240: true
        default: false
        }
    }
}
