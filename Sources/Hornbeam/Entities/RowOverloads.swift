// SPDX-License-Identifier: Apache-2.0
// What code written by the macro calls for a stored property of any type: the compiler picks the overload. In order
// of preference: column values, raw-representable types (by raw value), any Codable (as JSON with sorted keys); and for
// everything else an error at compile time that says what to do. A type that is both a column value and
// raw-representable has overloads of its own only because the compiler could not choose otherwise.

public import FoundationEssentials

/// How numbers that JSON has no form for stand in columns of `Codable` types, and in exported rows.
enum JSONSpecial {
    static let infinity = "Infinity"
    static let negativeInfinity = "-Infinity"
    static let nan = "NaN"
}

extension RowWriter {
    @inlinable
    public mutating func write<V: ColumnValue>(_ value: V, column: Int) {
        value.write(to: &self, column: column)
    }

    @inlinable
    public mutating func write<V: RawRepresentable>(_ value: V, column: Int) where V.RawValue: ColumnValue {
        value.rawValue.write(to: &self, column: column)
    }

    @inlinable
    public mutating func write<V: RawRepresentable>(_ value: V?, column: Int) where V.RawValue: ColumnValue {
        (value?.rawValue).write(to: &self, column: column)
    }

    @inlinable
    public mutating func write<V: RawRepresentable>(_ value: [V], column: Int) where V.RawValue: ColumnValue {
        value.map(\.rawValue).write(to: &self, column: column)
    }

    @inlinable
    public mutating func write<V: RawRepresentable>(_ value: [V]?, column: Int) where V.RawValue: ColumnValue {
        (value?.map(\.rawValue)).write(to: &self, column: column)
    }

    @inlinable
    public mutating func write<V: ColumnValue & RawRepresentable>(_ value: V, column: Int)
    where V.RawValue: ColumnValue {
        value.write(to: &self, column: column)
    }

    @inlinable
    public mutating func write<V: ColumnValue & RawRepresentable>(_ value: V?, column: Int)
    where V.RawValue: ColumnValue {
        value.write(to: &self, column: column)
    }

    @inlinable
    public mutating func write<V: ColumnValue & RawRepresentable>(_ value: [V], column: Int)
    where V.RawValue: ColumnValue {
        value.write(to: &self, column: column)
    }

    @inlinable
    public mutating func write<V: ColumnValue & RawRepresentable>(_ value: [V]?, column: Int)
    where V.RawValue: ColumnValue {
        value.write(to: &self, column: column)
    }

    @_disfavoredOverload
    public mutating func write<V: Codable>(_ value: V, column: Int) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: JSONSpecial.infinity, negativeInfinity: JSONSpecial.negativeInfinity, nan: JSONSpecial.nan
        )
        do {
            set(.json(String(decoding: try encoder.encode(value), as: UTF8.self)), column)
        } catch {
            fail(
                column: column,
                "can't be stored: its type \(V.self) has encoded nothing that JSON can hold (\(error)); see to its "
                    + "encode(to:), or give it another value")
        }
    }

    @_disfavoredOverload
    public mutating func write<V: Codable>(_ value: V?, column: Int) {
        if let value { write(value, column: column) } else { setNull(column) }
    }

    @available(*, unavailable, message: "this type can't be stored: make it Codable, or conform it to ColumnValue")
    public mutating func write<V>(_ value: V, column: Int) {}
}

// The commonest types, by a call of their own instead of one of their conformance that calls it: a fifteenth of the
// instructions of a row with five strings and three numbers.
extension RowReader {
    public func read(column: Int) throws(HornbeamError) -> Int {
        guard let stored = try int(column), let value = Int(exactly: stored) else {
            throw undecodable(column, as: "Int")
        }
        return value
    }

    public func read(column: Int) throws(HornbeamError) -> String {
        guard let value = try string(column) else { throw undecodable(column, as: "String") }
        return value
    }

    public func read(column: Int) throws(HornbeamError) -> Double {
        guard let value = try double(column) else { throw undecodable(column, as: "Double") }
        return value
    }

    public func read(column: Int) throws(HornbeamError) -> Date {
        guard let seconds = try double(column) else { throw undecodable(column, as: "Date") }
        return Date(timeIntervalSinceReferenceDate: seconds)
    }
}

extension RowReader {
    @inlinable
    public func read<V: ColumnValue>(column: Int) throws(HornbeamError) -> V {
        try V.read(from: self, column: column)
    }

    @inlinable
    public func read<V: RawRepresentable>(column: Int) throws(HornbeamError) -> V where V.RawValue: ColumnValue {
        try represented(try V.RawValue.read(from: self, column: column), column)
    }

    @inlinable
    public func read<V: RawRepresentable>(column: Int) throws(HornbeamError) -> V? where V.RawValue: ColumnValue {
        guard let raw = try V.RawValue?.read(from: self, column: column) else { return nil }
        return try represented(raw, column) as V
    }

    @inlinable
    public func read<V: RawRepresentable>(column: Int) throws(HornbeamError) -> [V] where V.RawValue: ColumnValue {
        try representedAll(try [V.RawValue].read(from: self, column: column), column)
    }

    @inlinable
    public func read<V: RawRepresentable>(column: Int) throws(HornbeamError) -> [V]? where V.RawValue: ColumnValue {
        guard let raw = try [V.RawValue]?.read(from: self, column: column) else { return nil }
        return try representedAll(raw, column)
    }

    @inlinable
    public func read<V: ColumnValue & RawRepresentable>(column: Int) throws(HornbeamError) -> V
    where V.RawValue: ColumnValue {
        try V.read(from: self, column: column)
    }

    @inlinable
    public func read<V: ColumnValue & RawRepresentable>(column: Int) throws(HornbeamError) -> V?
    where V.RawValue: ColumnValue {
        try V?.read(from: self, column: column)
    }

    @inlinable
    public func read<V: ColumnValue & RawRepresentable>(column: Int) throws(HornbeamError) -> [V]
    where V.RawValue: ColumnValue {
        try [V].read(from: self, column: column)
    }

    @inlinable
    public func read<V: ColumnValue & RawRepresentable>(column: Int) throws(HornbeamError) -> [V]?
    where V.RawValue: ColumnValue {
        try [V]?.read(from: self, column: column)
    }

    /// Optionals too: null is their nil.
    @_disfavoredOverload
    public func read<V: Codable>(column: Int) throws(HornbeamError) -> V {
        guard let text = try string(column) else {
            let optional = V.self as? any ExpressibleByNilLiteral.Type
            guard let none = optional?.init(nilLiteral: ()) as? V else { throw undecodable(column, as: "\(V.self)") }
            return none
        }
        do {
            let decoder = JSONDecoder()
            decoder.nonConformingFloatDecodingStrategy = .convertFromString(
                positiveInfinity: JSONSpecial.infinity, negativeInfinity: JSONSpecial.negativeInfinity,
                nan: JSONSpecial.nan)
            return try decoder.decode(V.self, from: Data(text.utf8))
        } catch {
            throw undecodable(column, as: "\(V.self) (\(error))")
        }
    }

    @available(*, unavailable, message: "this type can't be stored: make it Codable, or conform it to ColumnValue")
    public func read<V>(column: Int) throws(HornbeamError) -> V {
        throw undecodable(column, as: "\(V.self)")
    }

    @inlinable
    func represented<V: RawRepresentable>(_ raw: V.RawValue, _ column: Int) throws(HornbeamError) -> V {
        guard let value = V(rawValue: raw) else { throw undecodable(column, as: "\(V.self)") }
        return value
    }

    @inlinable
    func representedAll<V: RawRepresentable>(
        _ raw: [V.RawValue], _ column: Int
    ) throws(HornbeamError) -> [V] {
        var values: [V] = []
        values.reserveCapacity(raw.count)
        for one in raw { values.append(try represented(one, column)) }
        return values
    }
}
