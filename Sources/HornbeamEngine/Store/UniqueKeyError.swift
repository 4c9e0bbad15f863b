// SPDX-License-Identifier: Apache-2.0
// The error for an entity whose unique key another entity has.

extension IndexDescription {
    /// `email "a@b.c", area 30`: the components of a row's key.
    func text(of row: RowReader, _ type: EntityType) throws(HornbeamError) -> String {
        var parts: [String] = []
        for component in components {
            let text = try row.value(try type.column(component.column)).text
            parts.append("\(ColumnDescription.label(component.column)) \(text.shown(100))")
        }
        return parts.joined(separator: ", ")
    }

    /// The values of a row's key.
    func values(of row: RowReader, _ type: EntityType) throws(HornbeamError) -> [Value] {
        var values: [Value] = []
        for component in components { values.append(try row.value(try type.column(component.column))) }
        return values
    }

    /// The error for a row whose key another entity holds, or wants in the same batch.
    /// - Parameter remark: text to append to the message.
    package func violation(
        of row: RowReader, _ type: EntityType, by other: Value, isBatch: Bool = false, remark: String = ""
    ) throws(HornbeamError) -> HornbeamError {
        let id = try row.value(0)
        let together = isBatch ? ", which is saved together with it," : ""
        return HornbeamError(
            .uniqueViolation,
            "\(type.name) \(id.text.shown()) can't be saved: \(type.name) \(other.text.shown())\(together) has the "
                + "same \(try text(of: row, type)) (unique index “\(name)”)\(remark)",
            violation: UniqueViolation(
                entityName: type.name, indexName: name, existing: other, new: id, values: try values(of: row, type)))
    }
}
