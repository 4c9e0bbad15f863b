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
        ("arrays and optionals within one another, in the type of a property", [ColumnType.maximumDepth]),
        ("an entity's row", [Int(UInt32.max)]),
        ("an id", [EntityStore.maximumIDSize, EntityStore.maximumIDSize - 1]),
        ("relations of all types together", [Int(LinkList.mostRelations)]),
        ("entities within the relations of one another, in one value", [Nesting.most]),
        ("saves and deletions within one another, asked for by hooks and resolvers", [TypedTransaction.maximumDepth]),
        ("JSON of a property: arrays and objects within one another", [CodedJSON.maximumDepth]),
        ("JSON of an emitted value of a map index: arrays and objects within one another", [CodedJSON.maximumDepth]),
        ("JSON that is imported: arrays and objects within one another, in a whole line", [JSONParser.maximumDepth]),
        ("the name of a consumer of changes", [ChangeLog.maximumName]),
        ("the note of a consumer of changes", [ChangeLog.maximumNote]),
        ("a key of a declared, value, array or secondary index", [IndexKeyBytes.cutSize - 1]),
        ("a key of a hand-kept index", [KeptTrees.maximumKey]),
        ("an emitted key of a map index", [MapEntryKey.limit]),
        ("arrays and dictionaries within one another, in a key of a map index", [DynamicValue.depthLimit]),
        ("the room of a reducer", [MapFolder<CountReducer<Int>>.mostRoom]),
        ("a group of a view", [ViewKey.groupLimit]),
        ("the order of a view", [ViewKey.orderLimit]),
        ("properties of an index made at run time", [ValueIndexDefinition.mostComponents]),
        ("columns and orders of a secondary index", [IndexTrees.mostOthers]),
    ]

    private static let queries: [(what: String, figures: [Int])] = [
        ("conditions within one another; one on related entities counts as 5 levels", [Hornbeam.Filter.maximumDepth]),
        (
            "levels of an OR, or of a condition on related entities, that indexes are used for",
            [Hornbeam.Filter.plannedDepth]
        ),
        ("queries within one another, nested or by steps", [ListParts.maximumDepth]),
        ("the text of a statement", [StatementParser.maxLength]),
        ("parentheses, calls and steps of a path, in a statement", [StatementParser.maxDepth]),
        ("levels of a whole expression", [StatementParser.maxHeight]),
        ("stack of the thread that must be left for a level of an expression", [StackRoom.least]),
        ("columns, groups, orders and aggregates of a statement", [SelectPlan.maxColumns]),
        ("what a statement keeps to sort, group or tell rows apart", [KeptBytes.standardLimit]),
        ("what is computed of one row", [Hornbeam.StatementValue.maxSize]),
        ("steps of `LIKE`, `ANY` and `EVERY` for one row", [Hornbeam.Frame.maxSteps]),
        ("a regular expression", [PatternBounds.maxLength]),
        ("classes of characters within one another, in a regular expression", [PatternBounds.maxClasses]),
        ("a text", [TextIndexWriter.textSizeLimit]),
        ("a search that is built, nested", [TextQuery.maximumDepth]),
        ("a search that is written, nested", [QueryParser.maximumDepth]),
        ("edits of a word that is spelled nearly so", [TextQuery.maximumDistance]),
        ("letters of a word that is spelled nearly so", [TermExpansion.scalarLimit]),
        ("a text that a snippet is taken from", [QueryMatcher.passageLimit]),
        ("boosts, multiplied", [Int(TextQuery.maximumBoost)]),
        ("the name of a program's own tokenizer", [CustomTokenizer.maximumName]),
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

    /// Limits whose figures aren't constants visible to a test.
    private static let others: Set<String> = [
        "a decimal", "the name of a migration step", "ids in a hand-kept list", "the id and the link of an emitted row",
        "the name of an index made at run time", "a text under a Unicode collation",
        "a line that `hornbeam import` reads", "the message of an error", "words of a `SNIPPET`",
        "a word that is reduced to its stem",
        "text that is searched for a token which a program's own tokenizer gives without its place",
        "beginning of a word that an index is asked for, in a part of a text",
        "phrases, words of a phrase and letters that an index is asked for, in a part of a text",
        "operators in a row", "sources and relations of a statement",
        "replacements of one `regexp_replace`", "documents that an index ever gets", "trees ever made",
        "writers of a file", "files that are open at once", "the name of an entity type, with those of its indexes",
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
