// SPDX-License-Identifier: Apache-2.0
// Folding rows of a map index in their stored form. A reducer is generic over the values that Swift makes of bytes, and
// its code isn't specialized here: a row takes 200 ns. If the bytes of a value are all that a reducer needs, a state of
// its own reads them without making a value.

import FoundationEssentials
import HornbeamPages
import HornbeamTree

/// A reduction of rows by their stored values or their keys. Gives the same as the reducer that it stands for.
protocol FoldState {
    /// Whether it takes keys; it takes values otherwise.
    static var needsKeys: Bool { get }
    /// Adds an entry of the index. Returns false if it can't be read. It is a requirement, so that its default is
    /// specialized for each state, and a row takes one dynamic call.
    mutating func add(key: Bytes, entry: Bytes) -> Bool
    /// Adds a value. Returns false if the bytes aren't a value of the type.
    mutating func add(value: Bytes) -> Bool
    /// Adds an emitted key, cut if it is long.
    mutating func add(key: Bytes)
    /// Adds a partial as the reducer encodes it. Returns false if the bytes aren't a partial.
    mutating func add(partial: Bytes) -> Bool
    /// The partial as the reducer encodes it. Nil if it can't be encoded.
    var bytes: [UInt8]? { get }
}

extension FoldState {
    static var needsKeys: Bool { false }
    mutating func add(value: Bytes) -> Bool { true }
    mutating func add(key: Bytes) {}

    mutating func add(key: Bytes, entry: Bytes) -> Bool {
        // Most rows have a value and no other part.
        if !Self.needsKeys, entry.count > 1, entry[0] == 1 { return add(value: Bytes(rebasing: entry[1...])) }
        guard let parts = MapEntryValue(entry) else { return false }
        guard Self.needsKeys else {
            guard let value = parts.value else { return true }
            return add(value: value)
        }
        if let whole = parts.key {
            MapEntryKey.cut(Array(whole)).withUnsafeBytes { add(key: $0) }
            return true
        }
        guard let emitted = MapEntryKey.emitted(key) else { return false }
        add(key: emitted)
        return true
    }
}

/// A folder of a map index's rows that returns its partial.
protocol StoredFolder: ReductionFolder {
    /// The first failure to read something.
    var failure: HornbeamError? { get }
    /// The partial as the reducer encodes it. Nil if it can't be encoded.
    var bytes: [UInt8]? { get }
}

/// A reducer of the library that folds rows in their stored form.
protocol StoredReducer: Reducer {
    /// Makes a folder. Returns nil for values whose stored form doesn't tell enough.
    func makeFolder() -> (any StoredFolder)?
    func partial(of folder: any StoredFolder) throws(HornbeamError) -> Partial
}

extension StoredReducer {
    func partial(of folder: any StoredFolder) throws(HornbeamError) -> Partial {
        guard let bytes = folder.bytes, let partial = bytes.withUnsafeBytes({ decode($0) }) else {
            throw HornbeamError(
                .undecodable,
                "a value that reducer “\(name)” chose is no \(Value.self): if the type of an index's values has "
                    + "changed, give the index another version")
        }
        return partial
    }
}

final class AccumulatingFolder<State: FoldState>: StoredFolder {
    // Belongs to one thread; checks of exclusive access would be made for every row.
    @exclusivity(unchecked) private(set) var failure: HornbeamError?
    @exclusivity(unchecked) private(set) var state: State
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
        if failure == nil, !state.add(key: key, entry: value) { failure = MapEntryValue.unreadable }
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
    /// Bytes for the size.
    static let overhead = 1

    static func read(_ reduced: Bytes) -> Bytes? {
        guard let size = reduced.first, Int(size) < reduced.count else { return nil }
        return Bytes(rebasing: reduced[1..<1 + Int(size)])
    }

    /// Writes a partial. Returns false if there is none, or if it doesn't fit.
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

/// The form of a type's numbers in the bytes of a value.
struct StoredNumber {
    enum Kind { case signed, unsigned, float, double }

    let kind: Kind
    let width: Int

    /// The form of a type's numbers. Returns nil for types that aren't the standard library's or Foundation's: they may
    /// have an order of their own.
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

    /// Returns the bits of a stored number, or nil if the bytes aren't one.
    @inline(__always)
    func bits(_ bytes: Bytes) -> UInt64? { bytes.count == width ? ValueBytes.unsigned(bytes) : nil }

    @inline(__always)
    func integer(_ bits: UInt64) -> Int128 {
        guard kind == .signed else { return Int128(bits) }
        let shift = UInt64(64 - 8 * width)
        return Int128(Int64(bitPattern: bits << shift) >> Int64(shift))
    }

    /// A number's rank in the order of all numbers; NaN is above all.
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
