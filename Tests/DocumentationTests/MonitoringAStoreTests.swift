// SPDX-License-Identifier: Apache-2.0
// The code of the guide “Monitoring a store”.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Synchronization
import Testing

@EntityModel
private struct Parcel {
    let id: Int
    var state: String
}

/// The part of swift-log that the guide uses.
private struct Logger: Sendable {
    enum Level: Sendable { case trace, debug, info, notice, warning, error, critical }
    enum MetadataValue: Sendable, Equatable { case string(String) }

    let take: @Sendable (Level, String, [String: MetadataValue]) -> Void

    func log(level: Level, _ message: @autoclosure () -> String, metadata: [String: MetadataValue]?) {
        take(level, message(), metadata ?? [:])
    }
}

/// A tracer that records the spans it gets.
private final class Tracer: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }

    func begin(_ name: String) -> String {
        lines.withLock { $0.append("begin \(name)") }
        return name
    }

    func end(_ name: String, rows: Int?) { lines.withLock { $0.append("end \(name) \(rows ?? -1)") } }
}

@Suite("The guide “Monitoring a store”")
struct MonitoringAStoreTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("parcels.hornbeam")
    }

    private func use(_ database: Database) throws {
        try database.write { context in
            for id in 1...10 { try Parcel(id: id, state: "waiting").save(to: &context) }
        }
        _ = try database.read { try Parcel.filter(\.state == "waiting").resolve(in: $0) }
    }

    @Test("A log has a line for each entry")
    func log() throws {
        let lines = Mutex<[String]>([])
        @Sendable func print(_ entry: Database.LogEntry) { lines.withLock { $0.append("\(entry)") } }
        var options = Database.Options()
        options.log = Database.Log(slowQuery: .milliseconds(100)) { entry in
            print(entry)
        }
        let database = try Database(at: path, models: Parcel.self, options: options)
        try use(database)
        try database.close()
        #expect(lines.withLock { $0 }.contains { $0.hasPrefix("info: opened \(path)") })
    }

    @Test("An entry becomes one of swift-log, with its level and metadata")
    func swiftLog() throws {
        typealias Line = (level: Logger.Level, message: String, metadata: [String: Logger.MetadataValue])
        let lines = Mutex<[Line]>([])
        let logger = Logger { level, message, metadata in lines.withLock { $0.append((level, message, metadata)) } }
        var options = Database.Options()
        options.log = Database.Log { entry in
            let metadata = entry.metadata.mapValues { Logger.MetadataValue.string($0) }
            logger.log(level: level(entry.level), "\(entry.message)", metadata: metadata)
        }

        @Sendable
        func level(_ level: Database.LogEntry.Level) -> Logger.Level {
            switch level {
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
        }
        try Database(at: path, models: Parcel.self, options: options).close()
        let closed = try #require(lines.withLock { $0 }.last)
        #expect(closed.level == .info && closed.metadata == ["path": .string(path)])
    }

    @Test("An entry becomes a line of journald, with its priority")
    func journald() throws {
        let pipe = Pipe()
        let standardError = pipe.fileHandleForWriting
        var options = Database.Options()
        options.log = Database.Log { entry in
            let line = "<\(priority(entry.level))>\(entry)\n"
            standardError.write(Data(line.utf8))
        }

        @Sendable
        func priority(_ level: Database.LogEntry.Level) -> Int {
            switch level {
            case .debug: 7
            case .info: 6
            case .warning: 4
            case .error: 3
            }
        }
        try Database(at: path, models: Parcel.self, options: options).close()
        try standardError.close()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(text.hasSuffix("<6>info: closed \(path) path=\"\(path)\"\n"))
    }

    @Test("Figures are a text for Prometheus, and the table of the guide has all of them")
    func figures() throws {
        let database = try Database.inMemory(models: Parcel.self)
        let text = try database.statistics.prometheus(labels: ["database": "parcels"])
        let guide = try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appending(path: "../../Sources/Hornbeam/Hornbeam.docc/MonitoringAStore.md"), encoding: .utf8)
        let names = text.matches(of: /# TYPE hornbeam_([a-z_]+)/).map { String($0.1) }
        #expect(!names.isEmpty)
        for name in names { #expect(guide.contains("`\(name)`"), "the guide lacks \(name)") }
    }

    @Test("Spans of a query and its transaction")
    func spans() throws {
        let tracer = Tracer()
        var options = Database.Options()
        options.spans = { span in
            let interval = tracer.begin("\(span.kind) \(span.name)")
            return { end in tracer.end(interval, rows: end.rows) }
        }
        let database = try Database(at: path, models: Parcel.self, options: options)
        try use(database)
        try database.close()
        #expect(tracer.all.suffix(4) == ["begin read ", "begin query Parcel", "end query Parcel 10", "end read  -1"])
    }
}
