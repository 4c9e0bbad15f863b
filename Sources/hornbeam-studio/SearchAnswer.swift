// SPDX-License-Identifier: Apache-2.0
// A window of the hits of a full-text search, best first, with the passages in which the words were found.

import Hornbeam
import HornbeamText
import HornbeamTree

struct SearchAnswer {
    private let reads: StoreReads
    private let request: Request
    private static let limit = 100
    /// Maximum number of hits before a window, because each of them is ranked.
    private static let depth = 10_000
    /// Put around each found word. Texts hardly ever contain these characters; if one does, a needless mark does no
    /// harm.
    private static let marks = ("\u{1}", "\u{2}")

    init(_ reads: StoreReads, _ request: Request) {
        self.reads = reads
        self.request = request
    }

    func node() throws -> JSONNode {
        let first = try request.number("from", 0...Self.depth, or: 0)
        let count = try request.number("count", 0...Self.limit, or: 20)
        let (type, name) = (try request.required("type"), try request.required("index"))
        let words = try request.required("words")
        return try reads.read { core in
            let start = ContinuousClock.now
            let store = try core.store(type)
            let description = store.type.description
            guard let index = description.indexes.first(where: { $0.kind == .text && $0.name == name }) else {
                throw HornbeamError(.invalid, "\(type) has no full-text index “\(name)”")
            }
            let columns = index.components.compactMap { description.column($0.column) }
            let match = TextMatch(
                columns: columns, query: try TextMatch.query(words, of: columns, description), using: index.name)
            let filter = Filter.matches(match)
            let snippets = try RowSnippets(match, store)
            var form = SnippetForm()
            (form.start, form.end) = Self.marks
            var hits: [JSONNode] = []
            let query = EntityQuery(type: type, filter: filter, sort: [.bestScore], limit: count, offset: first)
            try core.forEach(query) { rowID, row, score in
                hits.append(
                    .object([
                        ("row", .string("\(rowID.rawValue)")), ("label", .string(try EntityAnswer.label(rowID, store))),
                        ("score", .number(Spelling.fixed(score ?? 0, 4))),
                        ("snippet", try snippets.text(row, form).map { .string($0) } ?? .null),
                    ]))
                return true
            }
            return .object([
                ("transaction", .count(core.transaction.version)),
                ("total", .count(try core.count(EntityQuery(type: type, filter: filter)))), ("from", .count(first)),
                ("hits", .array(hits)), ("milliseconds", .milliseconds(since: start)),
            ])
        }
    }
}
