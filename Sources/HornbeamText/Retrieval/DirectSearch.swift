// SPDX-License-Identifier: Apache-2.0
// Searches that need no windows: documents that hold several terms, a phrase, or words near each other, and the summed
// terms of a prefix or a pattern. Their results are identical to those of `Retrieval`, to the last bit.

import HornbeamPages

/// Runs such searches in one state of an index. Queries must be resolved.
struct DirectSearch {
    private let view: IndexView
    private let analyzer: Analyzer

    /// Maximum number of postings that are read faster than skipped.
    private static let fewPostings = 256
    /// Estimated number of documents of the rarest term for each one that holds the other terms in the required
    /// positions.
    private static let matchingShare = 8

    init(_ view: IndexView, _ analyzer: Analyzer) { (self.view, self.analyzer) = (view, analyzer) }

    /// Offers to `best` every document that may be among the best of a query. Returns false, and offers nothing, if the
    /// query isn't answered here.
    func rank(_ query: TextQuery, _ best: inout TopK, _ filter: TextFilter) throws(StorageError) -> Bool {
        switch query {
        case .all, .phrase, .near:
            let compiled = try conjunction(query, filter, limit: best.limit)
            guard compiled.isDirect else { return false }
            try compiled.conjunction?.rank(&best) { (row) throws(StorageError) in try compiled.rest.accepts(row) }
        case .prefix(let text):
            let tokens = analyzer.phraseTokens(of: text)
            guard tokens.count == 1 else { return false }
            return try rank(tokens[0], &best, filter) { _ in true }
        case .wildcard(let text):
            let pattern = WildcardPattern(text, analyzer)
            return try rank(pattern.prefix, &best, filter) { pattern.matches($0) }
        default: return false
        }
        return true
    }

    /// Ranks the documents that hold any term that begins with `prefix` and that `accepts` takes. Returns false, and
    /// offers nothing, if the query isn't answered here.
    private func rank(
        _ prefix: [UInt8], _ best: inout TopK, _ filter: TextFilter, accepts: (Bytes) -> Bool
    ) throws(StorageError) -> Bool {
        if case .selection = filter { return false }
        var union = PostingUnion(docnoLimit: view.docnoLimit)
        let found = try view.addPostings(prefix, to: &union, accepts: accepts)
        // `Retrieval` finds the best of a single long list without reading all of it.
        if found.terms == 1, union.documentFrequency > Self.fewPostings { return false }
        if found.terms > 0 {
            try union.rank(&best, view) { (row) throws(StorageError) in try filter.accepts(row) }
        }
        return true
    }

    /// Calls `body` with the row of each matching document. Returns false, and doesn't call it, if the query isn't
    /// answered here.
    func forEach(
        _ query: TextQuery, _ filter: TextFilter, _ body: (UInt64) throws(StorageError) -> Void
    ) throws(StorageError) -> Bool {
        guard query.isConjunctive else { return false }
        let compiled = try conjunction(query, filter, limit: .max)
        guard compiled.isDirect else { return false }
        try compiled.conjunction?.forEach { (docno) throws(StorageError) in
            let row = try view.row(of: docno)
            if try compiled.rest.accepts(row) { try body(row) }
        }
        return true
    }

    /// Returns the number of matching documents, or nil if the query isn't answered here.
    func count(_ query: TextQuery, _ filter: TextFilter) throws(StorageError) -> UInt64? {
        guard query.isConjunctive else { return nil }
        let compiled = try conjunction(query, filter, limit: .max)
        guard compiled.isDirect, case .all = compiled.rest else { return nil }
        var count: UInt64 = 0
        try compiled.conjunction?.forEach { (_) throws(StorageError) in count += 1 }
        return count
    }

    /// - Returns: whether the query is answered here; its conjunction, or nil if nothing matches; the part of the
    ///   filter that the conjunction doesn't cover.
    private func conjunction(
        _ query: TextQuery, _ filter: TextFilter, limit: Int
    ) throws(StorageError) -> (isDirect: Bool, conjunction: Conjunction?, rest: TextFilter) {
        var compiler = ConjunctionCompiler(view, analyzer)
        switch try compiler.add(query) {
        case .otherForms: return (false, nil, filter)
        case .parts where compiler.parts.count > Conjunction.partLimit: return (false, nil, filter)
        case .nothing: return (true, nil, filter)
        case .parts: break
        }
        let least = compiler.sources.reduce(UInt32.max) { min($0, $1.documentFrequency) }
        // `Retrieval` finds the best of a single term without reading all of its postings.
        guard compiler.sources.count > 1 || compiler.hasPlaces || least <= Self.fewPostings else {
            return (false, nil, filter)
        }
        guard case .selection(let selection, let test) = filter,
            selection.rows.count <= Int(least)
                || selection.isWorthwhile(Int(least) / Self.matchingShare, limit: limit, view)
        else { return (true, Conjunction(view, compiler.sources, compiler.parts), filter) }
        let rest = test.map { TextFilter.matching($0) } ?? .all
        if let set = try selection.set(view) {
            return (true, Conjunction(view, compiler.sources, compiler.parts, among: set), rest)
        }
        // A further list, which must contain the documents but doesn't score.
        let documents = try selection.documents(view)
        guard documents.count > 0 else { return (true, nil, filter) }
        let sources = compiler.sources + [ArrayPostings(documents)]
        return (true, Conjunction(view, sources, compiler.parts), rest)
    }
}

extension TextQuery {
    fileprivate var isConjunctive: Bool {
        switch self {
        case .all, .phrase, .near: true
        default: false
        }
    }
}

/// Finds the terms of a query that consists of required words, phrases and words near each other.
private struct ConjunctionCompiler {
    enum Outcome {
        case parts
        /// No document matches.
        case nothing
        case otherForms
    }

    private let view: IndexView
    private let analyzer: Analyzer
    private(set) var sources: [PostingSource] = []
    private(set) var parts: [ConjunctionPart] = []
    /// Whether the positions of terms matter.
    private(set) var hasPlaces = false
    /// The indexes of the terms' sources.
    private var places: [[UInt8]: Int] = [:]
    private static let depthLimit = 8

    init(_ view: IndexView, _ analyzer: Analyzer) { (self.view, self.analyzer) = (view, analyzer) }

    mutating func add(_ query: TextQuery, depth: Int = 0) throws(StorageError) -> Outcome {
        switch query {
        case .all(let parts):
            guard depth < Self.depthLimit else { return .otherForms }
            for part in parts {
                let outcome = try add(part, depth: depth + 1)
                guard case .parts = outcome else { return outcome }
            }
            return parts.isEmpty ? .nothing : .parts
        case .words(let text): return try addWord(analyzer.queryTokens(of: text))
        case .phrase(let text, let slop):
            let tokens = analyzer.phraseParts(of: text)
            guard slop >= 0, tokens.last.map({ !$0.isOpen }) ?? true else { return .otherForms }
            return try addPhrase(tokens.map(\.term), slop)
        case .near(let parts, let distance): return try addNear(parts, within: distance)
        default: return .otherForms
        }
    }

    /// Adds a single word, which may be repeated.
    private mutating func addWord(_ tokens: [QueryToken]) throws(StorageError) -> Outcome {
        guard let word = tokens.first else { return .nothing }
        guard !word.isOpen, tokens.allSatisfy({ $0 == word }) else { return .otherForms }
        guard let source = try source(word.term) else { return .nothing }
        guard sources.count <= Conjunction.sourceLimit else { return .otherForms }
        let weight = weight(source)
        for _ in tokens { parts.append(ConjunctionPart(weight: weight, slots: [source])) }
        return .parts
    }

    private mutating func addPhrase(_ tokens: [[UInt8]], _ slop: Int) throws(StorageError) -> Outcome {
        guard !tokens.isEmpty else { return .nothing }
        var (slots, weight): ([Int], Double) = ([], 0)
        var known: Set<Int> = []
        for token in tokens {
            guard let source = try source(token) else { return .nothing }
            guard sources.count <= Conjunction.sourceLimit else { return .otherForms }
            if known.insert(source).inserted { weight += self.weight(source) }
            slots.append(source)
        }
        if slots.count > 1 { hasPlaces = true }
        parts.append(ConjunctionPart(weight: weight, slots: slots, order: .phrase(slop: slop)))
        return .parts
    }

    /// Adds different words near each other, each given once.
    private mutating func addNear(_ queries: [TextQuery], within distance: Int) throws(StorageError) -> Outcome {
        var words: [[UInt8]] = []
        for query in queries {
            guard case .words(let text) = query else { return .otherForms }
            let tokens = analyzer.queryTokens(of: text)
            guard tokens.count == 1, !tokens[0].isOpen, !words.contains(tokens[0].term) else { return .otherForms }
            words.append(tokens[0].term)
        }
        guard words.count > 1 else { return .otherForms }
        var part = ConjunctionPart(weight: 0, slots: [], order: .near(within: distance))
        for word in words {
            guard let source = try source(word) else { return .nothing }
            part.weight += weight(source)
            part.slots.append(source)
        }
        hasPlaces = true
        parts.append(part)
        return .parts
    }

    /// Returns the index of a term's source, or nil if no document holds the term.
    private mutating func source(_ term: [UInt8]) throws(StorageError) -> Int? {
        if let known = places[term] { return known }
        guard let found = try view.postings(of: term) else { return nil }
        places[term] = sources.count
        sources.append(found)
        return sources.count - 1
    }

    private func weight(_ source: Int) -> Double {
        BM25.weight(
            documentCount: view.documentCount, documentFrequency: UInt64(sources[source].documentFrequency))
    }
}
