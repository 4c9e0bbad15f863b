// SPDX-License-Identifier: Apache-2.0
// Turns texts into terms. The analyzer's identity is stored with each index and compared when the index is opened. So
// the terms in the file always mean what this code makes of a text.

/// A way to turn texts into tokens. Equal analyzers give the same tokens.
package struct Analyzer: Sendable {
    package enum Rules: Sendable {
        /// Lower-cased by Unicode's full case mapping. Tokens are the maximal runs of letters and numbers (general
        /// categories L* and N*). All other scalars separate, including combining marks. No normalization, stemming,
        /// stop words or length limit.
        case words
        /// Words by Unicode's annex 29, folded; pairs of letters in scripts without spaces. Composed and decomposed
        /// letters are the same.
        case unicode(keepsAccents: Bool, stemming: StemmingLanguage?)
        /// Every three consecutive scalars of the folded text.
        case trigrams(keepsAccents: Bool)
        case custom(CustomTokenizer)
        /// A declaration by a program that knows more rules. It gives no tokens.
        case unknown(String)
    }

    package let rules: Rules
    /// The declaration of the analyzer: the rules and their settings, without versions.
    package let specification: String
    /// The specification, and the versions of everything that determines the tokens. Stored with each index.
    let identity: String

    package init(_ rules: Rules) {
        self.rules = rules
        // The version changes with every change of the rules, even one that affects few texts.
        let version: Int
        var stems = ""
        switch rules {
        case .words: (specification, version) = ("words", 1)
        case .unicode(let keepsAccents, let language):
            let stemming = language.map { "+\($0.rawValue)" } ?? ""
            (specification, version) = ("unicode" + (keepsAccents ? "+accents" : "") + stemming, 3)
            if let language { stems = ", stems \(String(language.fingerprint, radix: 16))" }
        case .trigrams(let keepsAccents):
            (specification, version) = ("trigrams" + (keepsAccents ? "+accents" : ""), 4)
        case .custom(let tokenizer): (specification, version) = ("custom:\(tokenizer.name)", tokenizer.version)
        case .unknown(let name): (specification, version) = (name, 0)
        }
        let reading: String
        if case .custom = rules {
            // An earlier version passed all texts of a document to a tokenizer as one text.
            reading = ", text by text"
        } else {
            reading = ", Unicode \(UnicodeTables.version.major).\(UnicodeTables.version.minor)"
        }
        identity = "\(specification), version \(version)\(reading)\(stems)"
    }

    package static let words = Analyzer(.words)
    /// The default: the analyzer of indexes that name none, and of searches without an index.
    package static let standard = Analyzer(.unicode(keepsAccents: true, stemming: nil))

    /// Makes the analyzer that an index was declared with. Returns nil if no analyzer has this specification.
    package init?(specification: String) {
        if specification.hasPrefix("custom:") {
            guard let tokenizer = CustomTokenizer.known(String(specification.dropFirst("custom:".count))) else {
                return nil
            }
            self.init(.custom(tokenizer))
            return
        }
        var parts = specification.split(separator: "+", omittingEmptySubsequences: false).map(String.init)
        let rules = parts.removeFirst()
        let keepsAccents = parts.first == "accents"
        if keepsAccents { parts.removeFirst() }
        let language = parts.first.flatMap(StemmingLanguage.init)
        if language != nil { parts.removeFirst() }
        guard parts.isEmpty else { return nil }
        switch (rules, keepsAccents, language) {
        case ("words", false, nil): self.init(.words)
        case ("unicode", _, _): self.init(.unicode(keepsAccents: keepsAccents, stemming: language))
        case ("trigrams", _, nil): self.init(.trigrams(keepsAccents: keepsAccents))
        default: return nil
        }
    }

    /// Returns the tokens of a text, each as UTF-8, in order. Convenient, but not fast: for queries and tests.
    package func tokens(of text: String) -> [[UInt8]] {
        var tokens: [[UInt8]] = []
        var tokenizer = Tokenizer(self)
        tokenizer.forEachToken(in: text) { tokens.append([UInt8]($0)) }
        return tokens
    }
}

extension Analyzer: Hashable {
    package static func == (left: Self, right: Self) -> Bool { left.identity == right.identity }
    package func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

extension Analyzer {
    /// Returns the text in lower case, with the form of apostrophe that terms have.
    private func lowered(_ utf8: ArraySlice<UInt8>) -> String {
        let text = String(decoding: utf8, as: UTF8.self).lowercased()
        guard case .unicode = rules, !utf8.isEmpty else { return text }
        var folded = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            folded.append(FoldingRules.shared.facts(scalar.value).part == .apostrophe ? "'" : scalar)
        }
        return String(folded)
    }

    /// Folds a piece of a term like the index's terms, without stemming.
    func folded(_ piece: String) -> String {
        var folding = self
        switch rules {
        case .unicode(let keepsAccents, _): folding = Analyzer(.unicode(keepsAccents: keepsAccents, stemming: nil))
        case .custom, .unknown: return piece
        case .words, .trigrams: break
        }
        let tokens = folding.sourceTokens(of: piece)
        let utf8 = Array(piece.utf8)
        // A piece that isn't a single word, such as an apostrophe or a pair of ideographs, is only lower-cased.
        guard tokens.count == 1 else { return folding.lowered(utf8[...]) }
        // The text beside the word stays. Terms may contain it; otherwise nothing is found.
        let (token, place) = tokens[0]
        return folding.lowered(utf8[..<place.lowerBound]) + String(decoding: token, as: UTF8.self)
            + folding.lowered(utf8[place.upperBound...])
    }
}
