// SPDX-License-Identifier: Apache-2.0
// The condition of a partial index as text: a WHERE clause that a file can store.

extension StoredCondition {
    /// Reads a condition in the syntax of WHERE. Throws `.invalid` unless it is a condition on stored properties that a
    /// file can keep.
    package init(statement text: String, _ type: EntityDescription) throws(HornbeamError) {
        let filter: PushedFilter?
        do {
            var binder = try Binder(text, to: type)
            let tree = try QueryLanguage.expression(text)
            if tree.isOfTime {
                throw HornbeamError(.invalid, "the condition “\(text)” of an index is not the same at all times")
            }
            let bound = try binder.bind(tree)
            filter = FilterPush(binder: binder, source: binder.sources[0], frame: Frame(slots: binder.slotCount))
                .filter(bound)
        } catch let error as HornbeamError {
            throw error
        } catch {
            throw HornbeamError(.invalid, "the condition “\(text)” can't be read: \(error)")
        }
        guard let filter, filter.isExact, let stored = StoredCondition(filter.filter, type) else {
            throw HornbeamError(
                .invalid,
                "its condition “\(text)” is not one that a file keeps: compare stored properties with values, ask with "
                    + "IN, BETWEEN, IS VALUED, CONTAINS or ARRAY_CONTAINS, and join such by AND, OR and NOT")
        }
        self = stored
    }

    /// The condition in the syntax of WHERE. Returns nil if no such text reads as exactly this condition.
    package func statement(_ type: EntityDescription) -> String? {
        guard let filter = try? filter(type) else { return nil }
        for isQuoted in [false, true] {
            guard let text = filter.statement(type, quotingNames: isQuoted) else { return nil }
            if let read = try? StoredCondition(statement: text, type), read == self { return text }
        }
        return nil
    }
}

extension Filter {
    /// The filter in the syntax of WHERE. The caller must check that the text reads as this filter. Returns nil for a
    /// filter that WHERE can't state, or states in a longer way.
    fileprivate func statement(_ type: EntityDescription, quotingNames isQuoted: Bool) -> String? {
        func name(_ column: Int) -> String {
            let name = type.columns[column].name
            return isQuoted ? "`\(name)`" : name
        }
        func part(_ part: Filter) -> String? {
            guard let text = part.statement(type, quotingNames: isQuoted) else { return nil }
            return switch part {
            case .and, .or: "(\(text))"
            default: text
            }
        }
        func joined(_ parts: [Filter], _ word: String) -> String? {
            let texts = parts.compactMap(part)
            return texts.count == parts.count ? texts.joined(separator: " \(word) ") : nil
        }
        switch self {
        case .compare(_, _, .null): return nil
        case .compare(let column, let comparison, let value):
            return "\(name(column)) \(comparison == .equal ? "=" : comparison.rawValue) \(value.text)"
        case .within(let column, let values):
            return "\(name(column)) IN [\(values.map(\.text).joined(separator: ", "))]"
        case .isNull(let column): return "\(name(column)) IS NULL"
        case .and(let parts): return joined(parts, "AND")
        case .or(let parts): return joined(parts, "OR")
        case .not(.isNull(let column)): return "\(name(column)) IS NOT NULL"
        case .not(let negated): return part(negated).map { "NOT \($0)" }
        case .string(let test):
            guard test.kind == .contains, test.columns.count == 1 else { return nil }
            return "CONTAINS(\(name(test.columns[0])), \(Value.string(test.text).text))"
        case .elements(let test):
            guard test.values.count == 1 else { return nil }
            return "ARRAY_CONTAINS(\(name(test.column)), \(test.values[0].text))"
        default: return nil
        }
    }
}
