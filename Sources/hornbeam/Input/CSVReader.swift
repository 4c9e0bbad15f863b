// SPDX-License-Identifier: Apache-2.0
// Records of CSV by the system's libcsv, streamed: memory is bounded by the longest record.

import CCSV
import Hornbeam

/// Reads the records of a file, the header first.
final class CSVReader {
    /// The fields of one record; nil is an empty field without quotes.
    typealias Record = [String?]

    private var lines: LineReader
    private var parser = csv_parser()
    private var record: Record = []
    /// Complete records that `next` hasn't returned. A line completes at most one.
    private var records: [Record] = []
    private var isAtEnd = false
    private var hasBadText = false

    /// - Parameter lines: keeps the ends of lines, which belong to texts here.
    init(_ lines: consuming LineReader) throws {
        self.lines = lines
        guard csv_init(&parser, UInt8(CSV_STRICT | CSV_STRICT_FINI | CSV_EMPTY_IS_NULL)) == 0 else {
            throw CommandError("the reader of CSV can't be started")
        }
        // Spaces at a field's ends belong to it.
        csv_set_space_func(&parser) { _ in 0 }
    }

    deinit { csv_free(&parser) }

    var path: String { lines.path }
    /// The line in which the last record ends.
    var lineNumber: UInt64 { lines.lineNumber }
    var bytesRead: UInt64 { lines.bytesRead }
    var fileSize: UInt64? { lines.fileSize }

    /// The next record, or nil after the last one. Empty lines are skipped.
    func next() throws -> Record? {
        while records.isEmpty, !isAtEnd {
            let line = try lines.next()
            // A line that Ctrl-C cut off is no record.
            if Interruption.isRequested { return nil }
            guard let line else {
                isAtEnd = true
                try parse(nil)
                break
            }
            try parse(line)
        }
        guard !hasBadText else { throw CommandError("\(path), line \(lineNumber): this isn't UTF-8") }
        return records.popLast()
    }

    /// Hands a line to the parser, or for nil the end of the file.
    private func parse(_ line: ArraySlice<UInt8>?) throws {
        let reader = Unmanaged.passUnretained(self).toOpaque()
        let isRead: Bool
        if let line {
            isRead = line.withUnsafeBufferPointer { bytes in
                csv_parse(&parser, bytes.baseAddress, bytes.count, Self.takeField, Self.takeRecord, reader)
                    == bytes.count
            }
        } else {
            isRead = csv_fini(&parser, Self.takeField, Self.takeRecord, reader) == 0
        }
        guard isRead else {
            let isOpen = line == nil
            throw CommandError(
                "\(path), line \(lineNumber): "
                    + (isOpen
                        ? "a quoted field has no end" : "a quote within a field: write it twice, in a quoted field"))
        }
    }

    private static let takeField:
        @Sendable @convention(c) (
            UnsafeMutableRawPointer?, Int, UnsafeMutableRawPointer?
        ) -> Void = {
            guard let reader = $2.map({ Unmanaged<CSVReader>.fromOpaque($0).takeUnretainedValue() }) else { return }
            guard let start = $0 else { return reader.record.append(nil) }
            let text = String(validating: UnsafeRawBufferPointer(start: start, count: $1), as: UTF8.self)
            if text == nil { reader.hasBadText = true }
            reader.record.append(text)
        }

    private static let takeRecord: @Sendable @convention(c) (Int32, UnsafeMutableRawPointer?) -> Void = { _, reader in
        guard let reader = reader.map({ Unmanaged<CSVReader>.fromOpaque($0).takeUnretainedValue() }) else { return }
        reader.records.append(reader.record)
        reader.record = []
    }
}
