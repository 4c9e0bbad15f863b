// SPDX-License-Identifier: Apache-2.0
// Columns: the table of key paths, and the code that writes an entity into a row and reads it back. The calls resolve
// to overloads by each property's own type, so a type that can't be stored is an error at its place.

extension ModelDeclaration {
    /// One item a column, in order of column numbers.
    var columnItems: [String] {
        properties.map { ".init(.of(\"\($0.name)\", \\Self.\($0.code)), \\Self.\($0.code))" }
    }

    var rowMembers: [String] {
        // A row that is older than a property with a default keeps the default.
        let reads = properties.enumerated().map { number, property in
            let guarded = property.hasDefault ? "if row.contains(column: \(number)) { " : ""
            return "    \(guarded)self.\(property.code) = try row.read(column: \(number))\(guarded.isEmpty ? "" : " }")"
        }
        let writes = properties.enumerated().map { "    row.write(self.\($1.code), column: \($0))" }
        return [
            """
            \(access)init(row: Hornbeam.RowReader) throws(Hornbeam.HornbeamError) {
            \(reads.joined(separator: "\n"))
            }
            """,
            """
            \(access)func write(to row: inout Hornbeam.RowWriter) {
            \(writes.joined(separator: "\n"))
            }
            """,
        ]
    }

    /// What a fragment leaves alone where it has no value.
    var patchMember: String {
        let patched = properties.filter { $0.isVariable && $0.isOptional && !$0.hasWrapper }
            .map { "        .patch(\\Self.\($0.code))" }
        let strategy =
            patched.isEmpty
            ? "    .replace" : "    Hornbeam.MergeStrategy<Self>(\n\(patched.joined(separator: ",\n"))\n    )"
        return "\(access)static var patch: Hornbeam.MergeStrategy<Self> {\n\(strategy)\n}"
    }
}
