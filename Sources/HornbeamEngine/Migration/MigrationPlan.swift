// SPDX-License-Identifier: Apache-2.0
// Compares declared migrations with the stored schema: finds the migrations that apply, the work that they need, and
// the resulting schema. It changes nothing: the catalogue does the work, and compares the result with the models.

/// The combined effect of a list of migrations' structural steps on one store.
struct MigrationPlan {
    /// A change of trees that keeps their content. Moves have an order: names are those at the time of the move.
    enum Move {
        case renameType(EntityDescription, to: String)
        case dropType(EntityDescription)
        case renameRelation(type: String, from: String, to: String)
        case dropRelation(type: String, name: String)
        case dropIndex(type: String, IndexDescription)

        /// Whether the move removes links.
        var dropsLinks: Bool {
            switch self {
            case .dropType, .dropRelation: true
            case .renameType, .renameRelation, .dropIndex: false
            }
        }
    }

    /// The types that lose a relation, by their final names.
    var typesLosingRelations: Set<String> {
        moves.reduce(into: []) { types, move in
            switch move {
            case .dropRelation(let type, _): types.insert(type)
            case .renameType(let type, let new): if types.remove(type.name) != nil { types.insert(new) }
            case .dropType(let type): types.remove(type.name)
            case .renameRelation, .dropIndex: break
            }
        }
    }

    /// A relation of a type.
    struct Side: Hashable {
        var type: String
        var relation: String
    }

    /// The types in the store after the migrations, by name.
    private(set) var types: [String: EntityDescription]
    private(set) var moves: [Move] = []
    /// The row migrations by type.
    private(set) var rows: [String: RowMigration] = [:]
    /// To-many relations in which every entity keeps only its first link.
    private(set) var trimmed: Set<Side> = []
    /// Relations whose other side is removed.
    private(set) var widowed: Set<Side> = []
    /// The names in the file of renamed types.
    private var origins: [String: String] = [:]

    /// The name of a type in the file, however often it is renamed.
    func nameInFile(of type: String) -> String { origins[type] ?? type }

    /// The changes of a type's relations in order, for its deleted entities.
    private var linkSteps: [String: [TombstoneMigration.LinkStep]] = [:]
    /// The migrations of deleted entities, by the name of the type of tombstones.
    private(set) var tombstones: [String: TombstoneMigration] = [:]

    /// Whether relations of a type are renamed or dropped.
    func renamesRelations(of type: String) -> Bool { linkSteps[type] != nil }
    private let declared: [String: EntityDescription]
    private let isEmpty: (_ type: String) throws -> Bool
    private let hasUnreadable: HasUnreadable

    /// Whether the new type of a conversion can't read a stored value in a column of a type, or in the type's deleted
    /// entities. Types are given as the file has them.
    typealias HasUnreadable = (
        _ conversion: MigrationStep.Conversion, _ type: EntityDescription, _ place: Int, _ deleted: EntityDescription?
    ) throws -> Bool

    /// Whether there is nothing to do.
    var isIdle: Bool { moves.isEmpty && rows.isEmpty && trimmed.isEmpty && changed.isEmpty }
    /// Types whose description differs from the file's.
    private(set) var changed: Set<String> = []

    /// Makes a plan. Throws `.schemaMismatch` or `.invalid` if steps contradict the stored or the declared types.
    /// - Parameter isEmpty: whether the file has no entity of a type, stored or referred to.
    init(
        _ steps: [MigrationStep], stored: [EntityDescription], declared: [EntityDescription],
        isEmpty: @escaping (_ type: String) throws -> Bool, hasUnreadable: @escaping HasUnreadable
    ) throws {
        self.hasUnreadable = hasUnreadable
        types = Dictionary(stored.map { ($0.name, $0) }) { _, last in last }
        self.declared = Dictionary(declared.map { ($0.name, $0) }) { _, last in last }
        self.isEmpty = isEmpty
        for (place, step) in steps.enumerated() {
            switch step {
            case .renameType(let old, let new): try renameType(old, new)
            case .dropType(let name): try dropType(name)
            case .rename(let type, let old, let new, true): try renameRelation(type, old, new)
            case .rename(let type, let old, let new, false): try renameColumn(type, old, new)
            case .convert(let conversion): try convert(conversion, later: steps[(place + 1)...])
            case .fill(let type, let column, let value): fill(type, column, value)
            case .forget(let type, let name): try forget(type, name)
            case .toOne(let type, let relation): trim(type, relation)
            case .run: break
            case .wrong(let error): throw error
            }
        }
        for type in declared { forgetOutgrownIDs(of: type) }
        findTombstones(in: Dictionary(stored.map { ($0.name, $0) }) { _, last in last })
    }

    private mutating func findTombstones(in file: [String: EntityDescription]) {
        for (name, type) in types {
            let tombstone = EntityDescription.tombstoneName(of: name)
            guard let deleted = types[tombstone], let old = file[nameInFile(of: name)] else { continue }
            tombstones[tombstone] = TombstoneMigration(deleted, from: old, to: type, rows[name], linkSteps[name] ?? [])
        }
    }

    private func mismatch(_ what: String) -> HornbeamError { HornbeamError(.schemaMismatch, what) }

    // MARK: Types

    private mutating func renameType(_ old: String, _ new: String) throws {
        guard old != new else { return }
        guard let type = types[old] else { return try refuseShortName(old, new) }
        let (oldDeleted, newDeleted) = (
            EntityDescription.tombstoneName(of: old), EntityDescription.tombstoneName(of: new)
        )
        if types[new] != nil {
            // A model still has the old name, so the new name is that of another type by now.
            if declared[old] != nil { return }
            guard try [new, newDeleted].allSatisfy({ try isEmpty(nameInFile(of: $0)) }) else {
                throw mismatch(
                    "\(old) can't be renamed to \(new): the store has entities of both, stored or deleted ones; remove "
                        + "the migration, and move or drop the entities of one of them")
            }
            removeType(new)
            if types[oldDeleted] != nil { removeType(newDeleted) }
        }
        moveType(type, to: new)
        if let deleted = types[oldDeleted], types[newDeleted] == nil { moveType(deleted, to: newDeleted) }
    }

    /// A step that finds nothing to rename counts as done. It is refused if it names a nested type without its outer
    /// types, because the type's entities would not be renamed.
    private func refuseShortName(_ old: String, _ new: String) throws {
        guard types[new] == nil,
            let meant = types.keys.sorted().first(where: { $0.hasSuffix(".\(old)") && declared[$0] == nil })
        else { return }
        throw mismatch(
            "a migration renames \(old) to \(new), but the store calls it \(meant): the name of a nested type begins "
                + "with those of its outer types; write .rename(\"\(meant)\", to: \(new).self)")
    }

    /// Gives a type a name that no other type has.
    private mutating func moveType(_ stored: EntityDescription, to new: String) {
        let old = stored.name
        var type = stored
        moves.append(.renameType(type, to: new))
        type.name = new
        types[old] = nil
        types[new] = type
        origins[new] = origins.removeValue(forKey: old) ?? old
        rows[new] = rows.removeValue(forKey: old)
        linkSteps[new] = linkSteps.removeValue(forKey: old)
        trimmed = Set(trimmed.map { Side(type: $0.type == old ? new : $0.type, relation: $0.relation) })
        widowed = Set(widowed.map { Side(type: $0.type == old ? new : $0.type, relation: $0.relation) })
        changed.remove(old)
        changed.insert(new)
        for name in types.keys {
            changeRelations(of: name) { relation in
                if relation.target == old { relation.target = new }
            }
        }
    }

    private mutating func dropType(_ name: String) throws {
        guard declared[name] == nil else {
            throw HornbeamError(
                .invalid, "a migration drops \(name), which is also among the models: remove one of the two")
        }
        removeType(name)
        removeType(EntityDescription.tombstoneName(of: name))
    }

    private mutating func removeType(_ name: String) {
        guard let type = types.removeValue(forKey: name) else { return }
        for other in types.values.sorted(by: { $0.name < $1.name }) {
            for relation in other.relations where relation.target == name { removeRelation(other.name, relation.name) }
        }
        moves.append(.dropType(type))
        rows[name] = nil
        linkSteps[name] = nil
        origins[name] = nil
        changed.remove(name)
        // Another type may get the name, with relations of the same names.
        widowed = widowed.filter { $0.type != name }
        trimmed = trimmed.filter { $0.type != name }
    }

    private mutating func changeRelations(of type: String, _ body: (inout RelationDescription) -> Void) {
        guard var description = types[type] else { return }
        for place in description.relations.indices { body(&description.relations[place]) }
        guard description != types[type] else { return }
        types[type] = description
        changed.insert(type)
    }

    // MARK: Relations

    private mutating func renameRelation(_ type: String, _ old: String, _ new: String) throws {
        guard let stored = types[type], old != new, let relation = stored.relations.first(where: { $0.name == old })
        else { return }
        if has(stored, new) {
            if declares(type, old) { return }
            throw mismatch(
                "\(type).\(old) can't be renamed to \(new): the store has both; open it once with "
                    + ".forget(\(type).self, \"\(old)\"), or \"\(new)\", in place of this migration")
        }
        moves.append(.renameRelation(type: type, from: old, to: new))
        linkSteps[type, default: []].append(TombstoneMigration.LinkStep(name: old, new: new))
        changeRelations(of: type) { if $0.name == old { $0.name = new } }
        changeRelations(of: relation.target) { other in
            if other.target == type, other.inverse == old { other.inverse = new }
        }
    }

    private mutating func removeRelation(_ type: String, _ name: String) {
        guard let relation = types[type]?.relations.first(where: { $0.name == name }) else { return }
        let side = SchemaComparison.inverse(
            of: relation, in: types[type] ?? EntityDescription(name: type, columns: []), types)
        if let side { widowed.insert(Side(type: relation.target, relation: side)) }
        moves.append(.dropRelation(type: type, name: name))
        linkSteps[type, default: []].append(TombstoneMigration.LinkStep(name: name, new: nil))
        types[type]?.relations.removeAll { $0.name == name }
        changed.insert(type)
        changeRelations(of: relation.target) { if $0.target == type, $0.inverse == name { $0.inverse = nil } }
    }

    private mutating func trim(_ type: String, _ name: String) {
        guard let stored = types[type]?.relations.first(where: { $0.name == name }), stored.toMany,
            let relation = declared[type]?.relations.first(where: { $0.name == name }), !relation.toMany
        else { return }
        trimmed.insert(Side(type: type, relation: name))
    }

    // MARK: Columns

    private func has(_ type: EntityDescription, _ name: String) -> Bool {
        type.column(name) != nil || type.relations.contains { $0.name == name }
    }

    private func declares(_ type: String, _ name: String) -> Bool { declared[type].map { has($0, name) } ?? false }

    private mutating func renameColumn(_ type: String, _ old: String, _ new: String) throws {
        guard var stored = types[type], old != new, let place = stored.column(old) else { return }
        if has(stored, new) {
            if declares(type, old) { return }
            throw mismatch(
                "\(type).\(old) can't be renamed to \(new): the store has both; open it once with "
                    + ".forget(\(type).self, \"\(old)\"), or \"\(new)\", in place of this migration")
        }
        stored.columns[place].name = new
        for index in stored.indexes.indices {
            for component in stored.indexes[index].components.indices
            where stored.indexes[index].components[component].column == old {
                stored.indexes[index].components[component].column = new
            }
            stored.indexes[index].condition = stored.indexes[index].condition?.renaming(old, to: new)
        }
        types[type] = stored
        rows[type]?.columns = stored.columns
        changed.insert(type)
    }

    private mutating func convert(_ conversion: MigrationStep.Conversion, later: ArraySlice<MigrationStep>) throws {
        let name = "\(conversion.type).\(conversion.column.name)"
        guard let stored = types[conversion.type], let place = stored.column(conversion.column.name) else { return }
        let old = stored.columns[place].type
        let new = conversion.column.type
        if old == new || .optional(old) == new {
            guard place > 0, conversion.from.unwrapped == new.unwrapped else { return }
            // If the rows are rewritten anyway, no search is needed.
            let isRewritten = rows[conversion.type] != nil
            guard try isRewritten || hasUnreadable(conversion, inFile(stored), place, deleted(stored)) else { return }
            return change(conversion.type, place, .convert(place, conversion, onlyUnreadable: true)) {
                $0[place].type = new
            }
        }
        guard place > 0 else {
            throw HornbeamError(
                .invalid, "\(name) is the id, whose type can't change: export the entities and import them anew")
        }
        guard conversion.takes(old) else {
            let isMet = later.contains { step in
                guard case .convert(let other) = step else { return false }
                return other.type == conversion.type && other.column == conversion.column && other.takes(old)
            }
            if isMet || old == .optional(new) { return }
            throw mismatch(
                "\(name) is stored as \(old), declared as \(new), and converted from \(conversion.from): add a "
                    + "migration that converts it from \(old)")
        }
        change(conversion.type, place, .convert(place, conversion, onlyUnreadable: false)) { $0[place].type = new }
    }

    /// A type with its name in the file. Only for types whose rows no step changes.
    private func inFile(_ type: EntityDescription) -> EntityDescription {
        var type = type
        type.name = nameInFile(of: type.name)
        return type
    }

    private func deleted(_ type: EntityDescription) -> EntityDescription? {
        types[EntityDescription.tombstoneName(of: type.name)].map(inFile)
    }

    private mutating func fill(
        _ type: String, _ column: ColumnDescription, _ value: @escaping @Sendable (StoredRow) throws -> Value
    ) {
        guard let stored = types[type], !has(stored, column.name) else { return }
        change(type, nil, .fill(stored.columns, column.name, value)) { $0.append(column) }
    }

    private mutating func forget(_ type: String, _ name: String) throws {
        guard let stored = types[type] else { return }
        if let relation = stored.relations.first(where: { $0.name == name }) {
            let kept = declared[type]?.relations.first { $0.name == name }
            if kept?.target != relation.target { removeRelation(type, name) }
            return
        }
        guard let place = stored.column(name) else { return }
        let old = stored.columns[place].type
        if let kept = declared[type], let column = kept.column(name) {
            let new = kept.columns[column].type
            if new == old || new == .optional(old) || .optional(new) == old { return }
        }
        guard place > 0 else { throw HornbeamError(.invalid, "\(type).\(name) is the id, which can't be forgotten") }
        change(type, place, .forget(place)) { $0.remove(at: place) }
    }

    /// Drops the columns of related ids that are stored with another type than declared, because the relation has got
    /// another target. They only repeat the links, and are filled again.
    private mutating func forgetOutgrownIDs(of type: EntityDescription) {
        for column in type.columns where column.linkedRelation != nil {
            guard let stored = types[type.name], let place = stored.column(column.name),
                stored.columns[place].type.unwrapped != column.type.unwrapped
            else { continue }
            change(type.name, place, .forget(place)) { $0.remove(at: place) }
        }
    }

    /// Notes a step on a type's rows. Indexes that depend on the column at `place` are dropped, because its values
    /// change.
    private mutating func change(
        _ type: String, _ place: Int?, _ step: RowMigration.Step, _ columns: (inout [ColumnDescription]) -> Void
    ) {
        guard var stored = types[type] else { return }
        if let name = place.map({ stored.columns[$0].name }) {
            for index in stored.indexes where index.properties.contains(name) {
                moves.append(.dropIndex(type: type, index))
            }
            stored.indexes.removeAll { $0.properties.contains(name) }
        }
        var migration = rows[type] ?? RowMigration(stored: stored.columns)
        columns(&stored.columns)
        migration.add(step, columns: stored.columns)
        rows[type] = migration
        types[type] = stored
        changed.insert(type)
    }
}

extension MigrationStep.Conversion {
    /// Whether the conversion applies to a column of this type.
    func takes(_ stored: ColumnType) -> Bool {
        stored == from || .optional(stored) == from || stored == .optional(from)
    }
}
