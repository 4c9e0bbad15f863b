// SPDX-License-Identifier: Apache-2.0
// The forms in which the rows of a statement are printed, and what null looks like in them.

import Hornbeam

enum ResultMode: String, CaseIterable, Sendable {
    /// Aligned columns with lines around them.
    case table
    /// Aligned columns alone.
    case column
    /// One value per line.
    case line
    /// One array of objects.
    case json
    /// One object per line.
    case jsonl
    case csv, tsv, markdown

    static let names = allCases.map(\.rawValue).joined(separator: ", ")

    /// Returns the mode called `name`. Throws an error with a similar name or all names if there is none.
    static func named(_ name: String) throws(CommandError) -> ResultMode {
        if let mode = ResultMode(rawValue: name) { return mode }
        let hint = NearestName.hint(name, among: allCases.map(\.rawValue)) ?? "there are \(names)"
        throw CommandError("there is no mode “\(name)”; \(hint)")
    }
}

/// The form of a result.
struct ResultForm {
    var mode = ResultMode.column
    /// The text for null in the forms for people. The other forms have their own: an empty field or JSON's null.
    var null = "NULL"
}

/// Prints the rows of one result. Belongs to one thread.
protocol ResultWriter {
    mutating func add(_ row: ResultRow) throws
    /// Prints the rows that are held back, and the end of the result.
    mutating func finish() throws
}

extension ResultForm {
    /// A writer of rows with these columns.
    func writer(_ names: [String], _ console: Console) throws -> any ResultWriter {
        switch mode {
        case .table: ResultTable(names, self, isFramed: true, console)
        case .column: ResultTable(names, self, isFramed: false, console)
        case .line: ValueLines(names, self, console)
        case .json: JSONArray(console)
        case .jsonl: JSONLines(console)
        case .csv: try SeparatedValues(names, .comma, console)
        case .tsv: try SeparatedValues(names, .tab, console)
        case .markdown: try MarkdownTable(names, self, console)
        }
    }

    /// Returns a value's text in the forms for people. The text of a missing value (nil) is empty.
    func cell(_ value: Value?) -> String {
        guard let value else { return "" }
        return value == .null ? null : CellText.show(value)
    }
}
