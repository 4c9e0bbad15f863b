// SPDX-License-Identifier: Apache-2.0
// Finds the ids of row ids.

import HornbeamPages
import HornbeamTree

extension EntityStore {
    /// The order of two entities by their ids.
    func idPrecedes(_ left: RowID, _ right: RowID) throws -> Bool {
        guard let first = try id(of: left), let second = try id(of: right) else { return left < right }
        return try idKey(first).lexicographicallyPrecedes(try idKey(second))
    }

    /// The id of an entity that is saved or only referred to; nil if there is none. A row id below `firstAssigned` is
    /// the id itself, whether or not there is such an entity.
    package func id(of rowID: RowID) throws -> Value? {
        if rowID < RowID.firstAssigned {
            return Value.uint(rowID.rawValue).converted(to: type.idType)
        }
        if let row = try row(rowID) { return try row.value(0) }
        guard let bytes = try transaction.get(type.unsaved, rowID) else { return nil }
        guard let id = ValueBytes.decode(bytes, as: type.idType) else {
            throw corrupt("n:\(type.name)", "an entry holds no \(type.idType)")
        }
        return id
    }
}
