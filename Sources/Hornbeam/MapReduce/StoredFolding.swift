// SPDX-License-Identifier: Apache-2.0
// Folding rows of a map index in their stored form. A reducer is generic over what Swift makes of a value, and its code
// isn't compiled for each of these here: a row takes 200 ns by it. Where the bytes of a value tell all that a reducer
// asks for, a state of its own takes them as they are.

import FoundationEssentials
import HornbeamPages
import HornbeamTree

/// What rows come to, by their stored values or their keys. Gives the same as the reducer that it stands for.
protocol FoldState {
    /// Whether it takes keys; it takes values otherwise.
    static var needsKeys: Bool { get }
    /// Adds a value; false if it is none of the type.
    mutating func add(value: Bytes) -> Bool
    /// Adds an emitted key, cut if it is long.
    mutating func add(key: Bytes)
    /// Adds a partial as the reducer encodes it; false if it is none.
    mutating func add(partial: Bytes) -> Bool
    /// The partial as the reducer encodes it; nil if it can't.
    var bytes: [UInt8]? { get }
}

extension FoldState {
    static var needsKeys: Bool { false }
    mutating func add(value: Bytes) -> Bool { true }
    mutating func add(key: Bytes) {}
}

/// A folder of a map index's rows whose partial can be asked for.
protocol StoredFolder: ReductionFolder {
    /// What could not be read.
    var failure: HornbeamError? { get }
    var bytes: [UInt8]? { get }
}

/// A reducer of the library that folds rows in their stored form.
protocol StoredReducer: Reducer {
    /// Nil for values whose stored form doesn't tell enough.
    func makeFolder() -> (any StoredFolder)?
    func partial(of folder: any StoredFolder) throws(HornbeamError) -> Partial
}

extension StoredReducer {
    func partial(of folder: any StoredFolder) throws(HornbeamError) -> Partial {
        guard let bytes = folder.bytes, let partial = bytes.withUnsafeBytes({ decode($0) }) else {
            throw HornbeamError(
                .undecodable,
                "a value that reducer “\(name)” chose is no \(Value.self): give an index whose type of values has "
                    + "changed another version")
        }
        return partial
    }
}

final class AccumulatingFolder<State: FoldState>: StoredFolder {
    private(set) var state: State
    private(set) var failure: HornbeamError?
    private let empty: State

    init(_ empty: State) {
        self.empty = empty
        state = empty
    }

    var needsKeys: Bool { State.needsKeys }
    var bytes: [UInt8]? { state.bytes }

    func start() {
        state = empty
        failure = nil
    }

    func add(key: Bytes, value: Bytes) {
        guard failure == nil else { return }
        // Most rows have a value and no other part.
        if !State.needsKeys, value.count > 1, value[0] == 1 {
            if !state.add(value: Bytes(rebasing: value[1...])) { failure = MapEntryValue.unreadable }
            return
        }
        guard let parts = MapEntryValue(value) else {
            failure = MapEntryValue.unreadable
            return
        }
        guard State.needsKeys else {
            if let value = parts.value, !state.add(value: value) { failure = MapEntryValue.unreadable }
            return
        }
        if let whole = parts.key {
            MapEntryKey.cut(Array(whole)).withUnsafeBytes { state.add(key: $0) }
        } else if let emitted = MapEntryKey.emitted(key) {
            state.add(key: emitted)
        } else {
            failure = MapEntryValue.unreadable
        }
    }

    func add(reduced: Bytes) {
        guard failure == nil else { return }
        guard let partial = MapPartial.read(reduced), state.add(partial: partial) else {
            failure = MapPartial.unreadable
            return
        }
    }

    func write(to target: UnsafeMutableRawBufferPointer) -> Bool {
        failure == nil && MapPartial.write(state.bytes, to: target)
    }
}

/// A partial as branches keep it: u8 size, then its bytes.
enum MapPartial {
    /// Before a partial's bytes: their number.
    static let overhead = 1

    static func read(_ reduced: Bytes) -> Bytes? {
        guard let size = reduced.first, Int(size) < reduced.count else { return nil }
        return Bytes(rebasing: reduced[1..<1 + Int(size)])
    }

    /// False if there is none, or if it doesn't fit.
    static func write(_ bytes: [UInt8]?, to target: UnsafeMutableRawBufferPointer) -> Bool {
        guard let bytes, bytes.count < target.count, let size = UInt8(exactly: bytes.count) else { return false }
        target[0] = size
        UnsafeMutableRawBufferPointer(rebasing: target[1...]).copyBytes(from: bytes)
        return true
    }

    static var unreadable: HornbeamError {
        HornbeamError(.corrupt, "corrupt data: a reduced value of a map index can't be read")
    }
}

/// How numbers of a type lie in the bytes of a value.
struct StoredNumber {
    enum Kind { case signed, unsigned, float, double }

    let kind: Kind
    let width: Int

    /// Nil for types that aren't the standard library's or Foundation's: those have an order of their own.
    init?<Value: ColumnValue>(_: Value.Type) {
        let known: [any ColumnValue.Type] = [
            Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self, UInt32.self,
            UInt64.self, Float.self, Double.self, Date.self,
        ]
        guard known.contains(where: { ObjectIdentifier($0) == ObjectIdentifier(Value.self) }),
            let width = Value.columnType.fixedWidth
        else { return nil }
        self.width = width
        kind =
            switch Value.columnType {
            case .int8, .int16, .int32, .int64: .signed
            case .uint8, .uint16, .uint32, .uint64: .unsigned
            case .float: .float
            default: .double
            }
    }

    /// The bits of a stored number; nil if the bytes are none.
    @inline(__always)
    func bits(_ bytes: Bytes) -> UInt64? { bytes.count == width ? ValueBytes.unsigned(bytes) : nil }

    @inline(__always)
    func integer(_ bits: UInt64) -> Int128 {
        guard kind == .signed else { return Int128(bits) }
        let shift = UInt64(64 - 8 * width)
        return Int128(Int64(bitPattern: bits << shift) >> Int64(shift))
    }

    /// Grows with the number; NaN is above all.
    @inline(__always)
    func rank(_ bits: UInt64) -> UInt64 {
        switch kind {
        case .unsigned: bits
        case .signed: (bits << UInt64(64 - 8 * width)) ^ 1 << 63
        case .float: Self.rank(Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))))
        case .double: Self.rank(Double(bitPattern: bits))
        }
    }

    private static func rank(_ number: Double) -> UInt64 {
        if number.isNaN { return .max }
        // Both zeros are one number.
        if number == 0 { return 1 << 63 }
        let bits = number.bitPattern
        return number < 0 ? ~bits : bits | 1 << 63
    }

    func append(_ bits: UInt64, to bytes: inout [UInt8]) { ValueBytes.appendLittle(bits, width, to: &bytes) }
}
