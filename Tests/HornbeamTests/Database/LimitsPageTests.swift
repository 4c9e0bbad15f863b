// SPDX-License-Identifier: Apache-2.0
// Compares Docs/limits.md with the code: each figure is the constant's, and each file that checks a limit exists.

import Foundation
import HornbeamKeys
import Testing

@testable import Hornbeam
@testable import HornbeamEngine
@testable import HornbeamMapReduce
@testable import HornbeamPages
@testable import HornbeamStatements
@testable import HornbeamText
@testable import HornbeamTree

@Suite("Docs/limits.md")
struct LimitsPageTests {
    private struct Row {
        var what: String
        var limit: String
        var file: String
    }

    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func rows() throws -> [Row] {
        let page = try String(contentsOf: root.appendingPathComponent("Docs/limits.md"), encoding: .utf8)
        return page.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard line.hasPrefix("| "), cells.count == 4, cells[0] != "what" else { return nil }
            return Row(what: cells[0], limit: cells[1], file: cells[3].replacing("`", with: ""))
        }
    }

    private static let entities: [(what: String, figures: [Int])] = [
        ("properties of a type", [RowLayout.maximumColumns]),
        ("nested arrays and optionals in the type of a property", [ColumnType.maximumDepth]),
        ("an entity's row", [Int(UInt32.max)]),
        ("an id", [EntityStore.maximumIDSize, EntityStore.maximumIDSize - 1]),
        ("relations of all types together", [Int(LinkList.mostRelations)]),
        ("entities nested in relations, in one value", [Nesting.most]),
        ("nested saves and deletions by hooks and resolvers", [TypedTransaction.maximumDepth]),
        ("nesting in the JSON of a property", [CodedJSON.maximumDepth]),
        ("nesting in the JSON of an emitted value of a map index", [CodedJSON.maximumDepth]),
        ("nesting in a line of imported JSON", [JSONParser.maximumDepth]),
        ("the name of a consumer of changes", [ChangeLog.maximumName]),
        ("the note of a consumer of changes", [ChangeLog.maximumNote]),
        ("a key of a declared, value, array or secondary index", [IndexKeyBytes.cutSize - 1]),
        ("a key of a hand-kept index", [KeptTrees.maximumKey]),
        ("an emitted key of a map index", [MapEntryKey.limit]),
        ("nested arrays and dictionaries in a key of a map index", [DynamicValue.depthLimit]),
        ("the room of a reducer", [MapFolder<CountReducer<Int>>.mostRoom]),
        ("a group of a view", [ViewKey.groupLimit]),
        ("the order of a view", [ViewKey.orderLimit]),
        ("properties of an index made at run time", [ValueIndexDefinition.mostComponents]),
        ("columns and orders of a secondary index", [IndexTrees.mostOthers]),
    ]

    private static let queries: [(what: String, figures: [Int])] = [
        ("nested conditions; one on related entities counts as 5 levels", [Hornbeam.Filter.maximumDepth]),
        (
            "levels of an OR, or of a condition on related entities, that use indexes",
            [Hornbeam.Filter.plannedDepth]
        ),
        ("nested queries, and steps of a query", [ListParts.maximumDepth]),
        ("the text of a statement", [StatementParser.maxLength]),
        ("parentheses, calls and steps of a path, in a statement", [StatementParser.maxDepth]),
        ("levels of a whole expression", [StatementParser.maxHeight]),
        ("free stack of the thread for a level of an expression", [StackRoom.least]),
        ("columns, groups, orders and aggregates of a statement", [SelectPlan.maxColumns]),
        ("memory of a statement for sorts, groups and `DISTINCT`", [KeptBytes.standardLimit]),
        ("a value computed for one row", [Hornbeam.StatementValue.maxSize]),
        ("steps of `LIKE`, `ANY` and `EVERY` for one row", [Hornbeam.Frame.maxSteps]),
        ("a regular expression", [PatternBounds.maxLength]),
        ("nested classes of characters in a regular expression", [PatternBounds.maxClasses]),
        ("a text", [TextIndexWriter.textSizeLimit]),
        ("levels of a search that is built", [TextQuery.maximumDepth]),
        ("levels of a search that is written", [QueryParser.maximumDepth]),
        ("edits of a fuzzy word", [TextQuery.maximumDistance]),
        ("letters of a fuzzy word", [TermExpansion.scalarLimit]),
        ("text searched for a snippet", [QueryMatcher.passageLimit]),
        ("boosts, multiplied", [Int(TextQuery.maximumBoost)]),
        ("the name of a program's tokenizer", [CustomTokenizer.maximumName]),
    ]

    private static let trees: [(what: String, figures: [Int])] = [
        ("the size of a page", [FileFormat.minimumPageSize, FileFormat.maximumPageSize]),
        (
            "a key of a tree",
            [NodeLayout.maximumKey(pageSize: 8192), NodeLayout.maximumKey(pageSize: FileFormat.minimumPageSize)]
        ),
        ("a value of a tree", [NodeLayout.maximumValue]),
        (
            "the name of a tree",
            [
                CatalogueRecord.maximumName(pageSize: 8192),
                CatalogueRecord.maximumName(pageSize: FileFormat.minimumPageSize),
            ]
        ),
        ("levels of a tree", [NodeLayout.maximumLevels]),
        ("a reduced value", [Reduction.limit]),
        ("the name of a reduction", [StoredOptions.maximumName]),
        ("the file", [FileFormat.maximumFileBytes]),
        ("the journal", [Int(FileFormat.maximumJournalSectors) * FileFormat.sectorSize]),
        ("transactions of a file", [Int(FileFormat.maximumNumber - 1)]),
    ]

    /// Limits whose figures a test can't read from constants.
    private static let others: Set<String> = [
        "a decimal", "the name of a migration step", "ids in a hand-kept list", "the id and the link of an emitted row",
        "the name of an index made at run time", "a text under a Unicode collation",
        "a line that `hornbeam import` reads", "the message of an error", "words of a `SNIPPET`",
        "a word that is stemmed",
        "text searched for a token that a program's tokenizer gives without its position",
        "beginning of a word, for an index to find a part of a text",
        "phrases, words of a phrase and letters, for an index to find a part of a text",
        "operators in a row", "sources and relations of a statement",
        "replacements of one `regexp_replace`", "documents in the life of an index",
        "trees created in the life of a file", "writers of a file", "open stores with a guard for read errors",
        "the name of an entity type, with those of its indexes",
    ]

    @Test("has the figures of the code, and no unknown row")
    func figures() throws {
        let rows = try Self.rows()
        #expect(Set(rows.map(\.what)).count == rows.count)
        let known = Self.entities + Self.queries + Self.trees
        #expect(Set(rows.map(\.what)) == Set(known.map(\.what)).union(Self.others))
        for (what, figures) in known {
            let limit = try #require(rows.first { $0.what == what }, "\(what)").limit
            let written = limit.matches(of: /[0-9][0-9,]*/).map { String($0.output) }
            for figure in figures { #expect(written.contains(Spelling.grouped(figure)), "\(what): \(figure)") }
        }
    }

    @Test("names the files that check")
    func files() throws {
        for row in try Self.rows() {
            let path = Self.root.appendingPathComponent("Sources/\(row.file)").path
            #expect(FileManager.default.fileExists(atPath: path), "\(row.what): \(row.file)")
        }
    }
}
