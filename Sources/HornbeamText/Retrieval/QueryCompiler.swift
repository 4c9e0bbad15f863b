// SPDX-License-Identifier: Apache-2.0
// Compiles a query for evaluation: analyzes texts, looks up terms, expands prefixes and similar forms, and passes
// boosts and restrictions to fields down to the leaves.

import HornbeamPages

/// A query that is ready for one evaluation.
struct CompiledQuery {
    /// A document matches if it matches any of these.
    var clauses: [QueryNode]
    /// The leaves that score, in the order in which a score is summed.
    var order: [Leaf]
}

/// Compiles one query.
struct QueryCompiler {
    private let analyzer: Analyzer
    private let context: ScoreContext
    private let view: IndexView
    private var order: [Leaf] = []
    private let sums = GroupSums()

    init(_ analyzer: Analyzer, _ context: ScoreContext) {
        self.analyzer = analyzer
        self.context = context
        view = context.view
    }

    /// The state that is passed down the query's tree.
    private struct Scope {
        var boost = 1.0
        /// The fields to search. Nil means all.
        var fields: Set<Int>?
        var depth = 0
    }

    /// Maximum depth of a query's tree, with some room for its growth when it is resolved. The tree is processed
    /// recursively.
    static let depthLimit = TextQuery.maximumDepth + 8

    /// Compiles a resolved query. Throws `.invalid` for an invalid query: a boost that is negative, too large or not a
    /// number, a form that isn't allowed in `near`, or too deep nesting.
    mutating func compile(_ query: TextQuery) throws(StorageError) -> CompiledQuery {
        order = []
        guard let root = try node(query, Scope()) else { return CompiledQuery(clauses: [], order: []) }
        return CompiledQuery(clauses: root is AnyNode ? root.children : [root], order: order)
    }

    /// Returns a node for the query, or nil if it matches nothing.
    private mutating func node(_ query: TextQuery, _ outer: Scope) throws(StorageError) -> QueryNode? {
        var scope = outer
        scope.depth += 1
        guard scope.depth < Self.depthLimit else { throw .invalid("the query is nested too deep") }
        switch query {
        case .any(let parts):
            var nodes: [QueryNode] = []
            for part in parts {
                guard let node = try node(part, scope) else { continue }
                if let any = node as? AnyNode { nodes += any.children } else { nodes.append(node) }
            }
            return Self.any(nodes)
        case .all(let parts): return try all(parts, scope)
        case .without(let first, let second):
            guard let first = try node(first, scope) else { return nil }
            let count = order.count
            let second = try node(second, scope)
            order.removeSubrange(count...)
            return second.map { WithoutNode(first, $0) } ?? first
        case .field(let fields, let query):
            scope.fields = scope.fields.map { $0.intersection(fields) } ?? Set(fields)
            return try node(query, scope)
        case .boost(let factor, let query):
            guard factor >= 0, factor <= TextQuery.maximumBoost else {
                throw .invalid("a boost of \(factor): it must be a number from 0 to 1e9")
            }
            scope.boost *= factor
            guard scope.boost <= TextQuery.maximumBoost else {
                throw .invalid("nested boosts multiply to \(scope.boost), the limit is 1e9")
            }
            return try node(query, scope)
        case .words, .phrase, .near, .prefix, .wildcard, .fuzzy, .everything: return try simple(query, scope)
        }
    }

    /// Returns a node for a form without subqueries. Not inlined, because it would make each level of `node` take ten
    /// times the stack.
    @inline(never)
    private mutating func simple(_ query: TextQuery, _ scope: Scope) throws(StorageError) -> QueryNode? {
        switch query {
        case .words(let text): return try words(text, scope)
        case .fuzzy(let text, let distance, let prefixLength):
            var nodes: [QueryNode] = []
            for token in analyzer.queryTokens(of: text) {
                nodes += try fuzzy(try fuzzyTerms(token.term, distance, prefixLength), scope)
            }
            return Self.any(nodes)
        case .everything: return EverythingNode(context)
        default: return try leaf(query, scope)
        }
    }

    private static func any(_ nodes: [QueryNode]) -> QueryNode? {
        nodes.count > 1 ? AnyNode(nodes) : nodes.first
    }

    private mutating func all(_ parts: [TextQuery], _ scope: Scope) throws(StorageError) -> QueryNode? {
        let count = order.count
        var nodes: [QueryNode] = []
        for part in parts {
            guard let node = try node(part, scope) else {
                order.removeSubrange(count...)
                return nil
            }
            nodes.append(node)
        }
        return nodes.count > 1 ? AllNode(nodes) : nodes.first
    }

    private mutating func words(_ text: String, _ scope: Scope) throws(StorageError) -> QueryNode? {
        var leaves: [QueryToken: Leaf?] = [:]
        var nodes: [QueryNode] = []
        for token in analyzer.queryTokens(of: text) {
            if let known = leaves[token] {
                guard let known else { continue }
                known.multiplicity += 1
                order.append(known)
                continue
            }
            guard let group = try group(token) else {
                leaves[token] = .some(nil)
                continue
            }
            let title = "“\(Self.text(token.term))\(token.isOpen ? "…" : "")”"
            let leaf = try leaf(group, scope, title)
            leaves[token] = .some(leaf)
            order.append(leaf)
            nodes.append(leaf)
        }
        return Self.any(nodes)
    }

    private static func text(_ term: [UInt8]) -> String { String(decoding: term, as: UTF8.self) }

    private func leaf(_ group: Group, _ scope: Scope, _ title: String) throws(StorageError) -> Leaf {
        let rarity = LeafWeight.Rarity(documents: group.documents.documentFrequency)
        return try leaf(group, LeafWeight([rarity], context, boost: scope.boost), scope, title)
    }

    private func leaf(
        _ group: Group, _ weight: LeafWeight, _ scope: Scope, _ title: String
    ) throws(StorageError) -> Leaf {
        guard scope.fields != nil || context.fieldWeights != nil else {
            return TermLeaf(context, group.documents, weight, title: title)
        }
        if group.sum == nil, group.documents.knowsFields,
            let scoring = try FieldScoring(context, fields: scope.fields)
        {
            return FieldLeaf(context, group.documents, scoring, weight, title: title)
        }
        return SpanLeaf(context, spans(group), weight, fields: scope.fields, title: title)
    }
}

// Groups of terms.
extension QueryCompiler {
    private func fuzzyTerms(
        _ token: [UInt8], _ distance: Int?, _ prefixLength: Int
    ) throws(StorageError) -> [ExpandedTerm] {
        let scalars = String(decoding: token, as: UTF8.self).unicodeScalars.count
        return try TermExpansion(view: view).fuzzy(
            token, distance: distance ?? TermExpansion.distance(scalars: scalars), prefixLength: prefixLength)
    }

    /// Returns a leaf for each term. All have the weight of the whole group, reduced by the term's edit distance.
    private mutating func fuzzy(_ terms: [ExpandedTerm], _ scope: Scope) throws(StorageError) -> [QueryNode] {
        let documents = try documentFrequency(terms)
        let rarity = LeafWeight.Rarity(word: .similar, documents: documents)
        var nodes: [QueryNode] = []
        for term in terms {
            guard let source = try view.postings(of: term.term) else { continue }
            let weight = LeafWeight([rarity], context, edits: term.distance, boost: scope.boost)
            let edits = term.distance == 0 ? "" : ", \(term.distance) edits away"
            let leaf = try leaf(Group(documents: source), weight, scope, "“\(Self.text(term.term))”\(edits)")
            order.append(leaf)
            nodes.append(leaf)
        }
        return nodes
    }

    /// Returns the number of documents that hold any of the terms.
    private func documentFrequency(_ terms: [ExpandedTerm]) throws(StorageError) -> UInt32 {
        guard terms.count > 1 else {
            return try terms.first.flatMap { (term) throws(StorageError) in try view.postings(of: term.term) }?
                .documentFrequency ?? 0
        }
        var union = PostingUnion(docnoLimit: view.docnoLimit)
        for term in terms {
            if let source = try view.postings(of: term.term) { try union.add(source, view) }
        }
        return union.documentFrequency
    }

    /// A term, or several terms whose postings are added up.
    private struct Group {
        let documents: PostingSource
        /// For several terms: the terms and the sums of their postings.
        var sum: (terms: TermGroup, postings: PostingArrays)?
    }

    /// Returns the postings of a word, or of all words that begin with an open one. Returns nil if no document holds
    /// any.
    private func group(_ token: QueryToken) throws(StorageError) -> Group? {
        if token.isOpen { return try group(.prefix(token.term)) }
        return try view.postings(of: token.term).map { Group(documents: $0) }
    }

    /// Returns the summed postings of a group of terms, or nil if no document holds any of them.
    private func group(_ terms: TermGroup) throws(StorageError) -> Group? {
        switch try sum(of: terms) {
        case .term(let term): return try view.postings(of: term).map { Group(documents: $0) }
        case .several(let sums):
            return sums.count > 0 ? Group(documents: ArrayPostings(sums), sum: (terms, sums)) : nil
        }
    }

    private func sum(of terms: TermGroup) throws(StorageError) -> GroupSums.Sum {
        if let known = sums[terms] { return known }
        var union = PostingUnion(docnoLimit: view.docnoLimit)
        let found = try terms.addPostings(of: view, to: &union)
        let sum: GroupSums.Sum = found.terms <= 1 ? .term(found.first) : .several(union.finish())
        try sums.keep(sum, of: terms)
        return sum
    }

    /// The sums of a query's groups. A group that occurs several times is added up once.
    private final class GroupSums {
        enum Sum {
            /// The only term, or empty if there is none.
            case term([UInt8])
            case several(PostingArrays)
        }

        private var known: [TermGroup: Sum] = [:]
        private var documents = 0
        /// Maximum number of documents of all groups, at eight bytes each. A single group may have more.
        private static let documentLimit = 1 << 27

        subscript(terms: TermGroup) -> Sum? { known[terms] }

        func keep(_ sum: Sum, of terms: TermGroup) throws(StorageError) {
            known[terms] = sum
            guard case .several(let sums) = sum else { return }
            documents += sums.count
            guard documents <= Self.documentLimit || documents == sums.count else {
                throw .invalid(
                    "the prefixes, patterns and similar words of a query match \(documents) documents in total, the "
                        + "limit is \(Self.documentLimit): use fewer or longer ones")
            }
        }
    }

    private func spans(_ group: Group) -> SpanSource {
        guard let sum = group.sum else { return TermSpans(group.documents) }
        return GroupSpans(group.documents, sum.postings, sum.terms, view, context.occurrences)
    }

    /// Returns the terms of a prefix or a pattern, or nil if there can be none.
    private func terms(_ query: TextQuery) -> TermGroup? {
        switch query {
        // An empty prefix would match every term.
        case .prefix(let text): analyzer.phraseTokens(of: text).last.map { .prefix($0) }
        case .wildcard(let text): .pattern(WildcardPattern(text, analyzer))
        default: nil
        }
    }
}

// Phrases and words near each other.
extension QueryCompiler {
    private mutating func leaf(_ query: TextQuery, _ scope: Scope) throws(StorageError) -> QueryNode? {
        let needsPositions = scope.fields != nil || context.fieldWeights != nil
        switch query {
        case .prefix(let text) where analyzer.phraseTokens(of: text).count == 1, .wildcard(let text):
            guard let terms = terms(query), let group = try group(terms) else { return nil }
            let leaf = try leaf(group, scope, Self.title(query, text))
            order.append(leaf)
            return leaf
        case .phrase(let text, _) where !needsPositions && analyzer.phraseParts(of: text).count == 1:
            // A phrase of one word: positions don't matter.
            guard let group = try group(analyzer.phraseParts(of: text)[0]) else { return nil }
            let leaf = try leaf(group, scope, "\(query)")
            order.append(leaf)
            return leaf
        default:
            var words = DistinctWords()
            guard let spans = try spans(query, &words) else { return nil }
            let weight = LeafWeight(words.rarities, context, boost: scope.boost)
            let leaf = SpanLeaf(context, spans, weight, fields: scope.fields, title: "\(query)")
            order.append(leaf)
            return leaf
        }
    }

    private static func title(_ query: TextQuery, _ text: String) -> String {
        if case .prefix = query { return "“\(text)…”" }
        return "“\(text)”"
    }

    /// The distinct words of a phrase, in order.
    private struct DistinctWords {
        private(set) var rarities: [LeafWeight.Rarity] = []
        private var known: Set<[UInt8]> = []

        mutating func add(_ token: [UInt8], _ documents: PostingSource) {
            guard known.insert(token).inserted else { return }
            rarities.append(LeafWeight.Rarity(word: .term(token), documents: documents.documentFrequency))
        }
    }

    /// Returns the spans of a query in documents, or nil if there are none. Adds its words to `words`.
    private func spans(
        _ query: TextQuery, _ words: inout DistinctWords, depth: Int = 0
    ) throws(StorageError) -> SpanSource? {
        guard depth < Self.depthLimit else { throw .invalid("the query is nested too deep") }
        switch query {
        case .words(let text):
            var parts: [SpanSource] = []
            var known: Set<QueryToken> = []
            for token in analyzer.queryTokens(of: text) where known.insert(token).inserted {
                guard let group = try group(token) else { continue }
                words.add(token.term, group.documents)
                parts.append(self.spans(group))
            }
            return Self.any(parts)
        case .any(let queries):
            var parts: [SpanSource] = []
            for query in queries {
                if let part = try spans(query, &words, depth: depth + 1) { parts.append(part) }
            }
            return Self.any(parts)
        case .near(let queries, let distance):
            var parts: [NearPart] = []
            for (query, count) in TextQuery.counted(queries, analyzer) {
                guard let part = try spans(query, &words, depth: depth + 1) else { return nil }
                parts.append(NearPart(source: part, count: count))
            }
            guard !parts.isEmpty else { return nil }
            if parts.count == 1, parts[0].count == 1 { return parts[0].source }
            return NearSpans(parts, within: distance, view)
        case .phrase(let text, let slop):
            let tokens = analyzer.phraseParts(of: text)
            guard let last = tokens.last, last.isOpen else {
                return try terms(tokens.map(\.term), &words).flatMap { phrase($0, slop, then: nil) }
            }
            guard let group = try group(last) else { return nil }
            if tokens.count == 1 { return groupSpans(group, query, &words) }
            let parts = try terms(tokens.dropLast().map(\.term), &words)
            return parts.flatMap { phrase($0, slop, then: groupSpans(group, query, &words)) }
        case .prefix(let text):
            guard let terms = terms(query), let last = try group(terms) else { return nil }
            let tokens = analyzer.phraseTokens(of: text)
            if tokens.count == 1 { return groupSpans(last, query, &words) }
            let parts = try self.terms(tokens.dropLast(), &words)
            return parts.flatMap { phrase($0, 0, then: groupSpans(last, query, &words)) }
        case .wildcard:
            guard let terms = terms(query), let group = try group(terms) else { return nil }
            return groupSpans(group, query, &words)
        case .fuzzy(let text, let distance, let prefixLength):
            var parts: [SpanSource] = []
            for token in distinct(analyzer.queryTokens(of: text).map(\.term)) {
                let terms = try fuzzyTerms(token, distance, prefixLength)
                guard let group = try group(.listed(terms)) else { continue }
                words.add(token, group.documents)
                parts.append(self.spans(group))
            }
            return Self.any(parts)
        case .boost(_, let query): return try spans(query, &words, depth: depth + 1)
        case .all, .without, .field, .everything:
            throw .invalid("near takes words, phrases, prefixes, wildcards and fuzzy words, not \(query)")
        }
    }

    private func distinct(_ tokens: [[UInt8]]) -> [[UInt8]] {
        var known: Set<[UInt8]> = []
        return tokens.filter { known.insert($0).inserted }
    }

    private static func any(_ parts: [SpanSource]) -> SpanSource? { parts.count > 1 ? AnySpans(parts) : parts.first }

    private func term(_ token: [UInt8], _ words: inout DistinctWords) throws(StorageError) -> SpanSource? {
        guard let source = try view.postings(of: token) else { return nil }
        words.add(token, source)
        return TermSpans(source)
    }

    private func groupSpans(_ group: Group, _ query: TextQuery, _ words: inout DistinctWords) -> SpanSource {
        words.add(Array("\(query)".utf8), group.documents)
        return spans(group)
    }

    /// The distinct words of a phrase, and the index of the word at each position of the phrase.
    private struct PhraseTerms {
        var parts: [SpanSource] = []
        var order: [Int] = []
    }

    /// Returns the terms of a phrase, or nil if no document holds one of them. Then none of them is added to `words`,
    /// so that they have no weight.
    private func terms(
        _ tokens: [[UInt8]], _ words: inout DistinctWords
    ) throws(StorageError) -> PhraseTerms? {
        var terms = PhraseTerms()
        var known = words
        var places: [[UInt8]: Int] = [:]
        for token in tokens {
            if let place = places[token] {
                terms.order.append(place)
                continue
            }
            guard let term = try term(token, &known) else { return nil }
            places[token] = terms.parts.count
            terms.order.append(terms.parts.count)
            terms.parts.append(term)
        }
        words = known
        return terms
    }

    private func phrase(_ terms: PhraseTerms, _ slop: Int, then last: SpanSource?) -> SpanSource? {
        var terms = terms
        if let last {
            terms.order.append(terms.parts.count)
            terms.parts.append(last)
        }
        guard terms.order.count > 1 else { return terms.parts.first }
        return PhraseSpans(terms.parts, order: terms.order, slop: slop, view)
    }
}
