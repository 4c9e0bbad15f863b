// SPDX-License-Identifier: Apache-2.0
// The time to encode and decode an entity, by the row format and by Foundation's coders; and the time to read one
// property of a row, for which the other formats decode the whole entity.

import BenchHarness
import Foundation

func codingScenario(_ run: Run) throws {
    let samples = CodedSample.some(1_000, seed: run.seed)
    let rounds = max(1, run.count / 10_000)
    try rowCoding(run, samples, rounds: rounds)
    let (jsonEncoder, jsonDecoder) = (JSONEncoder(), JSONDecoder())
    try coding(run, "json", samples, rounds: rounds) {
        try jsonEncoder.encode($0)
    } _: {
        try jsonDecoder.decode(CodedSample.self, from: $0)
    }
    let (listEncoder, listDecoder) = (PropertyListEncoder(), PropertyListDecoder())
    listEncoder.outputFormat = .binary
    try coding(run, "plist", samples, rounds: rounds) {
        try listEncoder.encode($0)
    } _: {
        try listDecoder.decode(CodedSample.self, from: $0)
    }
}

private func coding(
    _ run: Run, _ name: String, _ samples: [CodedSample], rounds: Int, _ encode: (CodedSample) throws -> Data,
    _ decode: (Data) throws -> CodedSample
) throws {
    let encoded = try samples.map(encode)
    guard try encoded.map(decode) == samples else { throw BenchError("\(name) gives back something else") }
    let bytes = encoded.reduce(0) { $0 + $1.count } / samples.count
    try run.peer(name, "encode", rounds * samples.count, bytes: bytes) {
        for _ in 0..<rounds { for sample in samples { _ = try encode(sample) } }
    }
    try run.peer(name, "decode", rounds * samples.count, bytes: bytes) {
        for _ in 0..<rounds { for data in encoded { _ = try decode(data) } }
    }
    // These formats decode the whole entity to read one property.
    try run.peer(name, "column", rounds * samples.count, bytes: bytes) {
        var sum = 0
        for _ in 0..<rounds { for data in encoded { sum &+= try decode(data).size } }
        guard sum == rounds * samples.reduce(0, { $0 &+ $1.size }) else { throw BenchError("\(name): wrong sizes") }
    }
}

/// Measures in a database in memory, where `CodedProbe` gets the rows when it is saved and read.
private func rowCoding(_ run: Run, _ samples: [CodedSample], rounds: Int) throws {
    let probe = try RowProbe(samples)
    guard try probe.roundTrip() == samples else { throw BenchError("rows give back something else") }
    let bytes = try probe.bytes()
    let operations = rounds * samples.count
    try run.coded("encode", operations, bytes: bytes, seconds: try probe.encode(rounds: rounds))
    try run.coded("decode", operations, bytes: bytes, seconds: try probe.decode(rounds: rounds))
    let (seconds, sum) = try probe.column(rounds: rounds)
    guard sum == rounds * samples.reduce(0, { $0 &+ $1.size }) else { throw BenchError("rows: wrong sizes") }
    try run.coded("column", operations, bytes: bytes, seconds: seconds)
}

extension Run {
    /// `bytes` is the size of one encoded entity.
    fileprivate func coded(_ name: String, _ operations: Int, bytes: Int, seconds: Double) throws {
        try tell(name, engine: engine, operations: operations, seconds: seconds, bytes: bytes)
    }

    fileprivate func peer(
        _ engine: String, _ name: String, _ operations: Int, bytes: Int, _ body: () throws -> Void
    ) throws {
        guard wants(name) else { return }
        let start = nanoseconds()
        try body()
        let seconds = Double(nanoseconds() - start) * 1e-9
        try tell(name, engine: engine, operations: operations, seconds: seconds, bytes: bytes)
    }
}
