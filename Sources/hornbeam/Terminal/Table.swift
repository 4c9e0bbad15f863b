// SPDX-License-Identifier: Apache-2.0
// Tables of text. Widths come from the first rows, so that a long result streams in bounded memory. On a terminal the
// text columns shrink until a line fits. In a pipe nothing is cut: a long cell extends beyond its column.

struct TableColumn: Sendable {
    enum Alignment: Sendable { case left, right }

    var title: String
    var alignment: Alignment = .left
}

/// Collects rows, then streams them. Call `finish` at the end.
struct Table: ~Copyable {
    /// Number of rows that decide the widths; fewer if their texts are longer than `sampleSize`.
    static let sampleRows = 1_000
    /// Maximum width of a column where no line is cut. One long text must not fill all lines with spaces.
    static let maximumWidth = 200
    /// Maximum size of the texts that are held back, in bytes.
    private static let sampleSize = 1 << 22

    private let columns: [TableColumn]
    private let lineWidth: Int?
    private let style: Style
    private let isFramed: Bool
    private var sample: [[String]] = []
    private var size = 0
    private var widths: [Int]?
    private let emit: (String) throws -> Void

    /// - Parameters:
    ///   - lineWidth: nil if no line is cut.
    ///   - isFramed: whether lines are drawn around the table and between its columns.
    init(
        _ columns: [TableColumn], lineWidth: Int?, style: Style = .plain, isFramed: Bool = false,
        emit: @escaping (String) throws -> Void
    ) {
        self.isFramed = isFramed
        self.columns = columns
        self.lineWidth = lineWidth
        self.style = style
        self.emit = emit
    }

    /// Adds a row with one cell for each column.
    mutating func add(_ cells: [String]) throws {
        let row = cells.map(DisplayWidth.printable)
        if let widths {
            try emit(line(row, widths))
        } else {
            sample.append(row)
            size += row.reduce(0) { $0 + $1.utf8.count }
            if sample.count == Self.sampleRows || size > Self.sampleSize { try flushSample() }
        }
    }

    /// Prints the rows that are still held back; an empty table prints its titles.
    mutating func finish() throws {
        if widths == nil { try flushSample() }
        if isFramed, let widths { try emit(rule(widths, "└", "┴", "┘")) }
    }

    private mutating func flushSample() throws {
        let titles = columns.map { DisplayWidth.printable($0.title) }
        var natural = titles.map { DisplayWidth.of($0) }
        for row in sample {
            for (index, cell) in row.enumerated() { natural[index] = max(natural[index], DisplayWidth.of(cell)) }
        }
        let widths = fitted(natural)
        self.widths = widths
        if isFramed {
            try emit(rule(widths, "┌", "┬", "┐"))
            try emit(line(titles, widths))
            try emit(rule(widths, "├", "┼", "┤"))
        } else {
            try emit(style.bold(line(titles, widths)))
            try emit(line(widths.map { String(repeating: "─", count: $0) }, widths))
        }
        for row in sample { try emit(line(row, widths)) }
        sample = []
    }

    /// The widths after the widest text columns have shrunk until a line fits.
    private func fitted(_ natural: [Int]) -> [Int] {
        guard let lineWidth else { return natural.map { min($0, Self.maximumWidth) } }
        var widths = natural
        let between = isFramed ? 3 * natural.count + 1 : 2 * max(0, natural.count - 1)
        var excess = natural.reduce(0, +) + between - lineWidth
        while excess > 0 {
            let shrinkable = widths.indices.filter { columns[$0].alignment == .left && widths[$0] > 4 }
            guard let widest = shrinkable.max(by: { widths[$0] < widths[$1] }) else { break }
            widths[widest] -= 1
            excess -= 1
        }
        return widths
    }

    private func rule(_ widths: [Int], _ left: String, _ middle: String, _ right: String) -> String {
        let text = left + widths.map { String(repeating: "─", count: $0 + 2) }.joined(separator: middle) + right
        return lineWidth.map { DisplayWidth.truncate(text, to: $0) } ?? text
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var text = isFramed ? "│ " : ""
        for (index, cell) in cells.enumerated() {
            if index > 0 { text += isFramed ? " │ " : "  " }
            let shown = lineWidth == nil ? cell : DisplayWidth.truncate(cell, to: widths[index])
            let padding = String(repeating: " ", count: max(0, widths[index] - DisplayWidth.of(shown)))
            switch columns[index].alignment {
            case .right: text += padding + shown
            case .left: text += shown + padding
            }
        }
        if isFramed { text += " │" }
        while text.last == " " { text.removeLast() }
        return lineWidth.map { DisplayWidth.truncate(text, to: $0) } ?? text
    }
}
