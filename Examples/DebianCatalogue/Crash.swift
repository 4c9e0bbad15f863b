// SPDX-License-Identifier: Apache-2.0
// The crash part of the demo: a child process imports the catalogue a second time and is killed by SIGKILL in the
// middle of a transaction. The batches that it had acknowledged must be there, whole, and at most one more batch,
// whole too.

import Foundation
import Hornbeam

/// Imports with edition 2, in the child: reports each acknowledged batch on standard output, and after `batches` of
/// them kills its own process, `delay` seconds into the next transaction.
func importUntilKilled(data: String, store: String, batches: Int, delay: Double) throws -> Never {
    let files = try CatalogueFiles(folder: data)
    let database = try openCatalogue(at: store)
    try importCatalogue(files, into: database, edition: 2) { done in
        FileHandle.standardOutput.write(Data("\(done)\n".utf8))
        if done >= batches * batchSize {
            Thread.detachNewThread {
                Thread.sleep(forTimeInterval: delay)
                kill(getpid(), SIGKILL)
            }
        }
    }
    throw DemoError("the second import ended before it was killed")
}

struct DemoError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Runs the child, in the parent. Returns the number of packages that it had acknowledged when it died.
func runDoomedImport(data: String, store: String, report: Report) throws -> Int {
    let child = Process()
    child.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    child.arguments = ["import-until-killed", data, store, "6", "0.15"]
    let output = Pipe()
    child.standardOutput = output
    try child.run()
    let told = try output.fileHandleForReading.readToEnd() ?? Data()
    child.waitUntilExit()
    let killed = child.terminationReason == .uncaughtSignal && child.terminationStatus == SIGKILL
    report.verify("the second import was killed by SIGKILL", killed)
    let acknowledged = String(decoding: told, as: UTF8.self).split(separator: "\n").last.flatMap { Int($0) } ?? 0
    report.line("killed in the middle of a transaction; \(acknowledged) packages were acknowledged")
    return acknowledged
}

/// Checks after the crash that every package is there, that the acknowledged ones have the second edition, and that
/// at most one more batch has it, as a whole.
func verifyAfterCrash(_ database: Database, files: CatalogueFiles, acknowledged: Int, report: Report) throws {
    try database.read { context in
        let total = try Package.query().count(in: context)
        report.verify("no package was lost", total == files.packages.count)
        let second = try Package.query().resolve(in: context).filter { $0.edition == 2 }
        let wholeBatches = second.count % batchSize == 0
        report.verify("acknowledged packages survived", second.count >= acknowledged)
        report.verify(
            "nothing is half there", wholeBatches && second.count <= acknowledged + batchSize)
        let expected = Set(files.packages.prefix(second.count).map(\.id))
        report.verify("exactly the first batches carry the second edition", Set(second.map(\.id)) == expected)
        report.line("\(second.count) packages carry the second edition, \(total - second.count) the first")
    }
}
