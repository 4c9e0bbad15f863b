// SPDX-License-Identifier: Apache-2.0
// Conditions on one column. Most types compare in the server as in the store: numbers with NaN behind all others and
// −0.0 equal to 0.0, texts by the bytes of their composed form, UUIDs and data by bytes. What differs:
//
//     dates       columns round to microseconds, which keeps their order. For values that are rounded to the same
//                 microsecond, `<` and `=` are undecided.
//     parts       in ASCII texts, parts are found by their bytes. In other texts Swift finds whole characters, and
//     of texts    folds case by Unicode: these are undecided, unless even the bytes aren't there.

import Hornbeam
import HornbeamKeys

struct ColumnCondition {
    private let column: ModelTable.Column
    private let sql: SQLText
    private let isID: Bool
    /// Whether all columns of the row are exact.
    private let isExact: SQLText
    private let entity: String

    init(_ number: Int, _ named: NamedTable) throws(HornbeamError) {
        let (column, sql) = try named.column(number)
        self.init(
            column, sql, isID: number == 0, isExact: named.isExact, of: named.table.description.name)
    }

    init(_ column: ModelTable.Column, _ sql: SQLText, isID: Bool, isExact: SQLText, of entity: String) {
        (self.column, self.sql, self.isID, self.isExact, self.entity) = (column, sql, isID, isExact, entity)
    }

    private var form: ColumnForm { column.form }

    private func finish(_ condition: SQLCondition, _ negated: Bool) -> SQLCondition {
        column.isNullable ? condition.negated(negated, ifNotNull: sql) : condition.negated(negated)
    }

    /// Returns a condition that is decided only for rows with exact columns, or for no rows.
    private func undecided(_ condition: SQLText, unlessExact isDecided: Bool) -> SQLCondition {
        SQLCondition(may: condition, must: isDecided ? "(\(condition) AND \(isExact))" : "FALSE")
    }

    private func invalid(_ value: Value, _ advice: String) -> HornbeamError {
        HornbeamError(
            .invalid,
            "\(entity).\(column.property), \(column.type.withArticle), can't be compared with "
                + "\(value.text.shown()): \(advice)")
    }

    private func literal(_ value: Value) throws(HornbeamError) -> Value {
        if value == .null { return .null }
        guard let literal = value.converted(to: column.type) else { throw invalid(value, "give a value of its type") }
        if case .json = column.type { throw incomparable }
        if case .array = column.type, !form.isList { throw incomparable }
        return literal
    }

    private var incomparable: HornbeamError {
        HornbeamError(
            .unsupported,
            "a condition on \(entity).\(column.property) can't be tested by the mirror, which holds it as JSON: ask "
                + "the store")
    }

    // MARK: Comparisons

    func isNull(_ negated: Bool) -> SQLCondition {
        guard column.isNullable else { return .constant(negated) }
        return SQLCondition(negated ? "\(sql) IS NOT NULL" : "\(sql) IS NULL")
    }

    func compare(_ comparison: Comparison, _ value: Value, _ negated: Bool) throws(HornbeamError) -> SQLCondition {
        let literal = try literal(value)
        if comparison != .equal, comparison != .notEqual, !column.type.isOrdered {
            throw invalid(value, "its type has no order, so test it for equality")
        }
        if literal == .null {
            switch comparison {
            case .equal: return isNull(negated)
            case .notEqual: return isNull(!negated)
            default: return .constant(negated)
            }
        }
        switch comparison {
        case .equal: return finish(equality(literal), negated)
        case .notEqual: return finish(equality(literal), !negated)
        default: return finish(order(comparison, literal), negated)
        }
    }

    private func equality(_ value: Value) -> SQLCondition {
        if hasZero(value) { return .constant(false) }
        let condition: SQLText = "\(sql) = \(form.parameter(value))"
        switch Doubt(value, as: column.type, isID: isID) {
        case .none: return SQLCondition(condition)
        case .ofRows: return undecided(condition, unlessExact: true)
        case .ofAll: return undecided(condition, unlessExact: false)
        }
    }

    /// Whether the value is an id with U+0000, which no entity of the mirror has.
    private func hasZero(_ value: Value) -> Bool {
        guard isID, case .string(let text) = value else { return false }
        return text.utf8.contains(0)
    }

    private func order(_ comparison: Comparison, _ value: Value) -> SQLCondition {
        switch value {
        case .date where !isID:
            let isLess = comparison == .less || comparison == .lessOrEqual
            let parameter = form.parameter(value)
            let (wide, narrow): (SQLText, SQLText) = isLess ? ("<=", "<") : (">=", ">")
            return SQLCondition(may: "\(sql) \(wide) \(parameter)", must: "\(sql) \(narrow) \(parameter)")
        case .string(let text) where hasZero(value):
            // Ids that are less than this text are no greater than the part before its U+0000.
            let isLess = comparison == .less || comparison == .lessOrEqual
            let part = Value.string(String(text.composed.prefix { $0 != "\0" }))
            let comparison: Comparison = isLess ? .lessOrEqual : .greater
            return SQLCondition("\(sql) \(comparison.sql) \(form.parameter(part))")
        default: return SQLCondition("\(sql) \(comparison.sql) \(form.parameter(value))")
        }
    }

    // MARK: Lists

    func within(_ values: [Value], _ negated: Bool) throws(HornbeamError) -> SQLCondition {
        var (clear, dated): ([Value], [Value]) = ([], [])
        var parts: [SQLCondition] = []
        var hasNull = false
        for value in values {
            let literal = try literal(value)
            if literal == .null {
                hasNull = true
                continue
            }
            switch Doubt(literal, as: column.type, isID: isID) {
            case .none where !form.isList && !hasZero(literal): clear.append(literal)
            case .ofRows where !form.isList: dated.append(literal)
            default: parts.append(equality(literal))
            }
        }
        if !clear.isEmpty { parts.append(SQLCondition("\(sql) = ANY (\(form.parameter(clear)))")) }
        if !dated.isEmpty {
            parts.append(undecided("\(sql) = ANY (\(form.parameter(dated)))", unlessExact: true))
        }
        guard hasNull, column.isNullable else { return finish(.any(parts), negated) }
        // With `IS NULL` among the alternatives the condition is never NULL.
        return SQLCondition.any([SQLCondition("\(sql) IS NULL")] + parts).negated(negated)
    }

    func elements(_ values: [Value], wantsAll: Bool, _ negated: Bool) throws(HornbeamError) -> SQLCondition {
        guard case .array(let element) = column.type else {
            throw HornbeamError(
                .invalid, "\(entity).\(column.property) is no array: compare the property itself")
        }
        guard form.isList else { throw incomparable }
        var literals: [Value] = []
        var hasNull = false
        var isDoubted = false
        var isDecidable = true
        for value in values {
            guard let literal = value.converted(to: element) else {
                throw invalid(value, "its elements are of type \(element)")
            }
            guard literal != .null else {
                hasNull = true
                continue
            }
            let doubt = Doubt(literal, as: element, isID: false)
            isDoubted = isDoubted || doubt != .none
            isDecidable = isDecidable && doubt != .ofAll
            literals.append(literal)
        }
        // Every array has all elements of an empty list, and no array has any of them.
        if literals.isEmpty, !hasNull { return .constant(wantsAll != negated) }
        let elements = ColumnForm(element)
        var parts: [SQLCondition] = []
        if !literals.isEmpty {
            let list = elements.parameter(literals)
            let condition: SQLText = wantsAll ? "\(sql) @> \(list)" : "\(sql) && \(list)"
            parts.append(
                isDoubted ? undecided(condition, unlessExact: isDecidable) : SQLCondition(condition))
        }
        if hasNull {
            let null: SQLText = "NULL::\(SQLText.trusted(elements.plainSQL))"
            parts.append(SQLCondition("array_position(\(sql), \(null)) IS NOT NULL"))
        }
        return finish(wantsAll ? .all(parts) : .any(parts), negated)
    }

    // MARK: Parts of texts

    func string(_ test: StringTest, _ negated: Bool) throws(HornbeamError) -> SQLCondition {
        let folded = test.folded(test.text).composed
        if folded.isEmpty { return isNull(!negated) }
        guard !hasZero(.string(folded)), let needle = form.text(.string(folded)) else {
            return finish(.constant(false), negated)
        }
        let isPlain = test.letterCase == .exact && test.isDiacriticSensitive
        let isASCII = needle.utf8.allSatisfy { $0 < 0x80 }
        // A carriage return and the line feed behind it are one character, and U+0001 has another form in a column.
        let isClear = isASCII && needle.utf8.allSatisfy { $0 >= 0x20 }
        let text: SQLText = test.letterCase == .exact ? sql : "lower(\(sql))"
        let found: SQLText = isASCII || isPlain ? holds(test.kind, text, needle) : "FALSE"
        let isOfASCII: SQLText = "octet_length(\(sql)) = char_length(\(sql))"
        return finish(
            SQLCondition(
                may: isPlain ? found : "(\(found) OR NOT \(isOfASCII))",
                must: isClear ? "(\(found) AND \(isOfASCII))" : "FALSE"), negated)
    }

    private func holds(_ kind: StringTest.Kind, _ text: SQLText, _ needle: String) -> SQLText {
        switch kind {
        case .contains: return "strpos(\(text), \(needle, as: "text")) > 0"
        case .hasSuffix: return "right(\(text), \(needle.unicodeScalars.count)) = \(needle, as: "text")"
        case .hasPrefix:
            var pattern = ""
            for scalar in needle.unicodeScalars {
                if scalar == "\\" || scalar == "%" || scalar == "_" { pattern.unicodeScalars.append("\\") }
                pattern.unicodeScalars.append(scalar)
            }
            return "\(text) LIKE \(pattern + "%", as: "text")"
        }
    }
}

/// The rows for which equality with a value is undecided, among rows whose columns equal the value's text.
private enum Doubt {
    case none
    /// Rows with exact values beside their columns.
    case ofRows
    /// All rows, because no column can hold the value.
    case ofAll

    init(_ value: Value, as type: ColumnType, isID: Bool) {
        switch value {
        case .date: self = isID ? .none : ColumnForm(type).isExact(value) ? .ofRows : .ofAll
        case .array(let values):
            guard case .array(let element) = type else {
                self = .none
                return
            }
            var doubt = Doubt.none
            for value in values where value != .null {
                switch (Doubt(value, as: element.unwrapped, isID: false), doubt) {
                case (.ofAll, _): doubt = .ofAll
                case (.ofRows, .none): doubt = .ofRows
                default: break
                }
            }
            self = doubt
        default: self = .none
        }
    }
}
