// SPDX-License-Identifier: Apache-2.0
// Rows as a table. A column is right-aligned if it has only numbers in the first rows.

import Hornbeam

/// Belongs to one thread.
final class ResultTable: ResultWriter {
    private let names: [String]
    private let form: ResultForm
    private let isFramed: Bool
    private let console: Console
    private var first: [[Value?]] = []
    private var table: Table?

    init(_ names: [String], _ form: ResultForm, isFramed: Bool, _ console: Console) {
        self.names = names
        self.form = form
        self.isFramed = isFramed
        self.console = console
    }

    func add(_ row: ResultRow) throws {
        if table != nil { return try table?.add(cells(row.values)) ?? () }
        first.append(row.values)
        if first.count == Self.sampleRows { try begin() }
    }

    func finish() throws {
        if table == nil { try begin() }
        try table?.finish()
    }

    /// Number of rows that decide the alignment. `Table` samples more rows for the widths.
    private static let sampleRows = 100

    private func begin() throws {
        let columns = names.enumerated().map { place, name in
            let values = first.compactMap { $0[place] }.filter { $0 != .null }
            let isNumber = !values.isEmpty && values.allSatisfy(\.isNumber)
            return TableColumn(title: name, alignment: isNumber ? .right : .left)
        }
        table = console.table(columns, isFramed: isFramed)
        for values in first { try table?.add(cells(values)) }
        first = []
    }

    private func cells(_ values: [Value?]) -> [String] { values.map(form.cell) }
}

extension Value {
    fileprivate var isNumber: Bool {
        switch self {
        case .int, .uint, .double, .decimal: true
        default: false
        }
    }
}
