// SPDX-License-Identifier: Apache-2.0
// `shared-lines`: the cache lines through which reading threads would wait for each other. Two threads read
// alternately, each get in a transaction of its own (TracedReads), and valgrind records the memory that each
// instruction accesses. So the answer needs neither many processors nor luck.

import BenchHarness
import Foundation

enum SharedLines {
    /// The program of `Sources/TracedReads`.
    static let program = "hornbeam-traced-reads"
    private static let lineShift: UInt64 = 6

    /// Fails if both threads write a line, or one writes a line that the other reads.
    static func check() throws {
        let shared = try find()
        guard shared.isEmpty else {
            throw BenchError(
                """
                threads that read share cache lines, so they will wait for each other on a machine with many processors:
                \(shared.joined(separator: "\n"))
                'nm -n' of the library names the functions.
                """)
        }
        print("reading threads share no cache line that one of them writes")
    }

    /// Returns a description of each such line.
    private static func find() throws -> [String] {
        guard access(Callgrind.program, X_OK) == 0 else {
            throw BenchError("tracing needs valgrind: apt install valgrind")
        }
        var found: [String] = []
        try inFolder { folder in
            let output = try run(in: folder)
            let lines = output.split(separator: "\n")
            guard let marks = lines.first.flatMap({ UInt64($0.dropFirst(2), radix: 16) }) else {
                throw BenchError("\(program) told nothing")
            }
            var trace = MemoryTrace(marks: marks, lineShift: lineShift)
            trace.read(try Data(contentsOf: URL(fileURLWithPath: folder + "/trace"), options: .alwaysMapped))
            found = try trace.shared(Mappings(lines.dropFirst()))
        }
        return found
    }

    /// Runs the program, which leaves its trace in the file `trace` of the folder, and returns its standard output.
    private static func run(in folder: String) throws -> String {
        let programs = (try Callgrind.withoutDebugInformation(in: folder) as NSString).deletingLastPathComponent
        let output = try Child.output(
            of: [
                Callgrind.program, "--tool=lackey", "--trace-mem=yes", "--log-file=\(folder)/trace",
                programs + "/" + program, folder + "/store",
            ], program)
        return String(decoding: output, as: UTF8.self)
    }
}

/// The memory that each of the two threads reads and writes, from the trace that valgrind's lackey has written.
private struct MemoryTrace {
    /// The addresses of a thread's last instructions that write and that read a line; 0 if there is none.
    private struct Use {
        var written: UInt64 = 0
        var read: UInt64 = 0
    }

    private let marks: UInt64
    private let lineShift: UInt64
    private var uses: [UInt64: [Use]] = [:]
    private var phase = 0

    init(marks: UInt64, lineShift: UInt64) {
        self.marks = marks
        self.lineShift = lineShift
    }

    /// Reads lines: `I  ADDRESS,SIZE` is an instruction, then ` L`, ` S` or ` M` are its loads, stores and
    /// modifications.
    mutating func read(_ trace: Data) {
        trace.withUnsafeBytes { bytes in
            var place = 0
            var instruction: UInt64 = 0
            while place + 4 < bytes.count {
                let kinds = (bytes[place], bytes[place + 1])
                var address: UInt64 = 0
                var size: UInt64 = 0
                place += 3
                while place < bytes.count, let digit = Self.digit(bytes[place]) {
                    address = address << 4 | digit
                    place += 1
                }
                place += 1
                while place < bytes.count, let digit = Self.digit(bytes[place]) {
                    size = size * 10 + digit
                    place += 1
                }
                while place < bytes.count, bytes[place] != UInt8(ascii: "\n") { place += 1 }
                place += 1
                if kinds.0 == UInt8(ascii: "I") { instruction = address }
                if kinds.0 == UInt8(ascii: " ") { note(kinds.1, address, size, at: instruction) }
            }
        }
    }

    private static func digit(_ byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a")) + 10
        default: nil
        }
    }

    private mutating func note(_ kind: UInt8, _ address: UInt64, _ size: UInt64, at instruction: UInt64) {
        if address &- marks < 3 {
            phase = Int(address - marks)
            return
        }
        guard phase > 0, size > 0 else { return }
        for line in address >> lineShift...(address + size - 1) >> lineShift {
            var use = uses[line] ?? [Use(), Use()]
            if kind != UInt8(ascii: "S") { use[phase - 1].read = instruction }
            if kind != UInt8(ascii: "L") { use[phase - 1].written = instruction }
            uses[line] = use
        }
    }

    /// Returns a description of each line that one thread writes and the other accesses.
    func shared(_ mappings: Mappings) throws -> [String] {
        guard uses.values.contains(where: { $0[0].written != 0 }), uses.values.contains(where: { $0[1].written != 0 })
        else { throw BenchError("the trace has no phases: does valgrind write what it did?") }
        return uses.sorted { $0.key < $1.key }.compactMap { line, uses in
            let (first, second) = (uses[0], uses[1])
            let isWrittenByBoth = first.written != 0 && second.written != 0
            let isRead = first.written != 0 && second.read != 0 || second.written != 0 && first.read != 0
            guard isWrittenByBoth || isRead else { return nil }
            let instructions = [first, second].map { use in
                use.written != 0
                    ? "written at " + mappings.name(use.written) : "read at " + mappings.name(use.read)
            }
            return "  \(mappings.name(line << lineShift)): \(instructions.joined(separator: ", "))"
        }
    }
}

/// The mappings of a process, from /proc.
private struct Mappings {
    private var files: [(range: Range<UInt64>, base: UInt64, name: Substring)] = []

    init(_ lines: ArraySlice<Substring>) {
        var bases: [Substring: UInt64] = [:]
        for line in lines {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            let ends = words.first?.split(separator: "-").compactMap { UInt64($0, radix: 16) } ?? []
            guard words.count > 5, ends.count == 2, let name = words[5].split(separator: "/").last else { continue }
            let base = bases[name] ?? ends[0]
            bases[name] = base
            files.append((ends[0]..<ends[1], base, name))
        }
    }

    /// Returns an address relative to the file that is mapped there.
    func name(_ address: UInt64) -> String {
        guard let file = files.first(where: { $0.range.contains(address) }) else {
            return String(address, radix: 16)
        }
        return "\(file.name)+\(String(address - file.base, radix: 16))"
    }
}
