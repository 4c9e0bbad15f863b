// SPDX-License-Identifier: Apache-2.0
// Words by the rule that all engines follow: runs of letters and digits, in lower case. It is independent of
// Hornbeam's own analysis, whose answers it judges.

/// Numbers words by their first appearance.
struct Vocabulary {
    private var slots: [UInt32] = Array(repeating: 0, count: 1 << 16)
    private var arena: [UInt8] = []
    private var starts = [0]

    var count: Int { starts.count - 1 }

    func bytes(_ word: Int) -> ArraySlice<UInt8> { arena[starts[word]..<starts[word + 1]] }

    func text(_ word: Int) -> String { String(decoding: bytes(word), as: UTF8.self) }

    mutating func number(of word: [UInt8]) -> UInt32 {
        if count * 2 >= slots.count { grow() }
        let slot = place(of: word[...])
        if slots[slot] == 0 {
            arena += word
            starts.append(arena.count)
            slots[slot] = UInt32(count)
        }
        return slots[slot] - 1
    }

    /// Returns the slot of a word, or the free slot for it.
    private func place(of word: ArraySlice<UInt8>) -> Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in word { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash ^ (hash >> 32)) & mask
        while slots[slot] != 0, bytes(Int(slots[slot]) - 1) != word { slot = (slot + 1) & mask }
        return slot
    }

    private mutating func grow() {
        slots = Array(repeating: 0, count: slots.count * 2)
        for word in 0..<count { slots[place(of: bytes(word))] = UInt32(word) + 1 }
    }
}

/// Calls `body` with each word of a text.
func eachWord(of text: UnsafeRawBufferPointer, _ body: ([UInt8]) -> Void) {
    var word: [UInt8] = []
    func end() {
        if !word.isEmpty { body(word) }
        word.removeAll(keepingCapacity: true)
    }
    var place = 0
    while place < text.count {
        let byte = text[place]
        if byte < 0x80 {
            place += 1
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): word.append(byte)
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): word.append(byte | 0x20)
            default: end()
            }
            continue
        }
        // The file's text is valid UTF-8.
        let length = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
        let scalars = String(decoding: text[place..<min(text.count, place + length)], as: UTF8.self).unicodeScalars
        place += length
        for scalar in scalars.flatMap({ $0.properties.lowercaseMapping.unicodeScalars }) {
            if scalar.isOfWord { word += Array(String(scalar).utf8) } else { end() }
        }
    }
    end()
}

extension Unicode.Scalar {
    fileprivate var isOfWord: Bool {
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber, .otherNumber:
            true
        default: false
        }
    }
}

/// The words of some documents, in order.
struct WordStream {
    private(set) var vocabulary = Vocabulary()
    private(set) var words: [UInt32] = []
    /// The index of each document's first word, and the end.
    private(set) var starts = [0]
    /// The number of documents of each word.
    private(set) var frequencies: [Int] = []

    var documents: Int { starts.count - 1 }

    init(_ corpus: Corpus, _ documents: Range<Int>) {
        var last: [Int] = []
        for document in documents {
            eachWord(of: corpus[document]) { bytes in
                let word = vocabulary.number(of: bytes)
                words.append(word)
                if Int(word) == frequencies.count {
                    frequencies.append(0)
                    last.append(-1)
                }
                if last[Int(word)] != document {
                    last[Int(word)] = document
                    frequencies[Int(word)] += 1
                }
            }
            starts.append(words.count)
        }
    }

    func words(of document: Int) -> ArraySlice<UInt32> { words[starts[document]..<starts[document + 1]] }
}
