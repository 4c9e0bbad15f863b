// SPDX-License-Identifier: Apache-2.0
// How a text becomes terms. The analyzer's identity is stored with each index and compared when it is opened, so a term
// in the file never means anything but what this code makes of a text.

/// A way to turn texts into tokens. Equal ones give the same tokens.
package struct Analyzer: Sendable {
    package enum Rules: Sendable {
        /// Lower-cased by Unicode's full case mapping; tokens are the maximal runs of letters and numbers (general
        /// categories L* and N*), all else separates, combining marks included. No normalization, stemming, stop
        /// words, length limit.
        case words
        /// Words by Unicode's annex 29, folded; pairs of letters in scripts without spaces. Composed and decomposed
        /// letters are the same.
        case unicode(keepsAccents: Bool, stemming: StemmingLanguage?)
        /// Every three scalars that follow each other in the folded text.
        case trigrams(keepsAccents: Bool)
        case custom(CustomTokenizer)
        /// What an index was declared with by a program that knows more: there are no tokens.
        case unknown(String)
    }

    package let rules: Rules
    /// What an index is declared with: the rules and their settings, without versions.
    package let specification: String
    /// The specification, and the versions of all that decides what it makes of a text. Stored with each index.
    let identity: String

    package init(_ rules: Rules) {
        self.rules = rules
        // The version changes with every change of the rules, even one that few texts show.
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
            // Once a tokenizer was given all texts of a document joined.
            reading = ", text by text"
        } else {
            reading = ", Unicode \(UnicodeTables.version.major).\(UnicodeTables.version.minor)"
        }
        identity = "\(specification), version \(version)\(reading)\(stems)"
    }

    package static let words = Analyzer(.words)
    /// The default: the analyzer of indexes that name none, and of searches without an index.
    package static let standard = Analyzer(.unicode(keepsAccents: true, stemming: nil))

    /// The analyzer that an index was declared with; nil if none of that name is known here.
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

    /// The tokens of a text, each as UTF-8, in order. Convenient, not fast: for queries and tests.
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
    /// In lower case, with the one apostrophe that terms have.
    private func lowered(_ utf8: ArraySlice<UInt8>) -> String {
        let text = String(decoding: utf8, as: UTF8.self).lowercased()
        guard case .unicode = rules, !utf8.isEmpty else { return text }
        var folded = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            folded.append(FoldingRules.shared.facts(scalar.value).part == .apostrophe ? "'" : scalar)
        }
        return String(folded)
    }

    /// A piece of a term as the index's terms have it: folded, not stemmed.
    func folded(_ piece: String) -> String {
        var folding = self
        switch rules {
        case .unicode(let keepsAccents, _): folding = Analyzer(.unicode(keepsAccents: keepsAccents, stemming: nil))
        case .custom, .unknown: return piece
        case .words, .trigrams: break
        }
        let tokens = folding.sourceTokens(of: piece)
        let utf8 = Array(piece.utf8)
        // What is no single word, such as an apostrophe or a pair of ideographs, is only lower-cased.
        guard tokens.count == 1 else { return folding.lowered(utf8[...]) }
        // What is beside the word stays: terms may have it, and if none has there is nothing to find.
        let (token, place) = tokens[0]
        return folding.lowered(utf8[..<place.lowerBound]) + String(decoding: token, as: UTF8.self)
            + folding.lowered(utf8[place.upperBound...])
    }
}
