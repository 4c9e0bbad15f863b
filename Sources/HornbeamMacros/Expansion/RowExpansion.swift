// SPDX-License-Identifier: Apache-2.0
// Columns: the table of key paths, and the code that writes an entity into a row and reads it back. The compiler picks
// the form of a property by its key path, so a type that can't be stored is an error at the property.

extension ModelDeclaration {
    /// One item for each column, in the order of column numbers.
    var columnItems: [String] {
        properties.map { ".init(.of(\"\($0.name)\", \(form(of: $0))), \\Self.\($0.code))" }
    }

    /// The expression for the property's `ColumnForm`.
    private func form(of property: Property) -> String { "Hornbeam.ColumnForms.of(\\Self.\(property.code))" }

    var rowMembers: [String] {
        let writes = properties.enumerated().map { number, property in
            "    \(form(of: property)).write(self.\(property.code), to: &row, column: \(number))"
        }
        return readMembers + [
            """
            \(access)func write(to row: inout Hornbeam.RowWriter) {
            \(writes.joined(separator: "\n"))
            }
            """
        ]
    }

    /// The columns that are read back.
    private var read: [(number: Int, property: Property)] {
        properties.enumerated().filter { !$1.isDerived }.map { ($0, $1) }
    }

    /// Resets the relations that have a value in their declaration.
    private var resets: [String] { relations.filter(\.hasValue).map { "    self.$\($0.name) = .none" } }

    private var readMembers: [String] {
        let types = read.compactMap { $1.hasDefault || $1.hasWrapper ? nil : $1.type }
        guard types.count == read.count, !types.isEmpty, !isNested else { return [assigningRead] }
        // An initialiser that can throw keeps its values in memory, and copies all of them at its end: 320 instructions
        // for an entity with five strings. So all columns are read first, and an initialiser that can't throw takes
        // them.
        let reads = read.map { "try \(form(of: $1)).read(row, column: \($0))" }
        let parameters = zip(read, types).enumerated().map { place, column in
            "\(place == 0 ? "_columns" : "_") column\(column.0.number): \(column.1)"
        }
        let writes = read.map { "    self.\($1.code) = column\($0)" } + resets
        return [
            """
            \(access)init(row: Hornbeam.RowReader) throws(Hornbeam.HornbeamError) {
                self.init(
                    _columns: \(reads.joined(separator: ",\n        ")))
            }
            """,
            """
            private init(
                \(parameters.joined(separator: ",\n    "))
            ) {
            \(writes.joined(separator: "\n"))
            }
            """,
        ]
    }

    /// The initialiser for structs with property types that aren't written out, or that the extension can't name. A
    /// property keeps its default if the row is older than the property, or if its type doesn't know the stored value.
    private var assigningRead: String {
        let reads = read.map { number, property in
            guard property.hasDefault else {
                return "    self.\(property.code) = try \(form(of: property)).read(row, column: \(number))"
            }
            let value = "let value\(number) = try \(form(of: property)).readIfKnown(row, column: \(number))"
            return "    if row.contains(column: \(number)), \(value) { self.\(property.code) = value\(number) }"
        }
        return """
            \(access)init(row: Hornbeam.RowReader) throws(Hornbeam.HornbeamError) {
            \((reads + resets).joined(separator: "\n"))
            }
            """
    }

    /// The properties that a fragment leaves unchanged if it has no value for them.
    var patchMember: String {
        let patched = properties.filter { $0.isVariable && $0.isOptional && !$0.hasWrapper }
            .map { "        .patch(\\Self.\($0.code))" }
        let strategy =
            patched.isEmpty
            ? "    .replace" : "    Hornbeam.MergeStrategy<Self>(\n\(patched.joined(separator: ",\n"))\n    )"
        return "\(access)static var patch: Hornbeam.MergeStrategy<Self> {\n\(strategy)\n}"
    }
}
