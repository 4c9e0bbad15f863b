// SPDX-License-Identifier: Apache-2.0
// A column's value without its Swift type: literals in filters, ids, cells of a result table, JSON lines.

public import FoundationEssentials

/// A value of any column type.
public enum Value: Hashable, Sendable {
    case null
    case bool(Bool)
    /// All signed integer columns.
    case int(Int64)
    /// All unsigned integer columns.
    case uint(UInt64)
    /// Float and double columns.
    case double(Double)
    /// Seconds since 2001-01-01 00:00 UTC.
    case date(Double)
    case uuid(UUID)
    /// String and URL columns.
    case string(String)
    case data(Data)
    case decimal(Decimal)
    /// JSON text of a `Codable` value.
    case json(String)
    case array([Value])
}
