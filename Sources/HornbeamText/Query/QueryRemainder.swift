// SPDX-License-Identifier: Apache-2.0
// The remainder of a query when some parts are removed because they ask for nothing: parts whose texts have no token,
// and parts that consist of stop words.

/// The remainder of a part of a query.
enum QueryRemainder {
    case kept(TextQuery)
    /// The part asks for nothing. Documents that match `unless` are excluded all the same.
    case gone(unless: TextQuery?)

    var query: TextQuery? { if case .kept(let query) = self { query } else { nil } }
    var excluded: TextQuery? { if case .gone(let excluded) = self { excluded } else { nil } }

    func map(_ body: (TextQuery) -> TextQuery) -> Self {
        switch self {
        case .kept(let query): .kept(body(query))
        case .gone(let other): .gone(unless: other.map(body))
        }
    }

    /// The remainder of `without`. A part that asks for nothing excludes what it would have excluded.
    func without(_ unwanted: TextQuery?) -> Self {
        switch self {
        case .kept(let query): .kept(unwanted.map { .without(query, $0) } ?? query)
        case .gone(let other): .gone(unless: Self.either([other, unwanted].compactMap(\.self)))
        }
    }

    /// The remainder of parts of which any must match. A document is excluded only if all removed parts exclude it.
    /// - Parameter asks: whether a kept part asks for anything.
    static func any(_ found: [Self], asks: (TextQuery) -> Bool) -> Self {
        if found.isAnswer(asks) { return .kept(.any(found.compactMap(\.query))) }
        let gone = found.filter { $0.query == nil }
        let excluded = gone.compactMap(\.excluded)
        guard excluded.count == gone.count else { return .gone(unless: nil) }
        return .gone(unless: excluded.count > 1 ? .all(excluded) : excluded.first)
    }

    /// The remainder of parts that must all match. Exclusions of removed parts apply to the other parts, too. If
    /// required parts are removed and none remains, at least one of the optional parts must match.
    static func all(
        _ parts: [TextQuery], asks: (TextQuery) -> Bool, _ remainder: (TextQuery) -> Self
    ) -> Self {
        // Each part is resolved only once, since parts can be nested.
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
        // A nested `any` would make the query deeper than it was.
        let parts = parts.flatMap { part in
            if case .any(let parts) = part, !parts.isEmpty { return parts }
            return [part]
        }
        return parts.count > 1 ? .any(parts) : parts.first
    }
}

extension [QueryRemainder] {
    /// Whether the parts remain as a query: all of them are kept, or a kept one asks for something.
    fileprivate func isAnswer(_ asks: (TextQuery) -> Bool) -> Bool {
        allSatisfy { $0.query != nil } || contains { $0.query.map(asks) == true }
    }
}

extension TextQuery {
    /// For “everything or these parts”, whose parts are optional and only add to the score: the parts. Otherwise nil.
    var alternatives: [TextQuery]? {
        guard case .any(let parts) = self, parts.count > 1, parts.contains(.everything) else { return nil }
        return parts.filter { $0 != .everything }
    }
}
