// SPDX-License-Identifier: Apache-2.0
// The rules for words: declared with a full-text index, stored with it, and applied to texts and to searches.

package import HornbeamText

/// The rules by which a full-text index makes words of texts. If the analyzer in the declaration changes, or its
/// version, the Unicode data or the stemmer does, opening the database builds the index anew. So an index never mixes
/// words of two analyzers.
public struct TextAnalyzer: Sendable {
    package let analyzer: Analyzer

    /// A language whose words are reduced to stems, by the algorithms of Snowball (https://snowballstem.org).
    public enum Language: String, CaseIterable, Sendable {
        case arabic, armenian, basque, catalan, danish, dutch, english, finnish, french, german, greek, hindi
        case hungarian, indonesian, irish, italian, lithuanian, nepali, norwegian
        /// Porter's own algorithm for English; `english` is its successor.
        case porter
        case portuguese, romanian, russian, serbian, spanish, swedish, tamil, turkish, yiddish
    }

    /// Makes a word of each run of letters and numbers, in lower case by Unicode's full mapping. Everything else
    /// separates words, including combining accents and the vowel signs of Hindi. Texts that are canonically equivalent
    /// may be different words. This analyzer is the fastest for ASCII texts, and was the default of earlier versions.
    public static let words = TextAnalyzer(analyzer: .words)

    /// Makes words as readers of most scripts see them (Unicode's annex 29): `can't`, `3.14` and `example.com` are one
    /// word each. Case, width and accents don't count: orsted finds Ørsted, and Ørsted finds orsted. Scripts that write
    /// without spaces, and Hangul, are cut into overlapping pairs of letters. So a text in Chinese, Japanese, Korean,
    /// Thai, Lao, Khmer or Burmese is found by any two adjacent letters.
    public static let unicode = unicode()

    /// Makes words like `unicode`, with stems, so that *running* finds *runs*, or with accents that count. The default
    /// of indexes is `.unicode(keepsAccents: true)`: it ignores case, and canonically equivalent texts are equal.
    public static func unicode(stemming: Language? = nil, keepsAccents: Bool = false) -> TextAnalyzer {
        let language = stemming.flatMap { StemmingLanguage(rawValue: $0.rawValue) }
        return TextAnalyzer(analyzer: Analyzer(.unicode(keepsAccents: keepsAccents, stemming: language)))
    }

    /// Makes a token of every three adjacent characters, spaces included, without case and accents. Finds parts of
    /// words.
    public static let trigrams = trigrams()

    /// Makes a token of every three adjacent characters, without case, and without accents unless `keepsAccents` is
    /// true.
    public static func trigrams(keepsAccents: Bool = false) -> TextAnalyzer {
        TextAnalyzer(analyzer: Analyzer(.trigrams(keepsAccents: keepsAccents)))
    }

    /// Uses the program's own rules. Each index keeps the version it was declared with, even if a program has several.
    public static func custom(_ tokenizer: any TextTokenizer) -> TextAnalyzer {
        let custom = CustomTokenizer(
            name: tokenizer.name, version: tokenizer.version, locate: { tokenizer.forEachToken(in: $0, locating: $1) },
            tokenize: { tokenizer.forEachToken(in: $0, $1) })
        custom.register()
        return TextAnalyzer(analyzer: Analyzer(.custom(custom)))
    }

    /// Returns the words of a text, in order, as an index would have them. Use it to try an analyzer out.
    public func tokens(of text: String) -> [String] {
        analyzer.tokens(of: text).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The analyzer as the schema stores it.
    package var declaration: String? { analyzer == .words ? nil : analyzer.specification }
}

extension TextAnalyzer: Hashable {
    public static func == (left: Self, right: Self) -> Bool { left.analyzer == right.analyzer }
    public func hash(into hasher: inout Hasher) { hasher.combine(analyzer) }
}

extension TextAnalyzer: CustomStringConvertible {
    public var description: String { analyzer.specification }
}

/// A program's own rules for words. They must always give the same tokens for the same text.
public protocol TextTokenizer: Sendable {
    /// The name of the rules. It is stored with the index, so that another process that opens the file finds the rules.
    /// It must differ from any other name: use the reverse domain of the program, for example. Its limit is 200 bytes
    /// of UTF-8: opening a database with a longer one throws `.invalid`.
    var name: String { get }
    /// The version of the rules. Raise it when the rules change: opening the database then builds their indexes anew.
    var version: Int { get }
    /// Calls `emit` with each token of the text, in order. Empty tokens are left out.
    func forEachToken(in text: String, _ emit: (_ token: String) -> Void)
    /// Calls `emit` with each token and the part of the text that it was made of, for highlights and snippets. By
    /// default the part is nil. Tokens are then searched for in the text: as they are, then ignoring case.
    func forEachToken(in text: String, locating emit: (_ token: String, _ place: Range<String.Index>?) -> Void)
}

extension TextTokenizer {
    public func forEachToken(in text: String, locating emit: (_ token: String, _ place: Range<String.Index>?) -> Void) {
        forEachToken(in: text) { emit($0, nil) }
    }
}
