// SPDX-License-Identifier: Apache-2.0
// The demo's queries: each prints its answer, its time and its plan, and checks the answer against the data set's
// files.

import Foundation
import Hornbeam

struct Questions {
    let files: CatalogueFiles
    let report: Report

    /// The longest allowed time of an indexed query, in seconds.
    static let budget = 0.010

    func ask(_ database: Database) throws {
        try database.read { context in
            try counts(context)
            try largestOfSection("games", context)
            try mostProductiveMaintainer(context)
            try compoundRange(context)
            for words in ["web browser", "python library for machine learning", "chess"] {
                try search(words, context)
            }
            try nested("firefox-esr", context)
        }
    }

    /// Runs a query five times and prints the median time, which is that of an open store, and the plan.
    private func run<Result>(
        _ title: String, plan: some CustomStringConvertible, _ body: () throws -> Result
    ) rethrows -> Result {
        report.heading(title)
        let runs = try (0..<5).map { _ in try timed(body) }.sorted { $0.seconds < $1.seconds }
        let (seconds, result) = runs[runs.count / 2]
        // A plan has a line for each of its parts.
        let parts = plan.description.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        report.line("\(milliseconds(seconds)); found by: \(parts.joined(separator: "; "))")
        report.verify("“\(title)” took under 10 ms", seconds < Self.budget)
        return result
    }

    private func counts(_ context: Context) throws {
        let plan = try Package.query().explain(in: context)
        let (packages, maintainers, sections, tags) = try run("What is in the store", plan: plan) {
            (
                try Package.query().count(in: context), try Maintainer.query().count(in: context),
                try Section.query().count(in: context), try Tag.query().count(in: context)
            )
        }
        report.line("\(packages) packages, \(maintainers) maintainers, \(sections) sections, \(tags) tags")
        report.verify(
            "every record was imported",
            packages == files.packages.count && maintainers == files.maintainers.count
                && sections == files.sections.count && tags == files.tags.count)
    }

    private func largestOfSection(_ section: String, _ context: Context) throws {
        let query = Package.filter(\.sectionName == section).sorted(by: \.installedSize.desc).limit(10)
        let plan = try query.explain(in: context)
        let found = try run("The 10 largest packages of section “\(section)”", plan: plan) {
            try query.resolve(in: context)
        }
        for package in found { report.line("\(column(package.installedSize)) KiB  \(package.name)") }
        let number = files.sections.first { $0.name == section }?.id
        let expected = files.packages.filter { $0.section == number }.map(\.installed_size).sorted(by: >).prefix(10)
        report.verify("the largest packages are right", found.map(\.installedSize) == Array(expected))
    }

    private func mostProductiveMaintainer(_ context: Context) throws {
        var packagesOf: [Int: Int] = [:]
        for record in files.packages { packagesOf[record.maintainer, default: 0] += 1 }
        guard let best = packagesOf.max(by: { ($0.value, $1.key) < ($1.value, $0.key) }) else { return }
        let query = Maintainer.query(best.key).related(\.$packages)
        let plan = try query.explain(in: context)
        let ids = try run("The packages of the most productive maintainer", plan: plan) {
            try query.limit(20).resolve(in: context)
        }
        let name = try Maintainer.query(best.key).resolve(in: context)?.name ?? "?"
        let count = try query.count(in: context)
        report.line("\(name): \(count) packages, among them \(ids.prefix(5).map(\.name).joined(separator: ", "))")
        report.verify("the maintainer's packages are complete", count == best.value)
    }

    private func compoundRange(_ context: Context) throws {
        let query = Package.filter(\.sectionName == "editors").filter(\.installedSize >= 10_000)
            .filter(\.installedSize < 50_000).sorted(by: \.installedSize.desc)
        let plan = try query.explain(in: context)
        let found = try run("Editors of 10,000 to 50,000 KiB, largest first (compound index)", plan: plan) {
            try query.resolve(in: context)
        }
        for package in found.prefix(8) { report.line("\(column(package.installedSize)) KiB  \(package.name)") }
        let number = files.sections.first { $0.name == "editors" }?.id
        let expected = files.packages.filter {
            $0.section == number && $0.installed_size >= 10_000 && $0.installed_size < 50_000
        }.map(\.installed_size).sorted(by: >)
        report.verify("the compound range is right", found.map(\.installedSize) == expected)
    }

    private func search(_ words: String, _ context: Context) throws {
        let query = Package.filter(.string(\.summary, \.details, matches: words)).limit(10)
        let plan = try query.explain(in: context)
        let found = try run("The 10 best for “\(words)”", plan: plan) { try query.ranked(in: context) }
        for hit in found {
            guard let package = try hit.entity else { continue }
            report.line(String(format: "%8.4f  ", hit.score) + "\(package.name): \(package.summary)")
        }
        let expected = NaiveRanking(files).best(words, 10)
        let same =
            found.map(\.id) == expected.map(\.id)
            && zip(found, expected).allSatisfy { abs($0.score - $1.score) <= 1e-9 * $1.score }
        report.verify("the ranking for “\(words)” is that of the formula", same)
    }

    private func nested(_ name: String, _ context: Context) throws {
        let list = Package.filter(\.name == name).with(\.$dependencies) { $0.with(\.$maintainer) }
            .with(\.$section)
        let plan = try list.explain(in: context)
        let found = try run("“\(name)” with its dependencies and their maintainers", plan: plan) {
            try list.resolve(in: context)
        }
        guard let package = found.first else {
            return report.verify("“\(name)” was found", false)
        }
        let dependencies = package.dependencies ?? []
        report.line("\(package.name) \(package.version), section \(package.section?.name ?? "?"), depends on:")
        for other in dependencies.prefix(6) {
            report.line("  \(other.name) by \(other.maintainer?.name ?? "?")")
        }
        report.line("  … \(dependencies.count) in all")
        var seen = Set<Int>()
        let expected = (files.dependencies[package.id] ?? []).filter { seen.insert($0).inserted }
        report.verify("the nested dependencies are right", dependencies.map(\.id) == expected)
        report.verify("each has its maintainer", dependencies.allSatisfy { $0.maintainer != nil })
    }

    private func column(_ number: Int) -> String {
        let text = String(number)
        return String(repeating: " ", count: max(0, 9 - text.count)) + text
    }
}
