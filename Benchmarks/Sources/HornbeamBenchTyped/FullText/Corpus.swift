// SPDX-License-Identifier: Apache-2.0
// Real texts from a file that is mapped, not read, so that only the engine uses memory.

import BenchHarness
import Foundation

/// Documents one after the other, each ended by a zero byte, and numbered from 0.
final class Corpus {
    private let bytes: UnsafeRawBufferPointer
    private let starts: [Int]

    var count: Int { starts.count - 1 }

    init(path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BenchError("\(path) can't be read: Scripts/make-text-data.py makes it") }
        defer { close(descriptor) }
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_size > 0 else {
            throw BenchError("\(path) is empty")
        }
        let size = Int(information.st_size)
        guard let address = mmap(nil, size, PROT_READ, MAP_SHARED, descriptor, 0), address != MAP_FAILED else {
            throw BenchError("\(path) can't be mapped")
        }
        bytes = UnsafeRawBufferPointer(start: address, count: size)
        var starts = [0]
        while let last = starts.last, last < size, let end = memchr(address + last, 0, size - last) {
            starts.append(address.distance(to: end) + 1)
        }
        guard starts.count > 1, starts.last == size else { throw BenchError("\(path) doesn't end with a zero byte") }
        self.starts = starts
    }

    deinit { munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count) }

    /// The text of a document, valid as long as the corpus.
    subscript(number: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[starts[number]..<starts[number + 1] - 1])
    }

    func text(_ number: Int) -> String { String(decoding: self[number], as: UTF8.self) }

    /// Returns the group of a document. One in ten documents is in a group, independently of its text.
    static func group(of number: Int) -> Int { Int((UInt64(number) &* 0x9E37_79B9_7F4A_7C15) >> 40) % groups }

    static let groups = 10

    /// Makes texts of words with realistic popularity, to check that everything works.
    static func makeSample(at path: String, count: Int, seed: UInt64) throws {
        var random = SplitMix(state: seed)
        let words = (0..<count * 2).map { _ in
            String(
                (0..<Int.random(in: 2...8, using: &random)).map { _ in
                    Character(UnicodeScalar(UInt8.random(in: 97...105, using: &random)))
                })
        }
        let popularity = Zipf(count: words.count)
        var data = Data()
        for _ in 0..<count {
            let text = (0..<Int.random(in: 5...60, using: &random)).map { _ in
                words[popularity.rank(&random)]
            }
            data.append(contentsOf: text.joined(separator: " ").utf8)
            data.append(contentsOf: ". Ein Wörtchen für alle\0".utf8)
        }
        try data.write(to: URL(fileURLWithPath: path))
    }
}
