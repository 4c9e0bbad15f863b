// SPDX-License-Identifier: Apache-2.0
// What is left of a query when some of its parts ask for nothing: those whose texts have no token, and those of words
// that are left out.

/// What is left of a part of a query.
enum QueryRemainder {
    case kept(TextQuery)
    /// Nothing to find, and what must not be found all the same, if anything.
    case gone(unless: TextQuery?)

    var query: TextQuery? { if case .kept(let query) = self { query } else { nil } }
    var excluded: TextQuery? { if case .gone(let excluded) = self { excluded } else { nil } }

    func map(_ body: (TextQuery) -> TextQuery) -> Self {
        switch self {
        case .kept(let query): .kept(body(query))
        case .gone(let other): .gone(unless: other.map(body))
        }
    }

    /// Of `without`: what asks for nothing excludes what it would have excluded.
    func without(_ unwanted: TextQuery?) -> Self {
        switch self {
        case .kept(let query): .kept(unwanted.map { .without(query, $0) } ?? query)
        case .gone(let other): .gone(unless: Self.either([other, unwanted].compactMap(\.self)))
        }
    }

    /// Where any of the parts is enough, only what excludes a document from all of them excludes it.
    /// - Parameter asks: whether what is kept asks for anything.
    static func any(_ found: [Self], asks: (TextQuery) -> Bool) -> Self {
        if found.isAnswer(asks) { return .kept(.any(found.compactMap(\.query))) }
        let gone = found.filter { $0.query == nil }
        let excluded = gone.compactMap(\.excluded)
        guard excluded.count == gone.count else { return .gone(unless: nil) }
        return .gone(unless: excluded.count > 1 ? .all(excluded) : excluded.first)
    }

    /// What must not be found beside a part that is gone must not be found beside the others either. If none of those
    /// remains that must be there, any of the others must be.
    static func all(
        _ parts: [TextQuery], asks: (TextQuery) -> Bool, _ remainder: (TextQuery) -> Self
    ) -> Self {
        // Each part is looked into once, in whatever form: they may be nested in each other.
        let alternatives = parts.map(\.alternatives)
        let demanded = zip(parts, alternatives).map { $1 == nil ? remainder($0) : nil }
        var found = demanded.compactMap(\.self)
        if found.contains(where: { $0.query == nil }), !found.contains(where: { $0.query.map(asks) == true }) {
            let others = alternatives.compactMap(\.self).joined()
            if let first = others.first { found.append(remainder(others.count > 1 ? .any(Array(others)) : first)) }
        } else {
            found = zip(parts, demanded).map { $1 ?? remainder($0) }
        }
        guard found.isAnswer(asks) else { return .gone(unless: either(found.compactMap(\.excluded))) }
        return .kept(.all(found.compactMap { $0.query ?? $0.excluded.map { .without(.everything, $0) } }))
    }

    private static func either(_ parts: [TextQuery]) -> TextQuery? {
        // One in another would make the query deeper than it was.
        let parts = parts.flatMap { part in
            if case .any(let parts) = part, !parts.isEmpty { return parts }
            return [part]
        }
        return parts.count > 1 ? .any(parts) : parts.first
    }
}

extension [QueryRemainder] {
    /// Whether they are all there, or of those that are some asks for anything: what asks for nothing is nothing that
    /// remains.
    fileprivate func isAnswer(_ asks: (TextQuery) -> Bool) -> Bool {
        allSatisfy { $0.query != nil } || contains { $0.query.map(asks) == true }
    }
}

extension TextQuery {
    /// Of “everything or these”, which takes nothing away from what stands beside it and adds to its score: these.
    var alternatives: [TextQuery]? {
        guard case .any(let parts) = self, parts.count > 1, parts.contains(.everything) else { return nil }
        return parts.filter { $0 != .everything }
    }
}
