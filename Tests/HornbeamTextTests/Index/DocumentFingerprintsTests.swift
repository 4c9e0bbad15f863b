// SPDX-License-Identifier: Apache-2.0
// The stored fingerprint of a text: every document has one, however it was added, and a change that starts from
// another text than the stored one is refused.

import HornbeamPages
import HornbeamTestSupport
import HornbeamTree
import Testing

@testable import HornbeamText

@Suite("Fingerprints of texts")
struct DocumentFingerprintsTests {
    @Test("Texts that differ, even only in their division into fields, have different fingerprints")
    func texts() {
        let texts: [[[String]]] = [
            [[""]], [["a"]], [["a b"]], [["a", "b"]], [["a"], ["b"]], [["b"], ["a"]], [["a b"], []], [[], ["a b"]],
            [[], [], ["a b"]], [["A b"]], [["b a"]], [["a b "]], [["", "a b"]], [[""], ["a b"]],
        ]
        #expect(Set(texts.map { DocumentText(fields: $0).fingerprint }).count == texts.count)
        for text in ["", "a", "naïve", String(repeating: "long ", count: 900)] {
            #expect(withBytes(Array(text.utf8)) { TextFingerprint.of($0) } == DocumentText(text).fingerprint)
        }
    }

    @Test("Each document has the fingerprint of its text, however it was added", arguments: SeededGenerator.seeds(2))
    func histories(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let store = try TreeStore.inMemory()
        var texts: [UInt64: String] = [:]
        for step in 0..<40 {
            let limits: PendingLimits = random.oneIn(5) ? .none : PendingLimits(pending: 300, slice: 100, records: 3)
            try store.write(limits: limits) { writer in
                for _ in 0..<(random.oneIn(8) ? 300 : 3) {
                    let row = UInt64(random.below(700))
                    let new = random.oneIn(4) ? nil : "words \(random.below(50)) of \(row)"
                    switch (texts[row], new) {
                    case (nil, let new?) where random.oneIn(2):
                        try Array(new.utf8).withBytes { (text) throws(StorageError) in
                            try writer.insert(row, utf8: text)
                        }
                    case (nil, let new?): try writer.insert(row, text: new)
                    case (let old?, let new?): try writer.update(row, from: old, to: new)
                    case (let old?, nil): try writer.remove(row, text: old)
                    case (nil, nil): break
                    }
                    texts[row] = new
                }
            }
            let transaction = try store.beginRead()
            defer { transaction.abort() }
            guard let snapshot = try TextSnapshot(testIndex, in: transaction) else { continue }
            for (row, text) in texts {
                let docno = try #require(try snapshot.docno(of: row))
                let note: Comment = "row \(row), step \(step), HORNBEAM_SEED=\(seed)"
                #expect(try snapshot.fingerprint(of: docno) == DocumentText(text).fingerprint, note)
            }
        }
        #expect(try store.problems(NaiveIndex(texts: texts)) == [], "HORNBEAM_SEED=\(seed)")
    }

    @Test(
        "A removal with the same words but another text is refused, stored or pending",
        arguments: [PendingLimits.none, .standard])
    func otherTexts(limits: PendingLimits) throws {
        let store = try TreeStore.index(of: "one", "two")
        let text = DocumentText(fields: [["one two", "three"], ["four"]])
        try store.write(limits: limits) { try $0.insert(3, text) }
        let others = [
            [["two one", "three"], ["four"]], [["one two", "three"], ["FOUR"]], [["one two"], ["three", "four"]],
        ]
        for fields in others {
            let other = DocumentText(fields: fields)
            #expect(throws: StorageError.self) { try store.write(limits: .standard) { try $0.remove(3, other) } }
            #expect(throws: StorageError.self) {
                try store.write(limits: .standard) { try $0.update(3, from: other, to: DocumentText("x")) }
            }
        }
        // Also within one transaction.
        #expect(throws: StorageError.self) {
            try store.write(limits: .standard) { writer in
                try writer.update(3, from: text, to: DocumentText("x y"))
                try writer.remove(3, DocumentText("y x"))
            }
        }
        try store.write(limits: .standard) { try $0.remove(3, text) }
        #expect(try store.problems(NaiveIndex(texts: [1: "one", 2: "two"])) == [])
    }

    @Test("The check reports a fingerprint that belongs to another text")
    func damage() throws {
        let store = try TreeStore.index(of: "one", "two")
        let transaction = try store.beginWrite()
        let tree = try #require(try transaction.tree(testIndex.documentsName))
        let key = DocumentFingerprints.key(chunk: 0)
        var bytes = [UInt8](try #require(try transaction.get(tree, key)))
        #expect(bytes.count == 8)
        bytes[4] ^= 1
        try transaction.put(tree, key, bytes)
        try transaction.commit()
        let problems = try store.problems(NaiveIndex(texts: [1: "one", 2: "two"]))
        #expect(problems.count == 1 && problems[0].contains("fingerprint"), "\(problems)")
        let other = try store.beginWrite()
        try other.put(tree, key, [1, 2, 3])
        try other.commit()
        #expect(try store.problems(NaiveIndex(texts: [1: "one", 2: "two"])).contains { $0.contains("not readable") })
        #expect(throws: StorageError.self) { try store.write(limits: .standard) { try $0.remove(2, text: "two") } }
    }
}
