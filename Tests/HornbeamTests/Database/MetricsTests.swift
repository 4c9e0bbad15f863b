// SPDX-License-Identifier: Apache-2.0
// The figures of a database in Prometheus's format.

import Foundation
import HornbeamTestSupport
import Testing

@testable import Hornbeam

@EntityModel
private struct Measured {
    let id: Int
    var text: String
}

@Suite("Figures for Prometheus")
struct MetricsTests {
    private func statistics(_ count: Int = 100) throws -> Database.Statistics {
        let database = try Database.inMemory(models: Measured.self)
        try database.write { context in
            for id in 0..<count { try Measured(id: id, text: "text \(id)").save(to: &context) }
        }
        return database.statistics
    }

    /// Returns the values of all lines by name and labels. Records an issue for each invalid line.
    private func values(_ text: String) -> [String: UInt64] {
        var values: [String: UInt64] = [:]
        var typed: String?
        #expect(text.hasSuffix("\n"))
        for line in text.split(separator: "\n") {
            if let type = line.wholeMatch(of: /# TYPE (hornbeam_[a-z_]+) (gauge|counter)/) {
                typed = String(type.1)
                #expect(typed?.hasSuffix("_total") == (type.2 == "counter"))
            } else if let sample = line.wholeMatch(of: /(hornbeam_[a-z_]+)(\{.*\})? ([0-9]+)/) {
                #expect(String(sample.1) == typed, "\(line)")
                let key = String(sample.1) + String(sample.2 ?? "")
                #expect(values.updateValue(UInt64(sample.3) ?? 0, forKey: key) == nil, "\(line) comes twice")
            } else if line.wholeMatch(of: /# HELP hornbeam_[a-z_]+ .+\./) == nil {
                Issue.record("no line of the format: \(line)")
            }
        }
        return values
    }

    @Test("Each figure has a line with its value")
    func figures() throws {
        let figures = try statistics()
        let values = values(try figures.prometheus())
        #expect(values["hornbeam_file_bytes"] == figures.fileBytes)
        #expect(values["hornbeam_used_bytes"] == figures.usedBytes)
        #expect(values["hornbeam_transaction"] == figures.transaction)
        #expect(values["hornbeam_cache_hits_total"] == figures.cache.hits)
        #expect(values["hornbeam_cache_pinned_bytes{holder=\"readers\"}"] == figures.cache.readers.pinnedBytes)
    }

    @Test("Labels are sorted, and their values escaped")
    func labels() throws {
        let text = try statistics().prometheus(labels: ["zone": "a\"b\\c\nd", "database": "parcels\r\n"])
        #expect(text.contains("hornbeam_file_bytes{database=\"parcels\r\\n\",zone=\"a\\\"b\\\\c\\nd\"} "))
        #expect(text.contains("{database=\"parcels\r\\n\",holder=\"writer\",zone="))
    }

    @Test("Several databases share the head of a figure")
    func several() throws {
        let text = try Database.Statistics.prometheus([
            (["database": "a"], try statistics(10)), (["database": "b"], try statistics(2_000)),
        ])
        #expect(text.split(separator: "# TYPE hornbeam_used_bytes ").count == 2)
        let values = values(text)
        let (small, large) = (
            try #require(values["hornbeam_used_bytes{database=\"a\"}"]),
            try #require(values["hornbeam_used_bytes{database=\"b\"}"])
        )
        #expect(small < large)
    }

    @Test(
        "A name that can't be a label is refused",
        arguments: ["", "7th", "data-base", "holder", "__name__", "naïve", "a b", "a@"])
    func refused(_ name: String) throws {
        let figures = try statistics(1)
        let error = #expect(throws: HornbeamError.self) { try figures.prometheus(labels: [name: "x"]) }
        #expect(error?.code == .invalid)
    }
}
