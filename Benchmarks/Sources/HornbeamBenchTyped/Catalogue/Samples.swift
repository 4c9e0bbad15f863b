// SPDX-License-Identifier: Apache-2.0
// The packages and maintainers of a run, made before any clock starts.

import BenchHarness
import Foundation

struct PackageSample: Sendable {
    let id: Int
    let name: String
    var version: String
    let source: String
    let section: String
    let summary: String
    var installedSize: Int
    let updated: Date
    let maintainer: Int

    /// The sum of all properties, which requires reading each of them.
    var sum: Int {
        packageSum(id, name, version, source, section, summary, installedSize, updated)
    }
}

func packageSum(
    _ id: Int, _ name: String, _ version: String, _ source: String, _ section: String, _ summary: String,
    _ installedSize: Int, _ updated: Date
) -> Int {
    let texts = name.utf8.count + version.utf8.count + source.utf8.count + section.utf8.count + summary.utf8.count
    return id &* 31 &+ texts &+ installedSize &* 7 &+ Int(updated.timeIntervalSince1970)
}

struct MaintainerSample: Sendable {
    let id: Int
    let name: String
    let email: String

    var sum: Int { id &* 17 &+ name.utf8.count &+ email.utf8.count }
}

/// `count` packages: 20 for each maintainer, five for each source, 50 sections.
struct Samples: Sendable {
    var packages: [PackageSample]
    let maintainers: [MaintainerSample]

    init(count: Int, seed: UInt64) {
        var random = SplitMix(state: seed)
        let words = (0..<500).map { _ in
            String(
                (0..<Int.random(in: 3...9, using: &random)).map { _ in
                    Character(UnicodeScalar(UInt8.random(in: 97...122, using: &random)))
                })
        }
        let some = max(1, count / 20)
        maintainers = (0..<some).map {
            MaintainerSample(id: $0, name: "Maintainer \($0) of things", email: "maintainer-\($0)@example.org")
        }
        let sources = max(1, count / 5)
        packages = (0..<count).map { id in
            PackageSample(
                id: id, name: "package-\(random.next() >> 40)-\(id)",
                version: "1.\(Int.random(in: 0..<100, using: &random))-\(Int.random(in: 1..<9, using: &random))",
                source: "source-\(id &* 7_919 % sources)", section: "section-\(Int.random(in: 0..<50, using: &random))",
                summary: (0..<8).map { _ in words[Int.random(in: 0..<words.count, using: &random)] }
                    .joined(separator: " "),
                installedSize: Int.random(in: 0..<100_000, using: &random),
                updated: Date(
                    timeIntervalSince1970: Double(Int.random(in: 1_000_000_000..<1_700_000_000, using: &random))),
                maintainer: id &* 104_729 % some)
        }
    }
}

/// The packages of a section with sizes in a range, ordered by size and then by id.
struct SectionRange: Sendable {
    let section: String
    let sizes: Range<Int>
}

/// A store that reports changes.
protocol LiveStore {
    /// Saves packages, each once the previous change has arrived in a live list of all packages in the order of their
    /// sizes.
    func follow(_ packages: ArraySlice<PackageSample>, _ latencies: inout Latencies) throws
}

/// A store that takes part. The sums show that both stores read everything.
protocol TypedStore: AnyObject, Sendable {
    init(path: String) throws

    /// Returns a store for one more thread.
    func another() throws -> any TypedStore

    /// Saves them in one durable transaction.
    func save(_ maintainers: ArraySlice<MaintainerSample>) throws
    func save(_ packages: ArraySlice<PackageSample>) throws

    func package(_ id: Int) throws -> Int
    func packages(ofSource source: String) throws -> Int
    func packages(_ range: SectionRange, limit: Int) throws -> Int
    /// Reads maintainers with their packages.
    func maintainers(_ ids: Range<Int>) throws -> Int

    func close() throws
}
