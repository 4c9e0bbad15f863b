// SPDX-License-Identifier: Apache-2.0
// Describes the changes that a file needs for its models, for a program that may not make them.

extension SchemaUpdate {
    /// The needed changes, one text each. Changes of deleted entities are left out: they follow their type.
    var lacks: [String] {
        var lacks = plan.moves.compactMap { words($0) }
        for type in plan.rows.keys.sorted() where !isTombstone(type) { lacks.append("the migration of \(type)") }
        for change in work where !isTombstone(change.stored.name) { lacks += words(change) }
        for link in links where !isTombstone(link.type) {
            lacks.append("the present form of \(link.type).\(link.name)")
        }
        // Types with columns that this program doesn't know only get a note in the store.
        for type in gaps.ended.map(\.type) + gaps.begun where !isTombstone(type) {
            lacks.append("values in some rows of \(type)")
        }
        if lacks.isEmpty { lacks = work.map { "the type \($0.stored.name)" } }
        return lacks
    }

    private func isTombstone(_ type: String) -> Bool { EntityDescription.isTombstone(type) }

    private func words(_ move: MigrationPlan.Move) -> String? {
        switch move {
        case .renameType(let type, let new): isTombstone(new) ? nil : "the renaming of \(type.name) to \(new)"
        case .dropType(let type): isTombstone(type.name) ? nil : "the removal of \(type.name)"
        case .renameRelation(let type, let old, let new): "the renaming of \(type).\(old) to \(new)"
        case .dropRelation(let type, let name): "the removal of \(type).\(name)"
        case .dropIndex(let type, let index): "the rebuilt index “\(index.name)” of \(type)"
        }
    }

    private func words(_ change: SchemaChange) -> [String] {
        let type = change.stored.name
        guard let old = plan.types[type] else { return ["the type \(type)"] }
        var words = change.added.map { "the property \(type).\($0.name)" }
        words += change.narrowed.map { "the non-optional form of \(type).\($0.name)" }
        words += change.stored.relations.filter { new in !old.relations.contains { $0.name == new.name } }
            .map { "the relation \(type).\($0.name)" }
        words += change.built.sorted().map { "the index “\($0)” of \(type)" }
        words += change.dropped.filter { !change.built.contains($0.name) }
            .map { "the removal of the index “\($0.name)” of \(type)" }
        return words.isEmpty ? ["the present form of \(type)"] : words
    }
}
