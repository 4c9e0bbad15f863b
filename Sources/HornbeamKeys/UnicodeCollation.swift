// SPDX-License-Identifier: Apache-2.0
// Sort keys of the Unicode collation algorithm, made by ICU. A sort key has only one zero byte, its last, so it is a
// terminated component as it is. The locale is always given: the process's environment must never affect bytes on disk.

private import CICU
private import Synchronization

/// An ICU collator, which this owns. Many threads may use ICU's collators at once while their attributes don't change,
/// which only `init` does.
final class UnicodeCollator: @unchecked Sendable {
    private let collator: OpaquePointer
    let version: String
    /// Scalars after which a contraction may continue with another character (a contraction is a run that is weighed as
    /// one letter, like "ch" in Czech). The weights of a text that ends with one tell nothing about those of a longer
    /// text. Listed when a prefix is first requested, which takes some milliseconds.
    private let unfinished = Mutex<Set<UInt32>?>(nil)

    init(locale: String?, ignoring ignored: Collation.Differences) throws(KeyError) {
        if let locale {
            guard !locale.utf8.contains(0), hb_icu_language_code(locale).pointee != 0 else {
                throw .unknownLocale(locale)
            }
        }
        var status: Int32 = 0
        guard let collator = hb_icu_collator_open(locale ?? "", &status), status <= 0 else {
            throw .collationFailed(status, in: "opening the collation of “\(locale ?? "root")”")
        }
        hb_icu_collator_keep_symbols(collator, &status)
        if status <= 0, !ignored.isEmpty {
            hb_icu_collator_ignore(
                collator, ignored.contains(.letterCase) ? 1 : 0, ignored.contains(.accents) ? 1 : 0, &status)
        }
        guard status <= 0 else {
            hb_icu_collator_close(collator)
            throw .collationFailed(status, in: "setting up a collation")
        }
        var four: [UInt8] = [0, 0, 0, 0]
        hb_icu_collator_version(collator, &four)
        version = "icu-\(four[0]).\(four[1]).\(four[2]).\(four[3])"
        self.collator = collator
    }

    deinit {
        hb_icu_collator_close(collator)
    }

    func appendSortKey(of text: String, to key: inout KeyWriter) throws(KeyError) {
        try withSortKey(of: text) { key.bytes.append(contentsOf: $0) }
    }

    /// Appends only the primary weights, with which longer texts begin.
    func appendSortKey(ofPrefix text: String, to key: inout KeyWriter) throws(KeyError) {
        let unfinished = try unfinishedScalars()
        var text = Normalisation.composedString(text)
        while let last = text.unicodeScalars.last, unfinished.contains(last.value) { text.removeLast() }
        // A byte of 1 divides the levels of weights.
        try withSortKey(of: text) { key.bytes.append(contentsOf: $0.prefix { $0 > 1 }) }
    }

    /// Passes the sort key, including the zero at its end, to `body`.
    private func withSortKey(
        of text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Void
    ) throws(KeyError) {
        // ICU decomposes with its own tables; ours may be newer.
        let units = Normalisation.composedString(text).utf16
        let count = units.count
        // A sort key has some bytes for each unit, and at least the separators of its levels.
        guard count < Int(Int32.max) / 16 else { throw .tooLong(size: count, limit: Int(Int32.max) / 16) }
        let size = withUnsafeTemporaryAllocation(of: UInt16.self, capacity: count) { buffer in
            _ = buffer.initialize(fromContentsOf: units)
            return withSortKey(of: UnsafeBufferPointer(buffer), guess: count * 4 + 16, body)
        }
        guard size > 0 else {
            throw .collationFailed(operation: "making a sort key", reason: "it is out of memory")
        }
    }

    /// Returns the size of the sort key; zero on failure. If it is larger than the guess, it is made again.
    private func withSortKey(
        of text: UnsafeBufferPointer<UInt16>, guess: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Void
    ) -> Int {
        let size = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: guess) { key in
            let size = Int(
                hb_icu_sort_key(collator, text.baseAddress, Int32(text.count), key.baseAddress, Int32(key.count)))
            if size > 0, size <= key.count { body(UnsafeBufferPointer(rebasing: key[..<size])) }
            return size
        }
        return size <= guess ? size : withSortKey(of: text, guess: size, body)
    }

    private func unfinishedScalars() throws(KeyError) -> Set<UInt32> {
        try unfinished.withLock { (listed) throws(KeyError) in
            if let listed { return listed }
            let scalars = try UnicodeCollator.unfinishedScalars(of: collator)
            listed = scalars
            return scalars
        }
    }

    private static func unfinishedScalars(of collator: OpaquePointer) throws(KeyError) -> Set<UInt32> {
        guard let set = hb_icu_set_open() else {
            throw .collationFailed(operation: "listing contractions", reason: "it is out of memory")
        }
        defer { hb_icu_set_close(set) }
        var status: Int32 = 0
        hb_icu_collator_contractions(collator, set, &status)
        guard status <= 0 else { throw .collationFailed(status, in: "listing contractions") }
        var scalars: Set<UInt32> = []
        // No contraction is nearly this long.
        var units = [UInt16](repeating: 0, count: 64)
        for index in 0..<hb_icu_set_item_count(set) {
            let count = hb_icu_set_item(set, index, &units, Int32(units.count))
            guard count >= 2, count <= units.count else { continue }
            let contraction = String(decoding: units.prefix(Int(count)), as: UTF16.self)
            for character in contraction.dropLast() {
                if let last = character.unicodeScalars.last { scalars.insert(last.value) }
            }
        }
        return scalars
    }
}
