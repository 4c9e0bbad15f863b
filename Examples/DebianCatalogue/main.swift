// SPDX-License-Identifier: Apache-2.0
// The demo: imports the Debian package catalogue, queries it, crashes on purpose, and reports its checks.
//
//     debian-catalogue demo DATA_FOLDER STORE_FILE
//     debian-catalogue mirror STORE_FILE SERVER_FOLDER

import Foundation
import Hornbeam

func demo(data: String, store: String) throws -> Bool {
    let report = Report()
    try? FileManager.default.removeItem(atPath: store)
    let files = try CatalogueFiles(folder: data)

    try importAll(files, store: store, report: report)
    let (openSeconds, database) = try timed { try openCatalogue(at: store) }
    report.heading("Reopening")
    report.line("the store opened in \(milliseconds(openSeconds))")
    report.verify("opening took under 50 ms", openSeconds < 0.050)

    try Questions(files: files, report: report).ask(database)
    try failedInsert(database, files: files, report: report)
    try sizeAndCheck(database, store: store, report: report)
    try database.close()

    report.heading("Killing a second import (SIGKILL)")
    let acknowledged = try runDoomedImport(data: data, store: store, report: report)
    let (seconds, reopened) = try timed { try openCatalogue(at: store) }
    report.line("reopened with recovery in \(milliseconds(seconds))")
    try verifyAfterCrash(reopened, files: files, acknowledged: acknowledged, report: report)
    try sizeAndCheck(reopened, store: store, report: report)
    try reopened.close()

    print("")
    if report.failures.isEmpty {
        print("Verified: \(report.verified.count) facts, \(report.verified.joined(separator: "; ")).")
    } else {
        print("FAILED: \(report.failures.joined(separator: "; ")).")
    }
    return report.failures.isEmpty
}

func importAll(_ files: CatalogueFiles, store: String, report: Report) throws {
    report.heading("Importing \(files.packages.count) packages")
    let bar = ProgressBar(title: "packages", total: files.packages.count)
    let (seconds, _) = try timed {
        let database = try openCatalogue(at: store)
        try importCatalogue(files, into: database, edition: 1) { bar.show($0) }
        try database.close()
    }
    report.line(String(format: "imported and indexed in %.2f s", seconds))
    report.verify("the import took under 30 s", seconds < 30)
}

func failedInsert(_ database: Database, files: CatalogueFiles, report: Report) throws {
    report.heading("A unique insert that must fail")
    let before = try database.read { try Package.query().count(in: $0) }
    let taken = files.packages[0]
    var refused = false
    do {
        try database.write { context in
            try Section(id: 9_999, name: "left behind").save(to: &context)
            try Package(
                id: 999_999, name: taken.name, version: taken.version, sectionName: "", priority: "",
                installedSize: 0, size: 0, summary: "a second \(taken.name)", details: "", edition: 1
            ).save(to: &context)
        }
    } catch {
        refused = true
        report.line("refused: \(error)")
    }
    report.verify("the duplicate was refused", refused)
    try database.read { context in
        let nothing =
            try Package.query().count(in: context) == before
            && Package.query(999_999).resolve(in: context) == nil
            && Section.query(9_999).resolve(in: context) == nil
            && Package.filter(.string(\.summary, \.details, matches: "9f9f9f")).count(in: context) == 0
        report.verify("it left nothing behind", nothing)
        report.line("\(before) packages before and after; the section saved in the same transaction is gone too")
    }
}

func sizeAndCheck(_ database: Database, store: String, report: Report) throws {
    report.heading("The file")
    var problems: [String] = []
    let (seconds, isWhole) = try timed { try database.check { problems.append($0) } }
    let bytes = (try FileManager.default.attributesOfItem(atPath: store)[.size] as? Int) ?? 0
    report.line(
        String(format: "%.1f MB, checked in %.2f s: ", Double(bytes) / 1e6, seconds)
            + (problems.isEmpty ? "no problem" : "\(problems.count) problems"))
    for problem in problems.prefix(10) { report.line("\(problem)") }
    report.verify("the check found no problem", isWhole)
}

let arguments = CommandLine.arguments
do {
    switch arguments.dropFirst().first {
    case "demo" where arguments.count == 4:
        exit(try demo(data: arguments[2], store: arguments[3]) ? 0 : 1)
    case "mirror" where arguments.count == 4:
        exit(try await MirrorDemo.run(store: arguments[2], folder: arguments[3]) ? 0 : 1)
    case "import-until-killed" where arguments.count == 6:
        try importUntilKilled(
            data: arguments[2], store: arguments[3], batches: Int(arguments[4]) ?? 6,
            delay: Double(arguments[5]) ?? 0.1)
    default:
        FileHandle.standardError.write(Data("usage: debian-catalogue demo DATA_FOLDER STORE_FILE\n".utf8))
        exit(2)
    }
} catch {
    FileHandle.standardError.write(Data("debian-catalogue: \(error)\n".utf8))
    exit(1)
}
