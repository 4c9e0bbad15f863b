// SPDX-License-Identifier: Apache-2.0
// The demo of the mirror: the catalogue copied into PostgreSQL, changes followed while the server is killed, one
// query there by SQL and by entity types, and a store restored from the tables.
//
//     debian-catalogue mirror STORE_FILE SERVER_FOLDER

import Foundation
import Hornbeam
import HornbeamPostgres

struct MirrorDemo {
    let report: Report
    let server: DemoServer
    let database: Database
    let mirror: PostgresMirror

    static func run(store: String, folder: String) async throws -> Bool {
        let report = Report()
        let server = DemoServer(folder: folder)
        let url = try server.start()
        defer { server.remove() }
        let database = try openCatalogue(at: store)
        // The next demo has another server.
        defer { _ = try? database.unregisterConsumer(named: "demo") }
        var options = PostgresMirror.Options()
        options.indexes = [.declared, .fullText]
        let mirror = try PostgresMirror(of: database, named: "demo", to: url, schema: "debian", options: options)
        let demo = MirrorDemo(report: report, server: server, database: database, mirror: mirror)
        try await demo.copy()
        let following = Task { try await mirror.run() }
        try await demo.follow()
        try await demo.kill()
        following.cancel()
        try await following.value
        try await demo.query(url)
        try await demo.restore(url, path: store + ".restored")
        print("")
        print(
            report.failures.isEmpty
                ? "Verified: \(report.verified.joined(separator: "; "))."
                : "FAILED: \(report.failures.joined(separator: "; ")).")
        return report.failures.isEmpty
    }

    private func seconds(_ body: () async throws -> Void) async throws -> Double {
        let start = ContinuousClock.now
        try await body()
        let time = (ContinuousClock.now - start).components
        return Double(time.seconds) + Double(time.attoseconds) * 1e-18
    }

    private func copy() async throws {
        report.heading("The first copy")
        let time = try await seconds { _ = try await mirror.update() }
        let count = try await database.read { context in
            try Package.query().count(in: context) + Maintainer.query().count(in: context)
                + Section.query().count(in: context) + Tag.query().count(in: context)
        }
        report.line(String(format: "%d entities with their links and indexes in %.1f s", count, time))
        try await verifyMirror()
    }

    private func verifyMirror() async throws {
        let differences = try await mirror.differences()
        report.verify("no row differs between store and mirror", differences.isEmpty)
        for difference in differences.prefix(3) { report.line("\(difference)") }
    }

    private func follow() async throws {
        report.heading("Following changes")
        let packages = try await database.read { try Package.query().limit(20_000).resolve(in: $0) }
        let time = try await seconds {
            for start in stride(from: 0, to: packages.count, by: 500) {
                try await database.write { context in
                    for var package in packages[start..<min(start + 500, packages.count)] {
                        package.edition += 1
                        try package.save(to: &context)
                    }
                }
            }
            try await mirror.reach(database.version)
        }
        report.line(String(format: "%d packages saved and mirrored in %.2f s", packages.count, time))
        var times: [Double] = []
        for number in 0..<200 {
            times.append(
                try await seconds {
                    try await database.write { try Tag(id: 1_000_000 + number, facet: "demo", name: "n").save(to: &$0) }
                    try await mirror.reach(database.version)
                })
        }
        times.sort()
        report.line(
            "a save until it is in PostgreSQL: \(milliseconds(times[100])), 99 % within \(milliseconds(times[198]))")
    }

    private func kill() async throws {
        report.heading("Killing the server")
        try server.kill()
        try await database.write { context in
            for number in 0..<200 { try Tag.delete(id: 1_000_000 + number, from: &context) }
        }
        report.line("killed; the store's writes go on: 200 tags deleted")
        _ = try server.start()
        let time = try await seconds { try await mirror.reach(database.version) }
        report.line("started again, the mirror was there after \(milliseconds(time))")
        try await verifyMirror()
    }

    private func query(_ url: String) async throws {
        report.heading("Asking the mirror")
        print(
            try server.psql(
                #"""
                SELECT s.name AS section, count(*) AS packages, (sum(p."installedSize") / 1024)::int AS "MB installed"
                FROM debian."Package" AS p JOIN debian."Section" AS s ON s.id = p.section
                GROUP BY 1 ORDER BY 2 DESC LIMIT 5
                """#))
        let reader = try PostgresReader(
            url, schema: "debian", models: Package.self, Section.self, Maintainer.self, Tag.self)
        let largest = Package.query().sorted(by: \.installedSize.desc).limit(5).with(\.$maintainer)
        let there = try await reader.resolve(largest)
        let here = try await database.read { try largest.resolve(in: $0) }
        for package in there {
            report.line(
                "\(package.name), \(package.installedSize / 1024) MB, by \(package.maintainer?.name ?? "nobody")")
        }
        report.verify("entities read from PostgreSQL are the store's", there.map(\.name) == here.map(\.name))
    }

    private func restore(_ url: String, path: String) async throws {
        report.heading("Restoring")
        try? FileManager.default.removeItem(atPath: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        var restored: RestoredStore?
        let time = try await seconds {
            restored = try await Database.restore(to: path, from: url, schema: "debian") { _, _ in }
        }
        let count = restored?.entities.values.reduce(0, +) ?? 0
        report.line(String(format: "%d entities and %d links in %.1f s", count, restored?.links ?? 0, time))
        let copy = try openCatalogue(at: path)
        func counts(_ database: Database) throws -> [Int] {
            try database.read { context in
                [
                    try Package.query().count(in: context), try Maintainer.query().count(in: context),
                    try Section.query().count(in: context), try Tag.query().count(in: context),
                    try Package.filter(.string(\.summary, \.details, matches: "database")).count(in: context),
                ]
            }
        }
        report.verify(
            "the restored store has as many entities, and finds as many", try counts(copy) == counts(database))
        report.verify("its check finds no problem", try copy.check { report.line($0) })
        try copy.close()
    }
}

/// The server that `Scripts/postgres.sh` runs.
struct DemoServer {
    let folder: String

    func start() throws -> String { try run("Scripts/postgres.sh", "start", folder) }
    func kill() throws { _ = try run("Scripts/postgres.sh", "kill", folder) }
    func remove() { _ = try? run("Scripts/postgres.sh", "remove", folder) }

    func psql(_ sql: String) throws -> String {
        try run("/usr/bin/env", "psql", "-d", "postgresql://hornbeam@/postgres?host=\(folder)", "-c", sql)
    }

    private struct Failure: Error, CustomStringConvertible { let description: String }

    private func run(_ words: String...) throws -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let command = words.map { "'" + $0.replacing("'", with: "'\\''") + "'" }.joined(separator: " ")
        // Not `Process`: it waits for all processes that a command leaves running, and the server is one.
        guard system("\(command) > '\(path)'") == 0 else { throw Failure(description: "\(words[0]) failed") }
        return try String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(in: .newlines)
    }
}
