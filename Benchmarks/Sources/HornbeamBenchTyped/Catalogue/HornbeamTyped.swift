// SPDX-License-Identifier: Apache-2.0
// The catalogue as a program that embeds Hornbeam declares and queries it.

import BenchHarness
import Dispatch
import Foundation
import Hornbeam

@EntityModel
struct Package {
    @Index<Self>(\.source) private var bySource
    @Index<Self>(\.section, \.installedSize) private var bySection

    let id: Int
    var name: String
    var version: String
    var source: String
    var section: String
    var summary: String
    var installedSize: Int
    var updated: Date

    @Relationship(.required, inverse: \.packages) var maintainer: Maintainer?
}

@EntityModel
struct Maintainer {
    let id: Int
    var name: String
    var email: String

    @Relationship(inverse: \.maintainer) var packages: [Package]?
}

extension Package {
    init(_ sample: PackageSample) {
        self.init(
            id: sample.id, name: sample.name, version: sample.version, source: sample.source, section: sample.section,
            summary: sample.summary, installedSize: sample.installedSize, updated: sample.updated,
            maintainer: .id(sample.maintainer))
    }

    var sum: Int { packageSum(id, name, version, source, section, summary, installedSize, updated) }
}

final class HornbeamTyped: TypedStore {
    let database: Database

    init(path: String) throws {
        database = try Database(at: path, models: Package.self, Maintainer.self)
    }

    func another() throws -> any TypedStore { self }

    func save(_ maintainers: ArraySlice<MaintainerSample>) throws {
        try database.write { context in
            for sample in maintainers {
                try Maintainer(id: sample.id, name: sample.name, email: sample.email).save(to: &context)
            }
        }
    }

    func save(_ packages: ArraySlice<PackageSample>) throws {
        try database.write { context in
            for sample in packages { try Package(sample).save(to: &context) }
        }
    }

    func package(_ id: Int) throws -> Int {
        try database.read { context in
            let package: Package? = try context.find(id)
            return package?.sum ?? 0
        }
    }

    func packages(ofSource source: String) throws -> Int {
        try database.read { context in
            try Package.filter(\.source == source).resolve(in: context).reduce(0) { $0 &+ $1.sum }
        }
    }

    func packages(_ range: SectionRange, limit: Int) throws -> Int {
        let (section, least, end) = (range.section, range.sizes.lowerBound, range.sizes.upperBound)
        return try database.read { context in
            try Package
                .filter(\.section == section && \.installedSize >= least && \.installedSize < end)
                .sorted(by: \.installedSize)
                .limit(limit)
                .resolve(in: context)
                .reduce(0) { $0 &+ $1.sum }
        }
    }

    func maintainers(_ ids: Range<Int>) throws -> Int {
        let (least, end) = (ids.lowerBound, ids.upperBound)
        return try database.read { context in
            try Maintainer
                .filter(\.id >= least && \.id < end)
                .with(\.$packages)
                .resolve(in: context)
                .reduce(0) { sum, maintainer in
                    let sample = MaintainerSample(id: maintainer.id, name: maintainer.name, email: maintainer.email)
                    return (maintainer.packages ?? []).reduce(sum &+ sample.sum) { $0 &+ $1.sum }
                }
        }
    }

    func close() throws { try database.close() }
}

extension HornbeamTyped: LiveStore {
    func follow(_ packages: ArraySlice<PackageSample>, _ latencies: inout Latencies) throws {
        let hasCome = DispatchSemaphore(value: 0)
        let changes = database.changes(of: Package.query().sorted(by: \.installedSize))
        let live = Task {
            for try await _ in changes { hasCome.signal() }
        }
        defer { live.cancel() }
        hasCome.wait()
        for sample in packages {
            var package = Package(sample)
            // A save without a change wouldn't be reported.
            package.installedSize += 1
            try latencies.time {
                try database.write(durability: .process) { try package.save(to: &$0) }
                hasCome.wait()
            }
        }
    }
}
