// SPDX-License-Identifier: Apache-2.0
// A search before the searched properties are known. In a written text, `language:en` is a test of a property only if
// the search is over that property, and two words otherwise. So such a text is parsed only when the search is made, and
// then combined with any query that contains it.

import HornbeamText

/// A query whose fields are columns, or a text that is to be parsed as one.
enum SearchReading: Sendable, Hashable {
    case query(TextQuery)
    case text(WrittenSearch)
    case composed(SearchComposition, [SearchReading])
    /// Stands for a query that is nested too deep. Searching with it throws `.invalid`.
    case tooDeep

    /// The query over some columns, with the names that texts may use for them.
    func query(over columns: [Int], names: [String]) -> TextQuery {
        switch self {
        case .query(let query): query
        case .text(let text): text.query(over: columns, names: names)
        case .composed(let how, let parts): how.query(of: parts.map { $0.query(over: columns, names: names) })
        case .tooDeep: .any([])
        }
    }

    /// This query as a part of another one, or `tooDeep` if the whole would be nested too deep. All queries are built
    /// of such parts, so none is deeper. Comparing and releasing a query uses stack for each level.
    var asPart: SearchReading { isWithin(TextQuery.maximumDepth - 1) ? self : .tooDeep }

    /// Combines the parts, at once if all of them are known.
    static func composed(_ how: SearchComposition, of parts: [SearchReading]) -> SearchReading {
        var queries: [TextQuery] = []
        for part in parts {
            guard case .query(let query) = part else { return .composed(how, parts) }
            queries.append(query)
        }
        return .query(how.query(of: queries))
    }

    /// Whether it is nested no deeper than this number of levels. A text counts as one level.
    func isWithin(_ levels: Int) -> Bool {
        switch self {
        case .query(let query): query.isWithin(levels)
        case .text: levels > 0
        case .composed(_, let parts): levels > 0 && parts.allSatisfy { $0.isWithin(levels - 1) }
        case .tooDeep: false
        }
    }

    /// Returns the parts, if this is a combination of the given kind.
    func parts(_ how: SearchComposition) -> [SearchReading]? {
        switch (self, how) {
        case (.query(.any(let parts)), .any) where parts.count > 1: parts.map { .query($0) }
        case (.query(.all(let parts)), .all) where parts.count > 1: parts.map { .query($0) }
        case (.composed(how, let parts), _) where parts.count > 1: parts
        default: nil
        }
    }
}

/// The ways to combine queries.
enum SearchComposition: Sendable, Hashable {
    case any
    case all
    case near(within: Int)
    case without
    case field([Int])
    case boost(Double)
    case leavingOut(StopWordList)

    func query(of parts: [TextQuery]) -> TextQuery {
        switch self {
        case .any: .any(parts)
        case .all: .all(parts)
        case .near(let distance): .near(parts, within: distance)
        case .without: .without(parts[0], parts[1])
        case .field(let columns): .field(columns, parts[0])
        case .boost(let factor): .boost(factor, parts[0])
        case .leavingOut(let list):
            parts[0].isWithin(TextQuery.maximumDepth) ? parts[0].leavingOut(list) : parts[0]
        }
    }
}

/// A text written into a search field, and the way to read it.
struct WrittenSearch: Sendable, Hashable {
    let text: String
    let matchesAll: Bool
    let isTyping: Bool

    /// Parses the text. Names of other fields than these columns are read as words.
    func query(over columns: [Int], names: [String]) -> TextQuery {
        let names = columns.map { names.indices.contains($0) ? names[$0] : "" }
        return QuerySyntax(fields: names, matchesAll: matchesAll, isTyping: isTyping).parse(lenient: text)
            .mapFields { (place) throws(Never) in columns[place] }
    }
}

extension TextQuery {
    /// Whether it searches in particular fields.
    var namesFields: Bool {
        switch self {
        case .words, .phrase, .prefix, .wildcard, .fuzzy, .everything: false
        case .any(let parts), .all(let parts), .near(let parts, _): parts.contains(where: \.namesFields)
        case .without(let wanted, let unwanted): wanted.namesFields || unwanted.namesFields
        case .field: true
        case .boost(_, let part): part.namesFields
        }
    }
}
