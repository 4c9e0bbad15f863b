// SPDX-License-Identifier: Apache-2.0
// Remarks in plans on indexes that aren't used although the query compares or sorts by their text, because they have
// another collation or another version of it.

extension Planner {
    /// The remarks on indexes that their collation keeps from being used.
    func collationRemarks() throws -> [String] { try versionRemarks() + otherCollations() }

    /// One remark for each index that has a property of the query, by another version of a collation.
    private func versionRemarks() throws -> [String] {
        let others = type.indexes.filter { $0.flaw != nil }
        guard !others.isEmpty else { return [] }
        var asked = Set(conjuncts.flatMap { $0.needs?.columns ?? [] })
        for term in sort {
            switch term.key {
            case .column(let column): asked.insert(column)
            case .derived(let component): asked.formUnion(component.sources ?? [])
            case .linkCount, .score, .opaque, .refused: continue
            }
        }
        return others.compactMap { index in
            guard let flaw = index.flaw, !asked.isDisjoint(with: index.sources) else { return nil }
            return "index \(index.description.name) isn't used: it \(flaw)"
        }
    }

    /// One remark for each index that has a text of the query by another collation, if no index has the query's
    /// collation for this text.
    private func otherCollations() throws -> [String] {
        let asked = conjuncts.flatMap { textsAsked($0) } + sort.compactMap { textAsked($0) }
        guard !asked.isEmpty else { return [] }
        let indexes = try store.queryIndexes.map { index in (index, index.texts(type)) }
        var remarks: [String] = []
        for text in asked where !indexes.contains(where: { $0.1.contains(text) }) {
            for (index, texts) in indexes {
                guard let other = texts.first(where: { $0.column == text.column }) else { continue }
                let remark =
                    "index \(index.description.name) has another collation: \(other.collation), not \(text.collation)"
                if !remarks.contains(remark) { remarks.append(remark) }
            }
        }
        return remarks
    }

    private func textsAsked(_ filter: Filter) -> [CollatedColumn] {
        switch filter {
        case .compare(let column, _, _), .within(let column, _): [plain(column)].compactMap(\.self)
        case .computed(let test): [test.subject.collated].compactMap(\.self)
        case .and(let parts), .or(let parts): parts.flatMap { textsAsked($0) }
        default: []
        }
    }

    private func textAsked(_ term: SortTerm) -> CollatedColumn? {
        switch term.key {
        case .column(let column): plain(column)
        case .derived(let component): component.subject.collated
        case .linkCount, .score, .opaque, .refused: nil
        }
    }

    private func plain(_ column: Int) -> CollatedColumn? {
        let columns = type.description.columns
        guard columns.indices.contains(column), columns[column].type.unwrapped == .string else { return nil }
        return CollatedColumn(entity: type.name, column: column, collation: .binary)
    }
}

extension EntityIndex {
    /// The texts in its keys. Indexes by hashes count too: they have no order, but the collation defines equality.
    fileprivate func texts(_ type: EntityType) -> [CollatedColumn] {
        components.compactMap { component in
            if component.column < 0 { return computed[-1 - component.column].subject.collated }
            guard component.type == .string else { return nil }
            return CollatedColumn(entity: type.name, column: component.column, collation: .binary)
        }
    }
}
