// SPDX-License-Identifier: Apache-2.0
// Stemming by the system's libstemmer: the algorithms of Snowball (https://snowballstem.org). Its stems may change from
// one version of the library to the next, so an index keeps a fingerprint of them.

import CStemmer
import HornbeamPages
import Synchronization

/// A language whose words libstemmer reduces to stems. The raw value is the algorithm's name. `porter` is the original
/// algorithm for English, `english` its successor.
package enum StemmingLanguage: String, CaseIterable, Sendable {
    case arabic, armenian, basque, catalan, danish, dutch, english, finnish, french, german, greek, hindi, hungarian
    case indonesian, irish, italian, lithuanian, nepali, norwegian, porter, portuguese, romanian, russian, serbian
    case spanish, swedish, tamil, turkish, yiddish

    /// A hash of the stems of some words with usual endings. A different number means different stems. The same number
    /// means the same stems only with high probability.
    var fingerprint: UInt32 {
        Self.fingerprints.withLock { known in
            if let fingerprint = known[self] { return fingerprint }
            let fingerprint = takeFingerprint()
            known[self] = fingerprint
            return fingerprint
        }
    }

    private static let fingerprints = Mutex<[StemmingLanguage: UInt32]>([:])

    private func takeFingerprint() -> UInt32 {
        // FNV-1a. 0 if the library lacks the algorithm.
        guard let stemmer = Stemmer(self) else { return 0 }
        var hash: UInt32 = 2_166_136_261
        for word in Self.probes {
            Array(word.utf8).withBytes { bytes in
                for byte in stemmer.stem(bytes) { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
            }
            hash = (hash ^ 0xFF) &* 16_777_619
        }
        return hash
    }

    private static let probes =
        """
        running runs runner ran happiness happily national nationality rationalize generously skies dying hopping
        hoped conditional vietnamization agreement häuser kindern freundlichkeit arbeiten schönste aufeinander
        maisons chevaux continuellement nationalité finirions cheval éternellement casas hablaríamos corriendo
        inmediatamente canción lavoratore mangiando felicemente abbandonata informações falávamos rapidamente
        huizen lichamelijkheid opgaven flickorna husets arbetande drengene kvindernes jenteneskonen havnedistrikt
        kuolemattomuus taloissamme kirjoittaisivat olvasottabbak házakban evlerimizden kitaplarını güzelliğe
        бегущий книгами красивейшая говорившего читать θαλασσες ανθρωπων τρεχοντας книгама пријатељима
        المكتبات يكتبون والكتاب लड़कियों पुस्तकें किताबों केटाहरू மரங்கள் பூக்களை կատարելով գեղեցիկ akitasuna etxeetan
        memperbaiki berlarian mengajarkan fearaibh teangacha namuose gražiausias casele frumuseţe cărţile caselor
        """.split(whereSeparator: \.isWhitespace).map(String.init)
}

/// The stemmer of one language. Used by one thread at a time.
final class Stemmer {
    private let handle: OpaquePointer

    /// Returns nil if the library lacks the algorithm, or memory is short.
    init?(_ language: StemmingLanguage) {
        guard let handle = sb_stemmer_new(language.rawValue, "UTF_8") else { return nil }
        self.handle = handle
    }

    deinit { sb_stemmer_delete(handle) }

    /// Returns the stem of a word in lower case, or the word itself if it has none. The bytes are valid until the next
    /// call. A word of more than 256 bytes stays as it is, because some algorithms take quadratic time.
    func stem(_ word: Bytes) -> Bytes {
        guard word.count <= 256, let start = word.baseAddress,
            let stem = sb_stemmer_stem(handle, start.assumingMemoryBound(to: sb_symbol.self), Int32(word.count))
        else { return word }
        let size = Int(sb_stemmer_length(handle))
        return size > 0 ? Bytes(start: stem, count: size) : word
    }
}
