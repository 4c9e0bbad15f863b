// SPDX-License-Identifier: Apache-2.0
// MATCH and RANK: a search over columns, and its score.

import HornbeamText

extension Binder {
    /// The slot that records whether a row is found.
    mutating func bind(_ matching: TextMatching) throws -> BoundExpression {
        let (source, columns, index) = try targets(matching)
        guard let type = source.type else { throw failure("MATCH is for entities", at: matching.place) }
        guard case .constant(let item) = try bind(matching.query) else {
            throw failure("what MATCH looks for is the same for all rows: a text or a parameter", at: matching.place)
        }
        if item.isUnknown {
            matches.append(BoundMatch(source: source.number, match: nil))
            return .constant(.null)
        }
        guard let words = item.text else { throw failure("MATCH looks for a text", at: matching.place) }
        let query: TextQuery
        do {
            query = try TextMatch.query(words, of: columns, type.description)
        } catch {
            throw failure("in what MATCH looks for: \(error.message)", at: matching.place)
        }
        let match = TextMatch(columns: columns, query: query, using: index)
        matches.append(BoundMatch(source: source.number, match: match))
        return slot(.match(matches.count - 1), of: source)
    }

    /// The source and columns to search. They are those of the index if MATCH names an index.
    private mutating func targets(_ matching: TextMatching) throws -> (BoundSource, [Int], index: String?) {
        var found: (source: BoundSource, columns: [Int])?
        for path in matching.targets {
            var names: [String] = []
            for case .name(let name) in path.steps { names.append(name) }
            let named = names.count == 2 ? sources.first { !$0.isImplicit && $0.alias == names[0] } : nil
            guard names.count == path.steps.count, let name = names.last, names.count == 1 || named != nil else {
                throw failure("MATCH takes a full-text index or columns of one source", at: path.place)
            }
            let owners = named.map { [$0] } ?? sources.filter { !$0.isImplicit && $0.type != nil }
            let indexes = owners.compactMap { source in
                source.type?.textIndexes.first { $0.description.name == name }.map { (source, $0.columns) }
            }
            if matching.targets.count == 1, indexes.count == 1 { return (indexes[0].0, indexes[0].1, index: name) }
            guard let source = try named ?? owner(of: name, at: path.place), let type = source.type,
                let column = type.description.column(name)
            else {
                let indexes = owners.flatMap { $0.type?.textIndexes.map(\.description.name) ?? [] }
                throw failure("there is no full-text index or column “\(name)”" + hint(name, indexes), at: path.place)
            }
            guard type.description.columns[column].type.isText else {
                throw failure(
                    "\(name) is no text but \(type.description.columns[column].type.withArticle)", at: path.place)
            }
            if let found, found.source !== source { throw failure("MATCH takes columns of one source", at: path.place) }
            found = (source, (found?.columns ?? []) + [column])
        }
        guard let found else { throw failure("MATCH takes a full-text index or columns", at: matching.place) }
        return (found.source, found.columns, index: nil)
    }

    mutating func bindRank(at place: TextPlace) throws -> BoundExpression {
        let number = try soleMatch("RANK is the score of one MATCH", at: place)
        guard let match = matches[number].match else { return .constant(.null) }
        let source = sources[matches[number].source]
        guard let type = source.type, type.textIndex(for: match) != nil else {
            throw failure("RANK needs a full-text index over the columns of MATCH", at: place)
        }
        return slot(.score(number), of: source)
    }

    /// The number of the statement's only match.
    func soleMatch(_ what: String, at place: TextPlace) throws(HornbeamError) -> Int {
        guard matches.count == 1 else {
            throw failure("\(what), and there \(matches.isEmpty ? "is none" : "are \(matches.count)")", at: place)
        }
        return 0
    }
}
