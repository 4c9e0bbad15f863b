// SPDX-License-Identifier: Apache-2.0
// Messages and reports about long data are short.

import HornbeamHandKept
import Testing

@testable import Hornbeam
@testable import HornbeamMapReduce

@Suite("Messages about long data")
struct ShownTextTests {
    @Test("a long text is shown by its beginning and its size, in whole characters")
    func texts() {
        #expect("short".shown() == "short")
        #expect(String(repeating: "x", count: 300).shown(10) == "xxxxxxxxxx… (300 bytes)")
        for limit in 0..<20 {
            let shown = String(repeating: "é😀", count: 10).shown(limit)
            #expect(!shown.contains("\u{FFFD}") && shown.hasSuffix("… (60 bytes)"))
        }
        let message = "begins " + String(repeating: "😀", count: 10_000) + " ends with what to do"
        let error = HornbeamError(.invalid, message)
        #expect(error.message.hasPrefix("begins 😀") && error.message.hasSuffix("😀 ends with what to do"))
        #expect(error.message.utf8.count < 4_100 && error.message.contains("(40028 bytes)"))
    }

    @Test("a report of an impure reducer is short, and shows the first value that differs")
    func violations() throws {
        /// A wrong reducer: it counts partial results instead of rows.
        let counts = ReduceFunction("counts", room: 250) { keys, values, rereduce in
            var result: [String: MapKey] = [:]
            if rereduce {
                for case .dictionary(let part) in values {
                    for key in part.keys {
                        if case .int(let old)? = result[key] { result[key] = .int(old + 1) } else { result[key] = 1 }
                    }
                }
            } else {
                for case .string(let key) in keys { result[key] = 2 }
            }
            return .dictionary(result)
        }
        let long = String(repeating: "x", count: 50_000)
        let rows = (0..<3).map { (key: MapKey.string("\(long)\($0 % 2)"), value: MapKey?.none) }
        let violation = try #require(try counts.findViolation(in: rows))
        #expect(violation.description.utf8.count < 3_000)
        #expect(violation.description.contains("it gives 1 at [\"xxx") && violation.description.hasSuffix("give 2"))
    }

    @Test("a report of a growing reducer has the sizes, and no wrong result")
    func growth() throws {
        let reducer = ReduceFunction("types", room: 250) { keys, values, rereduce in
            var result: [MapKey] = rereduce ? [] : keys
            for case .array(let part) in values where rereduce { result += part }
            return .array(result)
        }
        let rows = (0..<3_000).map { (key: MapKey.string("type\($0)"), value: MapKey?.none) }
        let violation = try #require(try reducer.findViolation(in: rows))
        #expect(violation.expected == violation.found)
        #expect(violation.description.utf8.count < 1_000)
        #expect(violation.description.contains("must condense") && !violation.description.contains("should give"))
    }

    @Test("a reducer whose result is NaN breaks no law by that")
    func nan() throws {
        let rows: [(key: MapKey, value: Double?)] = [(0, 1), (1, .nan), (2, 3)]
        #expect(try FloatingSumReducer().findViolation(in: rows) == nil)
        #expect(try StatisticsReducer<Double>().findViolation(in: rows) == nil)
    }

    @Test("errors about long keys, ids and values of indexes are short")
    func errors() throws {
        let long = String(repeating: "x", count: 100_000)
        let database = try LibraryTables.inMemory()
        try database.write { context in try LibraryBook(id: "a").save(to: &context) }
        func message(_ body: @escaping (inout Context) throws -> Void) -> String? {
            do {
                try database.write(body)
                return nil
            } catch { return (error as? HornbeamError)?.message }
        }
        let messages = [
            message { try $0.indexes.allBooks.append(long) },
            message { try $0.indexes.byISBN.set("a", for: long) },
            message { try $0.indexes.byGenre.move("a", to: long) },
            message { try $0.indexes.byAuthor.move("a", to: long) },
            message { try $0.table(LibraryBook.self).update(long) { $0.title = "" } },
        ]
        for message in messages {
            let text = try #require(message)
            #expect(text.utf8.count < 600, "\(text.prefix(200))")
        }
        // The error names the limit.
        #expect(messages[1]?.contains("884") == true && messages[2]?.contains("884") == true)
    }
}
