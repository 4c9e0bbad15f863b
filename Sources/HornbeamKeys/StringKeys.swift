// SPDX-License-Identifier: Apache-2.0
// Strings and raw bytes. A string is stored as the UTF-8 of its canonical composition (NFC): Swift compares strings by
// the scalars of that form, so byte order and equality agree with `String`. Within a component the bytes 0x00 and 0x01
// are escaped (as 0x01 0x01 and 0x01 0x02), which keeps their order and leaves 0x00 free to end it. So text costs one
// byte more, no component runs into the next, and a prefix of the text is a prefix of the bytes.
//
// Normalisation never changes for text with characters that the standard library knows. Text with characters newer than
// its Unicode version may compare differently with a later toolchain; `Collator.version` doesn't show that.

extension KeyWriter {
    package mutating func append(_ string: String) {
        append(prefix: string)
        bytes.append(0)
    }

    /// Appends bytes that are no text, with the order of strings: bytewise, a prefix first.
    package mutating func append(bytes content: UnsafeRawBufferPointer) {
        appendEscaped(content.bindMemory(to: UInt8.self))
        bytes.append(0)
    }

    /// Appends a string of ASCII that needs no escaping, with the bytes of `append` for strings. Otherwise returns
    /// false and does nothing.
    package mutating func append(plain text: UnsafeRawBufferPointer) -> Bool {
        // No early exit, so that the loop is vectorised.
        var special: UInt8 = 0
        for byte in text { special |= byte &- 2 < 0x7E ? 0 : 1 }
        guard special == 0 else { return false }
        bytes.append(contentsOf: text)
        bytes.append(0)
        return true
    }

    package mutating func append(bytes content: [UInt8]) {
        content.withUnsafeBufferPointer { appendEscaped($0) }
        bytes.append(0)
    }

    /// Appends the prefix of the keys of all strings that begin with `prefix`. Together with `successor(ofPrefix:)`
    /// this bounds a range of keys. The range may have more strings: Swift compares prefixes by characters, so
    /// "e\u{332}" has no prefix "e" although its key begins with that of "e". ("é" is not in the range of "e", because
    /// its composed form begins differently.) A scan of the range must test `hasPrefix` for each string, unless all of
    /// it is ASCII.
    package mutating func append(prefix: String) {
        let isDone = prefix.utf8.withContiguousStorageIfAvailable { appendIfPlain($0) } ?? false
        if !isDone { appendNormalised(prefix) }
    }

    /// Appends text that needs neither normalising nor escaping. Otherwise returns false and does nothing.
    private mutating func appendIfPlain(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        // Bytes from 0xCC begin scalars from U+0300, the first that normalisation can touch. No early exit, so that
        // the loop is vectorised.
        var special: UInt8 = 0
        for byte in text { special |= byte &- 2 < 0xCA ? 0 : 1 }
        guard special == 0 else { return false }
        bytes.append(contentsOf: text)
        return true
    }

    private mutating func appendNormalised(_ string: String) {
        if Normalisation.isInert(string) {
            var string = string
            string.withUTF8 { appendEscaped($0) }
        } else {
            for scalar in Normalisation.composed(string) {
                for byte in UTF8.encode(scalar).unsafelyUnwrapped { appendEscaped(byte) }
            }
        }
    }

    private mutating func appendEscaped(_ content: UnsafeBufferPointer<UInt8>) {
        for byte in content { appendEscaped(byte) }
    }

    private mutating func appendEscaped(_ byte: UInt8) {
        if byte < 2 {
            bytes.append(1)
            bytes.append(byte &+ 1)
        } else {
            bytes.append(byte)
        }
    }
}

extension KeyReader {
    /// Reads the string in its composed form. Checks that the bytes are UTF-8, but not that they are composed.
    package mutating func readString() throws(KeyError) -> String {
        let range = try skipTerminated()
        let content = UnsafeRawBufferPointer(rebasing: bytes[range]).bindMemory(to: UInt8.self)
        let isPlain = mask == 0 && !content.contains(1)
        let string =
            isPlain ? KeyReader.string(content) : try unescaped(range).withUnsafeBufferPointer(KeyReader.string)
        guard let string else { throw .malformed(offset: range.lowerBound, reason: "the string is not UTF-8") }
        return string
    }

    /// Returns nil if the content is not UTF-8. Uses a span, which takes a third of the time of
    /// `String(validating:as:)`. Never inlined: the compiler's ownership verifier rejects the inlined code.
    @inline(never)
    private static func string(_ content: UnsafeBufferPointer<UInt8>) -> String? {
        do throws(UTF8.ValidationError) {
            return String(copying: try UTF8Span(validating: content.span))
        } catch {
            return nil
        }
    }

    package mutating func readBytes() throws(KeyError) -> [UInt8] {
        try unescaped(try skipTerminated())
    }

    private func unescaped(_ range: Range<Int>) throws(KeyError) -> [UInt8] {
        var content: [UInt8] = []
        content.reserveCapacity(range.count)
        var index = range.lowerBound
        while index < range.upperBound {
            var byte = bytes[index] ^ mask
            index += 1
            if byte == 1 {
                guard index < range.upperBound, case let escaped = bytes[index] ^ mask, escaped == 1 || escaped == 2
                else { throw .malformed(offset: index, reason: "an escape sequence is unknown") }
                byte = escaped - 1
                index += 1
            }
            content.append(byte)
        }
        return content
    }
}
