// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text as a query. It is read, or refused with a position; a query that is printed and read again is
// equal; and its matches in a text are ranges of that text.

import HornbeamText

/// The first byte chooses how the rest is read, and the analyzer.
public func fuzzTextQueries(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    let text = String(decoding: input.dropFirst(), as: UTF8.self)
    let fields = ["title", "text"]
    let syntax = QuerySyntax(fields: fields, matchesAll: choice & 1 == 1, isTyping: choice & 2 == 2)
    let analyzers: [Analyzer] = [
        .words, Analyzer(.unicode(keepsAccents: false, stemming: .english)), Analyzer(.trigrams(keepsAccents: true)),
    ]
    let analyzer = analyzers[Int(choice >> 2) % analyzers.count]
    check(syntax.parse(lenient: text), fields, text, analyzer)
    do throws(QuerySyntaxError) {
        check(try syntax.parse(text), fields, text, analyzer)
    } catch {
        precondition(error.offset >= 0 && error.offset <= text.count && error.text == text, "an error without a place")
        precondition(!error.problem.isEmpty && !error.advice.isEmpty && error.description.hasSuffix("^"))
    }
}

private func check(_ query: TextQuery, _ fields: [String], _ text: String, _ analyzer: Analyzer) {
    let normal = query.normalized
    precondition(normal.problem(fieldCount: fields.count) == nil, "\(query) makes no sense")
    let written = normal.text(fields: fields)
    let again = try? QuerySyntax(fields: fields).parse(written)
    precondition(again == normal, "\(written) isn't read as \(normal)")
    var last = text.startIndex
    for range in QueryMatcher(query, analyzer).highlights(in: TextSection(field: 0, text: text)) {
        precondition(range.lowerBound >= last && !range.isEmpty, "highlights overlap")
        last = range.upperBound
    }
    precondition(last <= text.endIndex)
}
