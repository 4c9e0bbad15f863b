// SPDX-License-Identifier: Apache-2.0
// Compares declared types with stored ones: finds the resulting type, the work to do, and changes that aren't possible.
// It changes nothing: the catalogue does the work.

import HornbeamText

/// A type for this database: declared columns first, then columns that only the store has, and the position of each
/// column in the rows.
struct Merged {
    var description: EntityDescription
    /// Number of declared columns.
    var declared: Int
    var positions: [Int]
}

extension Merged {
    /// Makes a type whose columns are all declared and stored in the order of their numbers.
    init(unchanged description: EntityDescription) {
        self.init(
            description: description, declared: description.columns.count,
            positions: Array(description.columns.indices))
    }
}

/// The work on the store for one type.
struct SchemaChange {
    /// The description to store: columns in the order of their positions.
    var stored: EntityDescription
    var dropped: [IndexDescription]
    /// Names of indexes to build from the rows.
    var built: Set<String>
    /// Columns that existing rows lack.
    var added: [ColumnDescription] = []
    /// Columns that could be nil until now.
    var narrowed: [ColumnDescription] = []

    /// Whether the change only removes indexes.
    func onlyDrops(from former: EntityDescription?) -> Bool {
        guard let former, built.isEmpty else { return false }
        return stored.columns == former.columns && Set(stored.relations) == Set(former.relations)
    }
}

enum SchemaComparison {
    private static func mismatch(_ what: String) -> HornbeamError {
        HornbeamError(.schemaMismatch, what)
    }

    /// - Parameter outdated: names of indexes that must be rebuilt although their description is unchanged.
    /// - Returns: the type and the work for it, which is nil if there is none.
    static func merge(
        _ declared: EntityDescription, with stored: EntityDescription?, outdated: Set<String> = []
    ) throws(HornbeamError) -> (Merged, SchemaChange?) {
        guard let stored else {
            let built = Set<String>()
            return (
                Merged(unchanged: declared),
                SchemaChange(stored: declared, dropped: [], built: built)
            )
        }
        var columns = stored.columns
        var positions: [Int] = []
        var narrowed: [ColumnDescription] = []
        for column in declared.columns {
            if let position = columns.firstIndex(where: { $0.name == column.name }) {
                if position == 0 { try checkID(column, columns[0], declared.name) }
                if columns[position].type == .optional(column.type) { narrowed.append(column) }
                columns[position] = try merge(column, with: columns[position], declared.name)
                positions.append(position)
            } else {
                positions.append(columns.count)
                columns.append(column)
            }
        }
        guard positions.first == 0 else {
            throw mismatch(
                "the id of \(declared.name) was “\(stored.columns[0].name)” when it was stored: keep that name, or "
                    + "declare a migration: .rename(\(declared.name).self, \"\(stored.columns[0].name)\", to: …)")
        }
        var seen = declared
        let known = Set(positions)
        for position in columns.indices where !known.contains(position) {
            seen.columns.append(columns[position])
            positions.append(position)
        }
        let rest = stored.relations.filter { old in !declared.relations.contains { $0.name == old.name } }
        // Relations that aren't declared any more have no delete rule and aren't required. The store keeps both
        // properties, for a program that declares the relation again.
        seen.relations += rest.map { relation in
            var relation = relation
            relation.deleteRule = .nullify
            relation.required = false
            return relation
        }
        var change = SchemaChange(
            stored: EntityDescription(
                name: declared.name, columns: columns, indexes: declared.indexes,
                relations: declared.relations + rest),
            dropped: [], built: [], added: Array(columns[stored.columns.count...]), narrowed: narrowed)
        // A column that had nil may get another value.
        let names = Set(narrowed.map(\.name))
        let stale = stored.indexes.filter { index in
            outdated.contains(index.name) || !index.properties.isDisjoint(with: names)
        }
        for index in stored.indexes where stale.contains(index) || !declared.indexes.contains(index) {
            change.dropped.append(index)
        }
        for index in declared.indexes where stale.contains(index) || !stored.indexes.contains(index) {
            change.built.insert(index.name)
        }
        return (
            Merged(description: seen, declared: declared.columns.count, positions: positions),
            change.built.isEmpty && isSame(change.stored, stored) ? nil : change
        )
    }

    /// The change of a type that no model declares: indexes by a collation are rebuilt if this system has another
    /// version of it. Returns nil if there is nothing to do.
    static func renewal(of type: EntityDescription) -> SchemaChange? {
        var change = SchemaChange(stored: type, dropped: [], built: [])
        for place in type.indexes.indices {
            guard let renewed = type.indexes[place].renewed else { continue }
            change.dropped.append(type.indexes[place])
            change.built.insert(renewed.name)
            change.stored.indexes[place] = renewed
        }
        return change.built.isEmpty ? nil : change
    }

    /// A declared type in which each index that differs from the stored one only in a collation's version is replaced
    /// by it.
    static func unrenewed(_ declared: EntityDescription, as stored: [EntityDescription]) -> EntityDescription {
        guard let former = stored.first(where: { $0.name == declared.name }) else { return declared }
        var declared = declared
        for place in declared.indexes.indices {
            let index = declared.indexes[place]
            if let same = former.indexes.first(where: { $0.isSame(butForVersion: index) }) {
                declared.indexes[place] = same
            }
        }
        return declared
    }

    /// The declared type, with the analyzer `words` for each full-text index that names none and has `words` in the
    /// file.
    static func keepingWords(_ declared: EntityDescription, as stored: EntityDescription?) -> EntityDescription {
        guard let stored else { return declared }
        var declared = declared
        for place in declared.indexes.indices where declared.indexes[place].declared.isDefault {
            let name = declared.indexes[place].name
            let former = stored.indexes.first { $0.name == name && $0.kind == .text }
            if let former, former.analyzer == nil { declared.indexes[place].analyzer = nil }
        }
        return declared
    }

    /// Whether nothing must be written. The order of indexes and relations doesn't matter, except for full-text
    /// indexes: the first of several over the same properties defines words.
    private static func isSame(_ new: EntityDescription, _ old: EntityDescription) -> Bool {
        new.columns == old.columns && Set(new.indexes) == Set(old.indexes) && Set(new.relations) == Set(old.relations)
            && new.indexes.filter { $0.kind == .text } == old.indexes.filter { $0.kind == .text }
    }

    /// Checks the type of an id. A type of deleted entities has the id of the original type, which the error names.
    private static func checkID(
        _ declared: ColumnDescription, _ stored: ColumnDescription, _ type: String
    ) throws(HornbeamError) {
        guard declared.type != stored.type, !declared.type.isOptional else { return }
        let name = EntityDescription.isTombstone(type) ? EntityDescription.counterpartName(of: type) : type
        throw mismatch(
            "\(name).\(declared.name) is declared as \(declared.type) and stored as \(stored.type), and the type of an "
                + "id can't change: declare it as \(stored.type), or export the entities and import them under another "
                + "type or into a new file")
    }

    private static func merge(
        _ declared: ColumnDescription, with stored: ColumnDescription, _ type: String
    ) throws(HornbeamError) -> ColumnDescription {
        if declared.type == stored.type || declared.type == .optional(stored.type)
            || .optional(declared.type) == stored.type
        {
            return declared
        }
        throw mismatch(
            "\(type).\(declared.name) is declared as \(declared.type) and stored as \(stored.type): declare it as "
                + "\(stored.type), give the new property another name, or declare a migration: "
                + ".convert(\(type).self, \\.\(declared.name), from: …), or "
                + ".forget(\(type).self, \"\(declared.name)\") to begin anew")
    }

    /// Keeps the inverse of each relation whose other side no model declares any more: the store still has that side's
    /// links, and they agree with this side's only if both are changed.
    static func keepOtherSides(
        _ merged: inout [Merged], _ work: inout [SchemaChange], declared: [EntityDescription],
        stored: [String: EntityDescription]
    ) {
        for type in merged.indices {
            for place in merged[type].description.relations.indices {
                let relation = merged[type].description.relations[place]
                guard relation.inverse == nil, let old = stored[merged[type].description.name],
                    let before = old.relations.first(where: { $0.name == relation.name }), let side = before.inverse,
                    before.target == relation.target,
                    let other = stored[relation.target]?.relations.first(where: { $0.name == side }),
                    declared.first(where: { $0.name == relation.target })?.relations
                        .contains(where: { $0.name == other.name }) != true
                else { continue }
                merged[type].description.relations[place].inverse = side
            }
        }
        for change in work.indices {
            guard let type = merged.first(where: { $0.description.name == work[change].stored.name }) else { continue }
            // Only inverses are changed: an undeclared relation keeps its rules.
            let inverses = Dictionary(type.description.relations.map { ($0.name, $0.inverse) }) { _, last in last }
            for place in work[change].stored.relations.indices {
                let relation = work[change].stored.relations[place]
                work[change].stored.relations[place].inverse = inverses[relation.name] ?? relation.inverse
            }
        }
        work.removeAll { change in
            guard change.dropped.isEmpty, change.built.isEmpty, let old = stored[change.stored.name] else {
                return false
            }
            return isSame(change.stored, old)
        }
    }

    /// The name of the relation's other side, declared on either side; nil if there is none.
    static func inverse(
        of relation: RelationDescription, in type: EntityDescription, _ all: [String: EntityDescription]
    ) -> String? {
        if let inverse = relation.inverse { return inverse }
        return all[relation.target]?.relations.first { $0.target == type.name && $0.inverse == relation.name }?.name
    }

    /// Checks that descriptions are valid, each by itself and all together.
    /// - Parameter declared: names of the types whose collations this system must have.
    static func validate(
        _ types: [EntityDescription], declared: Set<String>, allowsUnknownTargets: Bool
    ) throws(HornbeamError) {
        let all = Dictionary(types.map { ($0.name, $0) }) { _, last in last }
        guard all.count == types.count else { throw mismatch("two models have the same name") }
        for type in types {
            try validate(type, isDeclared: declared.contains(type.name))
            for relation in type.relations {
                guard let target = all[relation.target] else {
                    if allowsUnknownTargets { continue }
                    throw HornbeamError(
                        .unregisteredEntity,
                        "\(type.name).\(relation.name) leads to \(relation.target), which the database doesn't know: "
                            + "name it among the models when opening")
                }
                try validate(relation, of: type, target, all, isDeclared: declared.contains(type.name))
            }
        }
    }

    private static func validate(_ type: EntityDescription, isDeclared: Bool) throws(HornbeamError) {
        guard !type.name.isEmpty, !type.name.utf8.contains(UInt8(ascii: ":")) else {
            throw mismatch("“\(type.name)” can't be the name of an entity type: it is empty or has a colon")
        }
        guard let id = type.columns.first, id.type.isOrdered, !id.type.isOptional else {
            throw mismatch("\(type.name) needs an id whose type has an order and is not optional")
        }
        guard type.columns.count <= RowLayout.maximumColumns else {
            throw mismatch(
                "\(type.name) has \(type.columns.count) properties, the limit is \(RowLayout.maximumColumns)")
        }
        for column in type.columns where ColumnType(column.type.description) != column.type {
            throw mismatch(
                "\(type.name).\(column.name) is of a type that is nested too deep to be stored, \(column.type): arrays "
                    + "and optionals in one another may be 16 deep; store it as a Codable type of its own")
        }
        let names = type.columns.map(\.name) + type.relations.map(\.name)
        guard Set(names).count == names.count, Set(type.indexes.map(\.name)).count == type.indexes.count else {
            throw mismatch("\(type.name) has two properties or two indexes of the same name")
        }
        for index in type.indexes {
            guard !index.components.isEmpty else {
                throw mismatch("index “\(index.name)” of \(type.name) has no properties")
            }
            guard index.positions || index.kind == .text else {
                throw mismatch(
                    "index “\(index.name)” of \(type.name) can't be without positions: it isn't a full-text index"
                )
            }
            try validateCollation(of: index, type, isDeclared: isDeclared)
            _ = try IndexCondition.declared(index, type)
            if let analyzer = index.analyzer {
                let isCustom = analyzer.hasPrefix("custom:")
                let size = analyzer.utf8.count - "custom:".utf8.count
                guard !isCustom || size <= CustomTokenizer.maximumName else {
                    throw HornbeamError(
                        .invalid,
                        "the tokenizer of index “\(index.name)” of \(type.name) has a name of \(size) bytes, "
                            + "“\(analyzer.prefix(40))…”: give it one of \(CustomTokenizer.maximumName) at most")
                }
                let isKnown = isCustom || Analyzer(specification: analyzer) != nil
                guard index.kind == .text, isKnown else {
                    throw mismatch(
                        "index “\(index.name)” of \(type.name) has the analyzer “\(analyzer)”: full-text indexes have "
                            + "one, such as “unicode+english” or “trigrams”")
                }
            }
            for component in index.components {
                guard let column = type.column(component.column) else {
                    throw mismatch(
                        "index “\(index.name)” of \(type.name) is over “\(component.column)”, which is no property")
                }
                let columnType = type.columns[column].type
                guard index.kind != .text || columnType.isText else {
                    throw mismatch(
                        "index “\(index.name)” of \(type.name) can't be over “\(component.column)”, "
                            + columnType.withArticle)
                }
            }
        }
    }

    private static func validateCollation(
        of index: IndexDescription, _ type: EntityDescription, isDeclared: Bool
    ) throws(HornbeamError) {
        guard index.collation != nil else { return }
        let hasText = index.components.contains { component in
            type.column(component.column).map { type.columns[$0].type.unwrapped == .string } ?? false
        }
        guard index.kind != .text, hasText else {
            throw mismatch(
                "index “\(index.name)” of \(type.name) has a collation: only indexes over Strings have one, and "
                    + "full-text indexes have an analyzer instead")
        }
        if isDeclared { _ = try index.collation(of: .string)?.collator }
    }

    private static func validate(
        _ relation: RelationDescription, of type: EntityDescription, _ target: EntityDescription,
        _ all: [String: EntityDescription], isDeclared: Bool
    ) throws(HornbeamError) {
        guard let name = relation.inverse else { return }
        let claim = "\(type.name).\(relation.name) names \(target.name).\(name) as its inverse"
        guard let other = target.relations.first(where: { $0.name == name }) else {
            throw mismatch("\(claim), which is no relation: declare it there, or name one that is")
        }
        guard other.target == type.name else {
            if !isDeclared {
                throw mismatch(
                    "\(target.name).\(name) leads to \(other.target), and led to \(type.name) when it was stored: give "
                        + "it another name, or drop its links by .forget(\(target.name).self, \"\(name)\")")
            }
            throw mismatch("\(claim), which leads to \(other.target): each side must name the other")
        }
        guard inverse(of: other, in: target, all) == relation.name else {
            throw mismatch(
                "\(claim), which has another inverse (\(other.inverse ?? "none")): each side must name the other")
        }
    }
}

extension ColumnType {
    /// Whether a full-text index can cover a column of this type.
    package var isText: Bool {
        switch unwrapped {
        case .string: true
        case .array(let element): element.isText
        default: false
        }
    }
}
