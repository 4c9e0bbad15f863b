// SPDX-License-Identifier: Apache-2.0
// One pass over UTF-8: ASCII in blocks of 64 bytes, everything else scalar by scalar. No String, array or reference
// counting for a token; the caller gets a slice of one reused buffer. Malformed UTF-8 separates words and never traps.

package import HornbeamPages

/// Cuts texts into tokens by the rules of its analyzer. Owns the buffer in which tokens are built; used by one thread
/// at a time.
package struct Tokenizer: ~Copyable {
    private(set) var token: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    /// Edges of the tokens in the buffer: start of the first, end of the first, start of the second, …
    private let edges = UnsafeMutablePointer<UInt32>.allocate(capacity: edgeLimit + 2 * ASCIIBlock.size)
    /// Scanning stops at this many edges. A block and an open token add fewer edges than there is room for.
    private static let edgeLimit = 2048
    /// The tokenizer of rules other than `words`. Nil for `words`, which this type reads itself.
    let rules: OtherRules?
    /// The tokenizer of `unicode` without stems, nil for other rules. Its ASCII words are also read here.
    private let unicode: UnicodeTokenizer?

    package init(_ analyzer: Analyzer) {
        let others = OtherRules(analyzer.rules)
        rules = others
        unicode = if case .unicode(let tokenizer)? = others, !tokenizer.stems { tokenizer } else { nil }
        capacity = 1024
        token = .allocate(capacity: capacity)
        token.initialize(repeating: 0, count: capacity)
    }

    deinit {
        token.deallocate()
        edges.deallocate()
    }

    /// Calls `body` with each token of `text`, in order. The bytes are valid during the call; the eight bytes behind
    /// them are readable, with any content.
    @inline(__always)
    package mutating func forEachToken(in text: String, _ body: (Bytes) -> Void) {
        var text = text
        text.withUTF8 { forEachToken(in: Bytes($0), body) }
    }

    /// Calls `body` with each token of a text in UTF-8, in order. The bytes are valid during the call; the eight bytes
    /// behind them are readable, with any content.
    @inline(__always)
    package mutating func forEachToken(in text: Bytes, _ body: (Bytes) -> Void) {
        if let rules {
            return withoutActuallyEscaping(body) { forEachToken(of: rules, in: text, TokenTaker(take: $0)) }
        }
        reserve(text.count)
        text.withMemoryRebound(to: UInt8.self) { source in
            var index = 0
            while index < source.count {
                let count = scan(source, from: &index)
                var edge = 0
                while edge < count {
                    let start = Int(edges[edge])
                    body(Bytes(start: token + start, count: Int(edges[edge &+ 1]) &- start))
                    edge &+= 2
                }
            }
        }
    }

    /// Calls `body` with the tokens of a text in order, up to about a thousand at a time.
    @inline(__always)
    mutating func forEachBatch(in text: Bytes, _ body: (TokenBatch) -> Void) {
        guard rules == nil else {
            if let unicode { return forEachBatch(of: unicode, in: text, body) }
            let edges = edges
            return forEachToken(in: text) { token in
                guard let start = token.baseAddress else { return }
                (edges[0], edges[1]) = (0, UInt32(truncatingIfNeeded: token.count))
                body(TokenBatch(count: 1, bytes: start, edges: UnsafePointer(edges)))
            }
        }
        reserve(text.count)
        text.withMemoryRebound(to: UInt8.self) { source in
            var index = 0
            while index < source.count {
                let count = scan(source, from: &index) / 2
                body(TokenBatch(count: count, bytes: UnsafeRawPointer(token), edges: UnsafePointer(edges)))
            }
        }
    }

    /// A function that takes tokens, in a form for which the compiler doesn't duplicate the other tokenizers.
    private struct TokenTaker {
        let take: (Bytes) -> Void
    }

    /// Copies the tokens, so that memory behind them is readable.
    @inline(never)
    private mutating func forEachToken(of rules: OtherRules, in text: Bytes, _ taker: TokenTaker) {
        if let unicode {
            return forEachBatch(of: unicode, in: text) { batch in
                for place in 0..<batch.count { taker.take(batch[place]) }
            }
        }
        rules.forEachToken(in: text) { taker.take(copied($0)) }
    }

    private mutating func copied(_ bytes: Bytes) -> Bytes {
        reserve(bytes.count)
        UnsafeMutableRawBufferPointer(start: token, count: bytes.count).copyMemory(from: bytes)
        return Bytes(start: token, count: bytes.count)
    }

    /// Calls `body` with the tokens of `unicode`: up to about a thousand at a time from blocks of ASCII, the others one
    /// by one.
    @inline(never)
    private mutating func forEachBatch(
        of unicode: UnicodeTokenizer, in text: Bytes, _ body: (TokenBatch) -> Void
    ) {
        reserve(text.count)
        let edges = edges
        text.withMemoryRebound(to: UInt8.self) { source in
            var index = 0
            while index < source.count {
                var end = index
                let count = scanJoined(source, from: &index, upTo: &end) / 2
                if count > 0 {
                    body(TokenBatch(count: count, bytes: UnsafeRawPointer(token), edges: UnsafePointer(edges)))
                }
                if index >= end { continue }
                unicode.forEachToken(in: source, from: &index, upTo: end) { bytes in
                    guard let start = copied(bytes).baseAddress else { return }
                    (edges[0], edges[1]) = (0, UInt32(truncatingIfNeeded: bytes.count))
                    body(TokenBatch(count: 1, bytes: start, edges: UnsafePointer(edges)))
                }
            }
        }
    }

    /// Makes room for the tokens of a text and a whole block. Tokens are at most one and a half times as long as their
    /// text: no lower-case mapping turns two bytes into more than three, or three into more than three.
    mutating func reserve(_ sourceSize: Int) {
        let needed = sourceSize + sourceSize / 2 + ASCIIBlock.size + 8
        guard needed > capacity else { return }
        token.deallocate()
        capacity = needed
        token = .allocate(capacity: capacity)
        token.initialize(repeating: 0, count: capacity)
    }

    /// Finds the next tokens from `index` on, up to about a thousand, and puts them into the buffer one after the
    /// other, with their starts and ends in `edges`. Returns the number of edges. Moves `index` behind the last token.
    @inline(never)
    private func scan(_ source: UnsafeBufferPointer<UInt8>, from index: inout Int) -> Int {
        scanBlocks(source, from: &index) { block, target, _, _ in
            ASCIIBlock.isASCII(block) ? ASCIIBlock.lower(block, to: target) : nil
        } otherwise: { place, end, size, count in
            if count & 1 == 1 {
                count &-= 1
                place &-= size &- Int(edges[count])
                size = Int(edges[count])
            }
            scanScalars(source, &place, upTo: end, &size, &count)
            return true
        }
    }

    /// Finds tokens like `scan`, by the rules of `unicode`. Stops at a block that isn't ASCII, or whose words can't be
    /// found from its bytes alone. Then `end` moves behind this block, and `index` to a position where no word is open.
    /// If there is no such block, `end` stays.
    @inline(never)
    private func scanJoined(
        _ source: UnsafeBufferPointer<UInt8>, from index: inout Int, upTo end: inout Int
    ) -> Int {
        scanBlocks(source, from: &index) { block, target, before, behind in
            guard ASCIIBlock.isASCII(block) else { return nil }
            return ASCIIBlock.lowerJoined(block, to: target, before: before, behind: behind)
        } otherwise: { _, blockEnd, _, _ in
            end = blockEnd
            return false
        }
    }

    /// Reads block by block from `index` on, and returns the number of edges.
    /// - Parameters:
    ///   - words: writes a block in lower case to the buffer and returns a bit for each byte, set if the byte belongs
    ///     to a word. Returns nil if it can't read the block. `before` is the last byte of the word that is open there,
    ///     a space if none is; `behind` is the byte behind the block, a space at the end of the text.
    ///   - otherwise: called for a block that `words` can't read. Reads it, or returns false to stop there.
    @inline(__always)
    private func scanBlocks(
        _ source: UnsafeBufferPointer<UInt8>, from index: inout Int,
        words: (UnsafeRawPointer, UnsafeMutableRawPointer, _ before: UInt8, _ behind: UInt8) -> UInt64?,
        otherwise: (_ place: inout Int, _ end: Int, _ size: inout Int, _ count: inout Int) -> Bool
    ) -> Int {
        guard let text = source.baseAddress else { return 0 }
        let space = UInt8(ascii: " ")
        var (place, size, count) = (index, 0, 0)
        // With an odd number of edges a token is open. From its first byte on, the buffer has a byte for each byte of
        // the text.
        while place < source.count, count < Self.edgeLimit {
            let end = min(place &+ ASCIIBlock.size, source.count)
            let target = UnsafeMutableRawPointer(token + size)
            var from = UnsafeRawPointer(text + place)
            if end &- place < ASCIIBlock.size {
                target.initializeMemory(as: UInt8.self, repeating: space, count: ASCIIBlock.size)
                target.copyMemory(from: from, byteCount: end &- place)
                from = UnsafeRawPointer(target)
            }
            let before = count & 1 == 1 ? token[size &- 1] : space
            guard let bits = words(from, target, before, end < source.count ? source[end] : space) else {
                if otherwise(&place, end, &size, &count) { continue }
                break
            }
            var changes = bits ^ (bits &<< 1 | UInt64(truncatingIfNeeded: count & 1))
            while changes != 0 {
                edges[count] = UInt32(truncatingIfNeeded: size &+ changes.trailingZeroBitCount)
                count &+= 1
                changes &= changes &- 1
            }
            place = end
            size &+= ASCIIBlock.size
        }
        if count & 1 == 1 {
            if place == source.count {
                edges[count] = UInt32(truncatingIfNeeded: size)
                count &+= 1
            } else {
                count &-= 1
                place &-= size &- Int(edges[count])
            }
        }
        index = place
        return count
    }

    /// Finds tokens scalar by scalar from `index`, where no token is open, to the end of the token at `end`.
    @inline(never)
    private func scanScalars(
        _ source: UnsafeBufferPointer<UInt8>, _ index: inout Int, upTo end: Int, _ size: inout Int, _ count: inout Int
    ) {
        let tables = ScalarTables.shared
        var start = size
        ASCIITable.shared.withUnsafeBufferPointer { ascii in
            while index < end || size > start {
                var ends = true
                if index < source.count {
                    let mapped = ascii[Int(source[index])]
                    if mapped > ASCIITable.beyond {
                        token[size] = mapped
                        size &+= 1
                        index &+= 1
                        ends = false
                    } else if mapped == ASCIITable.beyond {
                        ends = Self.appendScalar(source, &index, tables, token, &size)
                    } else {
                        index &+= 1
                    }
                }
                guard ends, size > start else { continue }
                edges[count] = UInt32(truncatingIfNeeded: start)
                edges[count &+ 1] = UInt32(truncatingIfNeeded: size)
                count &+= 2
                start = size
            }
        }
    }

    /// Takes the scalar beyond ASCII at `index`, and appends its lower case to the token. Returns true if the token
    /// ends here.
    @inline(never)
    static func appendScalar(
        _ source: UnsafeBufferPointer<UInt8>, _ index: inout Int, _ tables: ScalarTables,
        _ token: UnsafeMutablePointer<UInt8>, _ size: inout Int
    ) -> Bool {
        let start = index
        let scalar = UTF8Scalars.decode(source, at: &index)
        switch scalar {
        case 0x130:
            // İ becomes i and a combining dot; the dot is a mark and ends the token.
            token[size] = UInt8(ascii: "i")
            size += 1
            return true
        case 0x3A3:
            let isFinal = FinalSigma.isFinal(source, sigma: start..<index)
            UTF8Scalars.append(isFinal ? 0x3C2 : 0x3C3, token, &size)
            return false
        default:
            let lower = tables.lower(scalar)
            guard tables.isWord(lower) else { return true }
            UTF8Scalars.append(lower, token, &size)
            return false
        }
    }
}

/// The rules other than `words`, each with its tokenizer.
enum OtherRules {
    case unicode(UnicodeTokenizer)
    case trigrams(TrigramTokenizer)
    case custom(CustomTokenizer)
    /// No tokens.
    case none

    init?(_ rules: Analyzer.Rules) {
        switch rules {
        case .words: return nil
        case .unicode(let keepsAccents, let language):
            self = .unicode(UnicodeTokenizer(keepsAccents: keepsAccents, stemmer: language.flatMap { Stemmer($0) }))
        case .trigrams(let keepsAccents): self = .trigrams(TrigramTokenizer(keepsAccents: keepsAccents))
        case .custom(let tokenizer): self = .custom(tokenizer)
        case .unknown: self = .none
        }
    }

    func forEachToken(in text: Bytes, _ body: (Bytes) -> Void) {
        text.withMemoryRebound(to: UInt8.self) { source in
            switch self {
            case .none: return
            case .unicode(let tokenizer): tokenizer.forEachToken(in: source, body)
            case .trigrams(let tokenizer): tokenizer.forEachToken(in: source, body)
            case .custom(let tokenizer):
                tokenizer.tokenize(String(decoding: text, as: UTF8.self)) { token in
                    var token = token
                    token.withUTF8 { if !$0.isEmpty { body(Bytes($0)) } }
                }
            }
        }
    }
}

/// Reads and writes UTF-8 directly: the standard library's views cost several times as much here.
enum UTF8Scalars {
    /// The result for a malformed sequence: not a scalar, in no table.
    static let malformed: UInt32 = 0xFFFF_FFFF

    /// Returns the scalar that begins at `index`, and moves `index` behind it, or by one byte if it is malformed.
    /// `index` must be in bounds.
    static func decode(_ source: UnsafeBufferPointer<UInt8>, at index: inout Int) -> UInt32 {
        let lead = source[index]
        let width = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0
        guard width > 0, index + width <= source.count else {
            index += 1
            return malformed
        }
        var scalar = width == 1 ? UInt32(lead) : UInt32(lead) & (0x7F >> UInt32(width))
        for offset in 1..<width {
            let byte = source[index + offset]
            guard byte & 0xC0 == 0x80 else {
                index += 1
                return malformed
            }
            scalar = scalar << 6 | UInt32(byte & 0x3F)
        }
        index += width
        return scalar
    }

    /// Appends a scalar's UTF-8 at `size`. The target must have room for four bytes.
    static func append(_ scalar: UInt32, _ target: UnsafeMutablePointer<UInt8>, _ size: inout Int) {
        func continuation(_ shift: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: 0x80 | (scalar >> shift & 0x3F)) }
        if scalar < 0x80 {
            target[size] = UInt8(truncatingIfNeeded: scalar)
            size += 1
        } else if scalar < 0x800 {
            target[size] = UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6)
            target[size + 1] = continuation(0)
            size += 2
        } else if scalar < 0x1_0000 {
            target[size] = UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12)
            target[size + 1] = continuation(6)
            target[size + 2] = continuation(0)
            size += 3
        } else {
            target[size] = UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18)
            target[size + 1] = continuation(12)
            target[size + 2] = continuation(6)
            target[size + 3] = continuation(0)
            size += 4
        }
    }
}

/// The only rule of full case mapping that depends on neighbours (Unicode, SpecialCasing.txt, Final_Sigma): Σ becomes ς
/// after a cased letter and before none, ignoring case-ignorable scalars between them. So ΟΔΟΣ finds οδος.
enum FinalSigma {
    static func isFinal(_ source: UnsafeBufferPointer<UInt8>, sigma: Range<Int>) -> Bool {
        isCasedBefore(source, sigma.lowerBound) && !isCasedAfter(source, sigma.upperBound)
    }

    private static func isCasedBefore(_ source: UnsafeBufferPointer<UInt8>, _ end: Int) -> Bool {
        var end = end
        while end > 0 {
            var start = end - 1
            while start > 0, source[start] & 0xC0 == 0x80 { start -= 1 }
            var next = start
            let scalar = UTF8Scalars.decode(source, at: &next)
            guard next == end else { return false }
            guard CaseProperties.isCaseIgnorable(scalar) else { return CaseProperties.isCased(scalar) }
            end = start
        }
        return false
    }

    private static func isCasedAfter(_ source: UnsafeBufferPointer<UInt8>, _ start: Int) -> Bool {
        var index = start
        while index < source.count {
            let scalar = UTF8Scalars.decode(source, at: &index)
            guard CaseProperties.isCaseIgnorable(scalar) else { return CaseProperties.isCased(scalar) }
        }
        return false
    }
}

/// Tokens that were found together. Valid until the next ones are searched.
struct TokenBatch {
    let count: Int
    /// The tokens, one after the other. The eight bytes behind the last one are readable.
    fileprivate let bytes: UnsafeRawPointer
    /// The start and end of each token.
    fileprivate let edges: UnsafePointer<UInt32>

    @inline(__always)
    subscript(place: Int) -> Bytes {
        let (start, end) = (Int(edges[2 &* place]), Int(edges[2 &* place &+ 1]))
        return Bytes(start: bytes + start, count: end &- start)
    }
}
