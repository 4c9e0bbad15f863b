// SPDX-License-Identifier: Apache-2.0
// The tokens of `unicode`: an example for each rule, and random texts compared with ICU's word breaks and Swift's
// canonical equivalence.

import CICU
import Foundation
import HornbeamTestSupport
import Testing

@testable import HornbeamText

@Suite("Words by Unicode's rules")
struct UnicodeTokenizerTests {
    private static func tokens(
        _ text: String, keepsAccents: Bool = false, stemming: StemmingLanguage? = nil
    ) -> [String] {
        Analyzer(.unicode(keepsAccents: keepsAccents, stemming: stemming)).tokens(of: text).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// Compares by bytes: canonically equivalent strings are equal but not the same tokens.
    private func expect(
        _ text: String, _ expected: [String], keepsAccents: Bool = false, stemming: StemmingLanguage? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let found = Self.tokens(text, keepsAccents: keepsAccents, stemming: stemming)
        #expect(
            found.map { Array($0.utf8) } == expected.map { Array($0.utf8) }, "\(found)", sourceLocation: sourceLocation)
    }

    @Test("Apostrophes and dots join letters, points and commas join digits, underscores join both")
    func joins() {
        expect("Can't stop, won’t stop.", ["can't", "stop", "won't", "stop"])
        expect("It costs 3.14 or 1,000,000.50 euros.", ["it", "costs", "3.14", "or", "1,000,000.50", "euros"])
        expect("example.com/index.html", ["example.com", "index.html"])
        expect("snake_case __init__ _ __", ["snake_case", "__init__"])
        expect("U.S.A. a.b 1.a a,b 1:2", ["u.s.a", "a.b", "1", "a", "a", "b", "1", "2"])
        expect("'quoted' dogs' -5 c++", ["quoted", "dogs", "5", "c"])
        expect("B2B mp3 3D 42nd", ["b2b", "mp3", "3d", "42nd"])
        expect("", [])
        expect(" .,;: '’_ ", [])
    }

    @Test("Case, width and accents are ignored")
    func folding() {
        expect("Ångström ÅNGSTRÖM Angstro\u{308}m", ["angstrom", "angstrom", "angstrom"])
        expect("Ørsted Łódź Đặng Æsir Þór ĳ", ["orsted", "lodz", "dang", "aesir", "thor", "ĳ"])
        expect("STRASSE Straße STRAẞE", ["strasse", "strasse", "strasse"])
        expect("İstanbul ISTANBUL ıspanak", ["istanbul", "istanbul", "ispanak"])
        expect("ΟΔΟΣ οδός ὁδός", ["οδοσ", "οδοσ", "οδοσ"])
        expect("ＦＵＬＬ ｗｉｄｔｈ １２３", ["full", "width", "123"])
        expect("ﬁsh oﬃce", ["fish", "office"])
        expect("שָׁלוֹם مُحَمَّد", ["שלום", "محمد"])
        expect("ёлка Ёлка", ["елка", "елка"])
    }

    @Test("Accents can be kept, in any spelling")
    func keptAccents() {
        expect("Café CAFE\u{301}", ["caf\u{E9}", "caf\u{E9}"], keepsAccents: true)
        expect("resume résumé", ["resume", "résumé"], keepsAccents: true)
        expect("Ørsted", ["ørsted"], keepsAccents: true)
    }

    @Test("Marks other than accents stay in their words; invisible characters are dropped")
    func marks() {
        expect("हिन्दी भाषा", ["हिन्दी", "भाषा"])
        expect("co\u{AD}operate zero\u{200B}width", ["cooperate", "zero", "width"])
        expect("\u{301} x\u{301}", ["x"])
    }

    @Test("Runs of scripts without spaces give pairs of letters and their last letter")
    func unspaced() {
        expect("東京都", ["東京", "京都", "都"])
        expect("我 爱 北京", ["我", "爱", "北京", "京"])
        expect("한국어 자모", ["한국", "국어", "어", "자모", "모"])
        expect("カタカナとひらがな", ["カタ", "タカ", "カナ", "ナと", "とひ", "ひら", "らが", "がな", "な"])
        expect("ＡＢＣ東京2020年", ["abc", "東京", "京", "2020", "年"])
        expect("ภาษาไทย", ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย", "ย"])
        expect("ｶﾞｷﾞﾊﾟ カ\u{3099}", ["ガギ", "ギパ", "パ", "ガ"])
        // Letters of Hangul make syllables.
        expect("\u{1112}\u{1161}\u{11AB}\u{1100}\u{116E}\u{11A8}", ["한국", "국"])
        // A compatibility ideograph.
        expect("\u{F900}", ["\u{8C48}"])
    }

    @Test("Stems of some languages, before accents are removed")
    func stems() {
        expect("running runs easily Generations", ["run", "run", "easili", "generat"], stemming: .english)
        expect("John's cats'", ["john", "cat"], stemming: .english)
        expect("Häuser Häusern", ["haus", "haus"], stemming: .german)
        expect("continuellement maisons", ["continuel", "maison"], stemming: .french)
        expect("книгами книги", ["книг", "книг"], stemming: .russian)
        // Two forms of a word in each language have one stem.
        let pairs: [StemmingLanguage: (String, String)] = [
            .arabic: ("كتابهم", "كتابكم"), .armenian: ("քաղաքների", "քաղաքներից"), .basque: ("etxeak", "etxeetan"),
            .catalan: ("cantava", "cantaven"), .danish: ("husene", "husets"), .dutch: ("opgaven", "opgave"),
            .english: ("connected", "connections"), .finnish: ("taloissa", "talossa"), .french: ("maisons", "maison"),
            .german: ("häuser", "häusern"), .greek: ("θαλασσες", "θαλασσα"), .hindi: ("लड़कियाँ", "लड़कियों"),
            .hungarian: ("házakban", "házak"), .indonesian: ("mengajarkan", "mengajar"), .irish: ("fearaibh", "fear"),
            .italian: ("mangiando", "mangiato"), .lithuanian: ("namuose", "namus"), .nepali: ("केटाहरू", "केटा"),
            .norwegian: ("havnene", "havner"), .porter: ("relational", "relate"),
            .portuguese: ("falávamos", "falando"), .romanian: ("cărţile", "cărţi"), .russian: ("книгами", "книги"),
            .serbian: ("књигама", "књиге"), .spanish: ("corriendo", "corrieron"), .swedish: ("flickorna", "flickor"),
            .tamil: ("பூக்களை", "பூக்கள்"), .turkish: ("evlerimizden", "evler"), .yiddish: ("קינדער", "קינד"),
        ]
        for language in StemmingLanguage.allCases {
            guard let (first, second) = pairs[language] else {
                Issue.record("no words of \(language)")
                continue
            }
            #expect(Self.tokens(first, stemming: language) == Self.tokens(second, stemming: language), "\(language)")
            #expect(Self.tokens(first) != Self.tokens(second), "\(language)")
        }
        for language in StemmingLanguage.allCases { #expect(language.fingerprint != 0, "\(language)") }
        #expect(Set(StemmingLanguage.allCases.map(\.fingerprint)).count == StemmingLanguage.allCases.count)
    }

    @Test("A word of a megabyte, very many marks and malformed bytes have tokens, found in little time")
    func extremes() {
        let word = String(repeating: "é", count: 500_000)
        #expect(Self.tokens(word, stemming: .english) == [String(repeating: "e", count: 500_000)])
        let marks = "a" + String(repeating: "\u{301}\u{323}", count: 200_000)
        #expect(Self.tokens(marks) == ["a"])
        let run = String(repeating: "中", count: 100_000)
        #expect(Self.tokens(run).count == 100_000)
        var tokens: [String] = []
        let bytes: [UInt8] = [0x61, 0xC3, 0x62, 0xE4, 0xB8, 0xFF, 0x63, 0xF0, 0x9F]
        let tokenizer = UnicodeTokenizer(keepsAccents: false, stemmer: nil)
        bytes.withUnsafeBufferPointer { source in
            tokenizer.forEachToken(in: source) { tokens.append(String(decoding: $0, as: UTF8.self)) }
        }
        #expect(tokens == ["a", "b", "c"])
    }

    /// Returns a random text of scalars whose properties are the same in any version of Unicode, and which no
    /// dictionary divides.
    private static func randomText(_ random: inout SeededGenerator) -> String {
        let samples = Array("abZ09 .,:;'’_-\u{301}\u{AD}éÅßΣώЖйअि\u{94D}אبñ.·".unicodeScalars)
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0..<20, using: &random) {
            text.append(samples[Int.random(in: 0..<samples.count, using: &random)])
        }
        return String(text)
    }

    @Test("Words begin and end where ICU breaks them", arguments: SeededGenerator.seeds(4))
    func icu(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            let text = Self.randomText(&random)
            let units = Array(text.utf16)
            var words: [String] = []
            try units.withUnsafeBufferPointer { buffer in
                let breaks = try #require(hb_icu_words(buffer.baseAddress, Int32(buffer.count)))
                defer { hb_icu_words_close(breaks) }
                var start = 0
                while case let end = Int(hb_icu_next_word(breaks)), end >= 0 {
                    let word = String(decoding: buffer[start..<end], as: UTF16.self)
                    // After an underscore, marks make ICU forget that there was a letter.
                    if word.unicodeScalars.contains(where: { ScalarTables.shared.isWord($0.value) }) {
                        words.append(word)
                    }
                    start = end
                }
            }
            let expected = words.flatMap { Self.tokens($0) }
            #expect(Self.tokens(text) == expected, "\(Array(text.unicodeScalars)), HORNBEAM_SEED=\(seed)")
        }
    }

    @Test("Texts that Swift considers equal have the same tokens", arguments: SeededGenerator.seeds(2))
    func equivalence(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let table = FoldingTables.decompositions
        var letters: [[UInt32]] = []
        var place = 0
        while place < table.count {
            let end = place + 2 + Int(table[place])
            letters.append(Array(table[place + 1..<end]))
            place = end
        }
        func string(_ scalars: some Sequence<UInt32>) -> String {
            var view = String.UnicodeScalarView()
            view.append(contentsOf: scalars.compactMap(Unicode.Scalar.init))
            return String(view)
        }
        for letter in letters {
            let (whole, parts) = (string(letter.prefix(1)), string(letter.dropFirst()))
            #expect(whole == parts, "\(letter)")
            for keeps in [false, true] {
                let (left, right) = (Self.tokens(whole, keepsAccents: keeps), Self.tokens(parts, keepsAccents: keeps))
                #expect(left.map { Array($0.utf8) } == right.map { Array($0.utf8) }, "\(letter)")
            }
        }
        for _ in 0..<1_000 {
            let some = (0..<5).map { _ in letters[Int.random(in: 0..<letters.count, using: &random)] }
            let whole = string(some.flatMap { $0.prefix(1) })
            let parts = string(some.flatMap { $0.dropFirst() })
            let (left, right) = (Self.tokens(whole), Self.tokens(parts))
            #expect(left.map { Array($0.utf8) } == right.map { Array($0.utf8) }, "\(some), HORNBEAM_SEED=\(seed)")
        }
    }

    @Test("Several marks count as one word in every order that Unicode allows")
    func markOrder() {
        // Vietnamese, as three keyboards write it; a Thai vowel below and a tone; an overlay after an accent.
        for text in ["\u{1EC7}", "e\u{323}\u{302}", "e\u{302}\u{323}", "\u{EA}\u{323}", "\u{1EB9}\u{302}"] {
            expect("Vi\(text)t", ["vi\u{1EC7}t"], keepsAccents: true)
            expect("Vi\(text)t", ["viet"])
        }
        expect("ก\u{E48}\u{E38}", ["ก\u{E38}\u{E48}"])
        expect("か\u{338}\u{3099}\u{301}", ["\u{304C}\u{338}\u{301}"], keepsAccents: true)
        expect("\u{304C}\u{338}", ["\u{304C}\u{338}"], keepsAccents: true)
        // The iota below is a letter after all marks.
        for text in ["\u{1FB4}", "α\u{345}\u{301}", "\u{3AC}\u{345}", "\u{1FB3}\u{301}"] {
            expect(text, ["\u{3AC}ι"], keepsAccents: true)
            expect(text, ["αι"])
        }
        // It is a letter even if no letter precedes it. Marks after it belong to the text before it.
        expect("\u{345} s\u{345} 東京\u{345}s 1\u{345}", ["ι", "sι", "東京", "京", "ιs", "1ι"])
        for text in ["東\u{345}\u{301}\u{345} \u{345}\u{301}a", "東\u{301}\u{345}\u{345} \u{301}\u{345}a"] {
            expect(text, ["東\u{301}", "ιι", "ιa"], keepsAccents: true)
        }
        // Two marks of the same class stay as they are.
        expect("a\u{301}\u{308}", ["\u{E1}\u{308}"], keepsAccents: true)
        expect("a\u{308}\u{301}", ["\u{E4}\u{301}"], keepsAccents: true)
        expect("\u{9C7}\u{9BE}", [])
        expect("ক\u{9C7}\u{9BE} ক\u{9CB}", ["ক\u{9C7}\u{9BE}", "ক\u{9C7}\u{9BE}"])
    }

    @Test("Texts with any marks are equal in Swift exactly if their tokens are", arguments: SeededGenerator.seeds(4))
    func markEquivalence(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let table = FoldingTables.classes
        let marks = stride(from: 0, to: table.count, by: 3).flatMap { Array(table[$0]...table[$0 + 1]) }
            .compactMap(Unicode.Scalar.init)
        let common = Array(
            "\u{301}\u{302}\u{308}\u{323}\u{328}\u{338}\u{345}\u{E38}\u{E48}\u{3099}\u{344}\u{9BE}".unicodeScalars)
        let letters = Array("aeoESǾṩậ\u{1EC7}\u{1FB4}αΩΐกขかガ가ᄀ中কে\u{958}ا שЙ≠=".unicodeScalars)
        let analyzers = [false, true].flatMap { keeps in
            [
                Analyzer(.unicode(keepsAccents: keeps, stemming: nil)), Analyzer(.trigrams(keepsAccents: keeps)),
                Analyzer(.unicode(keepsAccents: keeps, stemming: .english)),
            ]
        }
        for _ in 0..<1_500 {
            var text = String.UnicodeScalarView()
            for _ in 0..<random.below(5) + 1 {
                text.append(letters[random.below(letters.count)])
                for _ in 0..<random.below(4) {
                    let isCommon = random.below(3) > 0
                    text.append(isCommon ? common[random.below(common.count)] : marks[random.below(marks.count)])
                }
            }
            let written = String(text)
            var spellings = [written.precomposedStringWithCanonicalMapping]
            var scalars = Array(written.decomposedStringWithCanonicalMapping.unicodeScalars)
            for _ in 0..<scalars.count {
                let place = random.below(scalars.count)
                guard place > 0 else { continue }
                scalars.swapAt(place - 1, place)
                var view = String.UnicodeScalarView()
                view.append(contentsOf: scalars)
                if String(view) == written { spellings.append(String(view)) } else { scalars.swapAt(place - 1, place) }
            }
            for analyzer in analyzers {
                let wanted = analyzer.tokens(of: written)
                for spelling in spellings {
                    let how = "\(Array(text)) as \(Array(spelling.unicodeScalars)), \(analyzer.identity)"
                    #expect(analyzer.tokens(of: spelling) == wanted, "\(how), HORNBEAM_SEED=\(seed)")
                }
            }
        }
    }

    @Test("Letters fold as ICU folds them")
    func foldCase() {
        var wrong: [UInt32] = []
        for value in UInt32(0x80)...0x2FFFF {
            guard let scalar = Unicode.Scalar(value), ScalarTables.shared.isWord(value) else { continue }
            // The tables fold these to lower case, ICU folds them to upper case.
            if (0x13A0...0x13FD).contains(value) || (0xAB70...0xABBF).contains(value) { continue }
            // Newer than ICU's data, or of another width.
            guard let age = scalar.properties.age, age.major <= 14, !(0xFF00...0xFFFF).contains(value) else { continue }
            var folded: [UInt32] = []
            // The iota below a letter becomes a letter once all its marks are known.
            FoldingRules.shared.forEachFolded(value, keepsAccents: true) { folded.append($0 == 0x345 ? 0x3B9 : $0) }
            if String(scalar).icuFolded != String(String.UnicodeScalarView(folded.compactMap(Unicode.Scalar.init))) {
                wrong.append(value)
            }
        }
        #expect(wrong.isEmpty, "\(wrong.prefix(20).map { String($0, radix: 16) })")
    }
}

extension String {
    /// Its full case folding.
    fileprivate var icuFolded: String {
        let units = Array(utf16)
        var result = [UInt16](repeating: 0, count: units.count * 4 + 4)
        var status: Int32 = 0
        let count = hb_icu_fold_case(&result, Int32(result.count), units, Int32(units.count), &status)
        return String(decoding: result.prefix(Int(count)), as: UTF16.self)
    }
}
