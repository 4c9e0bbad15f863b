// SPDX-License-Identifier: Apache-2.0
// Words by the rules of Unicode's annex 29, folded, optionally without accents and stemmed. Scripts without spaces
// between words are cut into overlapping pairs instead, as is usual without a dictionary (Lucene's CJKBigramFilter):
// 東京都 gives 東京, 京都 and, as the run ends there, 都.
//
// A word goes through three forms: folded and composed in `word`; stemmed, since stemmers know only composed letters;
// then without accents in `base`. Canonically equivalent words give the same term.

import HornbeamPages

/// Cuts texts by the rules of `unicode`. Owns its buffers; used by one thread at a time.
final class UnicodeTokenizer {
    private let keepsAccents: Bool
    private let stemmer: Stemmer?
    private let rules = FoldingRules.shared
    @exclusivity(unchecked) private var word = ComposedText()
    @exclusivity(unchecked) private var base = ByteBuffer()
    private let ascii = ASCIITable.separating
    /// The unit before `word` in a run without spaces.
    @exclusivity(unchecked) private var unit = ByteBuffer()
    @exclusivity(unchecked) private var isASCII = true
    /// The source range of the last token passed to `body`.
    @exclusivity(unchecked) private(set) var place = (start: 0, end: 0)
    /// The starts of `unit` and `word` in a run without spaces.
    @exclusivity(unchecked) private var unitStart = 0
    @exclusivity(unchecked) private var wordStart = 0

    init(keepsAccents: Bool, stemmer: Stemmer?) {
        self.keepsAccents = keepsAccents
        self.stemmer = stemmer
    }

    /// Whether words are reduced to stems.
    var stems: Bool { stemmer != nil }

    /// Calls `body` with each token, in order. The bytes are valid during the call.
    func forEachToken(in source: UnsafeBufferPointer<UInt8>, _ body: (Bytes) -> Void) {
        var index = 0
        forEachToken(in: source, from: &index, upTo: source.count, body)
    }

    /// Calls `body` with each word that begins before `end`, from `index` on, where no word may be open. Moves `index`
    /// behind the last one.
    func forEachToken(
        in source: UnsafeBufferPointer<UInt8>, from index: inout Int, upTo end: Int, _ body: (Bytes) -> Void
    ) {
        while index < end {
            if ascii[Int(source[index])] == ASCIITable.separator {
                index += 1
                continue
            }
            if readASCII(source, &index, body) { continue }
            var next = index
            let scalar = UTF8Scalars.decode(source, at: &next)
            switch rules.facts(scalar).part {
            case .letter, .number, .joiner: readWord(source, &index, body)
            case .unspaced: readRun(source, &index, body)
            default: index = next
            }
        }
    }

    // MARK: Words

    /// Reads the word that begins at `index` if it consists of ASCII letters and digits and the byte behind it joins
    /// nothing to it. Otherwise returns false and leaves `index` as it is.
    private func readASCII(
        _ source: UnsafeBufferPointer<UInt8>, _ index: inout Int, _ body: (Bytes) -> Void
    ) -> Bool {
        var end = index
        while end < source.count {
            let mapped = ascii[Int(source[end])]
            if mapped == ASCIITable.separator { break }
            if mapped == ASCIITable.beyond { return false }
            end += 1
        }
        base.replace(by: UnsafeBufferPointer(rebasing: source[index..<end]), mapped: ascii)
        place = (index, end)
        index = end
        body(stemmer?.stem(base.bytes) ?? base.bytes)
        return true
    }

    /// Reads the word that begins at `index`, and moves `index` to its end.
    private func readWord(_ source: UnsafeBufferPointer<UInt8>, _ index: inout Int, _ body: (Bytes) -> Void) {
        clear()
        let start = index
        readMarks(source, &index, areIotas: true)
        var isWord = index > start
        var before = isWord ? WordPart.letter : .joiner
        scan: while index < source.count {
            var next = index
            let scalar = UTF8Scalars.decode(source, at: &next)
            let part = rules.facts(scalar).part
            switch part {
            case .letter, .number:
                append(scalar)
                before = part
                isWord = true
            case .joiner:
                append(scalar)
                before = .joiner
            case .mark: append(scalar)
            case .format: break
            case .midLetter, .midNumber, .midBoth, .apostrophe:
                guard joins(part, before), partBehind(source, next) == before else { break scan }
                append(part == .apostrophe ? 0x27 : scalar)
            case .unspaced, .separator: break scan
            }
            index = next
        }
        guard isWord else { return }
        place = (start, index)
        emit(body)
    }

    /// Whether a scalar of role `middle` joins two words of role `part` to one.
    private func joins(_ middle: WordPart, _ part: WordPart) -> Bool {
        switch part {
        case .letter: middle != .midNumber
        case .number: middle != .midLetter
        default: false
        }
    }

    /// Returns the role of the scalar at `start`, ignoring marks before it.
    private func partBehind(_ source: UnsafeBufferPointer<UInt8>, _ start: Int) -> WordPart {
        var index = start
        while index < source.count {
            let part = rules.facts(UTF8Scalars.decode(source, at: &index)).part
            if part != .mark && part != .format { return part }
        }
        return .separator
    }

    /// If a combining iota is at `index`, moves behind it and the marks that follow. Appends the iotas among them if
    /// `areIotas`, else the other marks. In canonical order iotas are last, so at the beginning of a word the other
    /// marks belong to the text before it.
    private func readMarks(_ source: UnsafeBufferPointer<UInt8>, _ index: inout Int, areIotas: Bool) {
        var next = index
        var scalar = UTF8Scalars.decode(source, at: &next)
        guard scalar == FoldingRules.iota else { return }
        while rules.facts(scalar).isOrdered {
            if (scalar == FoldingRules.iota) == areIotas { append(scalar) }
            index = next
            guard index < source.count else { return }
            scalar = UTF8Scalars.decode(source, at: &next)
        }
    }

    private func emit(_ body: (Bytes) -> Void) {
        var token = word.finish()
        if let stemmer { token = stemmer.stem(token) }
        if !isASCII && !keepsAccents {
            base.removeAll()
            let folded = UnsafeBufferPointer(
                start: token.baseAddress?.assumingMemoryBound(to: UInt8.self), count: token.count)
            var index = 0
            while index < folded.count {
                rules.forEachBase(UTF8Scalars.decode(folded, at: &index)) { base.append($0) }
            }
            token = base.bytes
        }
        if !token.isEmpty { body(token) }
    }

    // MARK: Scripts without spaces

    /// Reads the run that begins at `index`. A unit is a letter with its marks; a Hangul syllable is one letter.
    private func readRun(_ source: UnsafeBufferPointer<UInt8>, _ index: inout Int, _ body: (Bytes) -> Void) {
        clear()
        unit.removeAll()
        wordStart = index
        scan: while index < source.count {
            var next = index
            let scalar = UTF8Scalars.decode(source, at: &next)
            switch rules.facts(scalar).part {
            case .unspaced:
                if !word.isEmpty && !isSyllable(word.letter, scalar) { endUnit(index, body) }
                append(scalar)
            case .mark: append(scalar)
            case .format: break
            default:
                var end = index
                readMarks(source, &end, areIotas: false)
                break scan
            }
            index = next
        }
        endUnit(index, body)
        place = (unitStart, index)
        body(unit.bytes)
    }

    private func isSyllable(_ letter: UInt32, _ next: UInt32) -> Bool {
        (0x1161..<0x11C3).contains(next) && rules.composed(letter, next) != nil
    }

    /// Passes the pair whose second unit is in `word` and ends at `end`.
    private func endUnit(_ end: Int, _ body: (Bytes) -> Void) {
        let letter = word.finish()
        if !unit.isEmpty {
            let size = unit.count
            place = (unitStart, end)
            unit.append(letter)
            body(unit.bytes)
            unit.shorten(to: size)
        }
        unit.removeAll()
        unit.append(letter)
        unitStart = wordStart
        wordStart = end
        clear()
    }

    // MARK: Letters

    private func clear() {
        word.removeAll()
        isASCII = true
    }

    @inline(__always)
    private func append(_ scalar: UInt32) {
        if scalar < 0x80 {
            let upper = UInt8(truncatingIfNeeded: scalar)
            let isUpper = upper >= UInt8(ascii: "A") && upper <= UInt8(ascii: "Z")
            word.append(ascii: isUpper ? upper | 0x20 : upper)
        } else {
            isASCII = false
            rules.forEachFolded(scalar, keepsAccents: keepsAccents) { word.append($0) }
        }
    }
}
