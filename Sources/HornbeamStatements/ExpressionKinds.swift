// SPDX-License-Identifier: Apache-2.0
// The properties of an expression that are known before it is computed: which kinds of values it may give, and whether
// it is made of one row's columns alone. An index over an expression must know both.

/// Kinds of values.
struct ValueKinds: OptionSet, Sendable {
    let rawValue: UInt16

    static let missing = ValueKinds(rawValue: 1)
    static let null = ValueKinds(rawValue: 2)
    static let bool = ValueKinds(rawValue: 4)
    static let number = ValueKinds(rawValue: 8)
    static let date = ValueKinds(rawValue: 16)
    static let text = ValueKinds(rawValue: 32)
    static let uuid = ValueKinds(rawValue: 64)
    static let data = ValueKinds(rawValue: 128)
    static let array = ValueKinds(rawValue: 256)
    static let object = ValueKinds(rawValue: 512)
    static let all = ValueKinds(rawValue: 1023)

    static let unknown: ValueKinds = [.missing, .null]
    /// The kinds of values in JSON.
    static let json: ValueKinds = [.missing, .null, .bool, .number, .text, .array, .object]
    /// The kinds that texts can spell too: a comparison with a text may compare one of these.
    static let written: ValueKinds = [.date, .uuid, .data]

    init(rawValue: UInt16) { self.rawValue = rawValue }

    init(_ item: StatementValue) {
        switch item {
        case .missing: self = .missing
        case .array: self = .array
        case .object: self = .object
        case .value(let value):
            self =
                switch value {
                case .null: .null
                case .bool: .bool
                case .int, .uint, .double, .decimal: .number
                case .date: .date
                case .uuid: .uuid
                case .data: .data
                case .string: .text
                case .json: .json
                case .array: .array
                }
        }
    }

    init(_ type: ColumnType) {
        switch type {
        case .bool: self = .bool
        case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64, .float, .double, .decimal: self = .number
        case .date: self = .date
        case .string, .url: self = .text
        case .uuid: self = .uuid
        case .data: self = .data
        case .json: self = .json
        case .array: self = .array
        case .optional(let wrapped): self = ValueKinds(wrapped).union(.null)
        }
        // Rows that are older than a property have null there.
        formUnion(.null)
    }
}

extension BoundExpression {
    /// Returns the kinds of values that it may give. Its slots are the numbers of a type's columns.
    func kinds(_ type: EntityDescription) -> ValueKinds {
        switch self {
        case .constant(let item): return ValueKinds(item)
        case .slot(let column):
            return type.columns.indices.contains(column) ? ValueKinds(type.columns[column].type) : .all
        case .field(let inner, _): return inner.isOfJSON(type) ? .json : .all
        case .element(let inner, _):
            if case .slot(let column) = inner, case .array(let element) = type.columns[column].type.unwrapped {
                return ValueKinds(element).union(.missing)
            }
            return inner.isOfJSON(type) ? .json : .all
        case .array, .comprehension: return [.array, .null]
        case .object: return .object
        case .not, .like, .between, .within, .withinArray, .among, .test, .quantified:
            return [.bool, .missing, .null]
        case .minus, .plus: return [.number, .missing, .null]
        case .binary(let sign, _, _, _):
            if Comparison(sign) != nil { return [.bool, .missing, .null] }
            switch sign {
            case .and, .or: return [.bool, .missing, .null]
            case .concatenate: return [.text, .missing, .null]
            default: return [.number, .missing, .null]
            }
        case .choice(_, let cases, let otherwise):
            let given = cases.map(\.value) + (otherwise.map { [$0] } ?? [])
            return given.reduce(.null) { $0.union($1.kinds(type)) }
        case .call(let function, let arguments, _):
            if function.collation != nil { return [.data, .missing, .null] }
            return function.kinds.map { $0.union(.unknown) }
                ?? arguments.reduce(.unknown) { $0.union($1.kinds(type)) }
        }
    }

    private func isOfJSON(_ type: EntityDescription) -> Bool {
        switch self {
        case .slot(let column): type.columns[column].type.unwrapped == .json
        case .field(let inner, _), .element(let inner, _): inner.isOfJSON(type)
        default: false
        }
    }

    /// Whether its value may be missing, which isn't null.
    var mayBeMissing: Bool {
        contains { part in
            switch part {
            case .field, .element, .constant(.missing): true
            case .call(let function, _, _): function.name == "missingif"
            default: false
            }
        }
    }

    /// This expression with each slot replaced by the one that `slot` returns. Returns nil if `slot` returns nil, if
    /// there are variables, which are slots too, or if it is nested too deep for the thread's stack.
    func mappingSlots(_ slot: (Int) -> Int?) -> BoundExpression? {
        guard StackRoom.isEnough else { return nil }
        func all(_ parts: [BoundExpression]) -> [BoundExpression]? {
            let found = parts.compactMap { $0.mappingSlots(slot) }
            return found.count == parts.count ? found : nil
        }
        switch self {
        case .constant: return self
        case .slot(let number): return slot(number).map { .slot($0) }
        case .field(let inner, let name): return inner.mappingSlots(slot).map { .field($0, name) }
        case .element(let inner, let index): return inner.mappingSlots(slot).map { .element($0, index) }
        case .array(let parts, let mark): return all(parts).map { .array($0, mark) }
        case .object(let fields, let mark):
            return all(fields.map(\.value)).map { values in
                .object(zip(fields, values).map { BoundField(name: $0.name, value: $1) }, mark)
            }
        case .not(let inner): return inner.mappingSlots(slot).map { .not($0) }
        case .minus(let inner, let mark): return inner.mappingSlots(slot).map { .minus($0, mark) }
        case .plus(let inner): return inner.mappingSlots(slot).map { .plus($0) }
        case .binary(let sign, let left, let right, let mark):
            return all([left, right]).map { .binary(sign, $0[0], $0[1], mark) }
        case .like(let text, let pattern, let escape, let mark):
            return all([text, pattern] + (escape.map { [$0] } ?? [])).map {
                .like($0[0], $0[1], escape: $0.count > 2 ? $0[2] : nil, mark)
            }
        case .between(let value, let low, let high):
            return all([value, low, high]).map { .between($0[0], $0[1], $0[2]) }
        case .within(let value, let list): return all([value] + list).map { .within($0[0], Array($0.dropFirst())) }
        case .withinArray(let value, let list): return all([value, list]).map { .withinArray($0[0], $0[1]) }
        case .among(let value, let list): return value.mappingSlots(slot).map { .among($0, list) }
        case .test(let inner, let test): return inner.mappingSlots(slot).map { .test($0, test) }
        case .choice(let subject, let cases, let otherwise):
            let count = subject == nil ? 0 : 1
            return all(children).map { parts in
                .choice(
                    subject: subject == nil ? nil : parts[0],
                    cases.indices.map {
                        BoundChoice(condition: parts[count + 2 * $0], value: parts[count + 2 * $0 + 1])
                    }, otherwise: otherwise == nil ? nil : parts[parts.count - 1])
            }
        case .call(let function, let arguments, let mark): return all(arguments).map { .call(function, $0, mark) }
        case .quantified, .comprehension: return nil
        }
    }
}

extension ScalarFunction {
    private static let ofKinds: [String: ValueKinds] = {
        var kinds: [String: ValueKinds] = [:]
        for function in NumberFunctions.all { kinds[function.name] = .number }
        for function in StringFunctions.all { kinds[function.name] = .text }
        for name in ["length", "position", "regexp_position", "tonumber", "date_part", "str_to_millis"] {
            kinds[name] = .number
        }
        for name in ["contains", "starts_with", "ends_with", "regexp_contains", "regexp_like", "toboolean"] {
            kinds[name] = .bool
        }
        for name in ["array", "object", "string", "number", "boolean", "date", "atom"] {
            kinds["is_\(name)"] = .bool
            kinds["is\(name)"] = .bool
        }
        for name in ["type", "tostring", "millis_to_str"] { kinds[name] = .text }
        for name in ["split", "toarray"] { kinds[name] = .array }
        for function in ArrayFunctions.all { kinds[function.name] = .all }
        for name in ["array_length", "array_count", "array_sum", "array_avg", "array_position", "object_length"] {
            kinds[name] = .number
        }
        kinds["array_contains"] = .bool
        kinds["date"] = .date
        return kinds
    }()

    /// The kinds of values that it returns, besides unknown ones; nil if it returns one of its arguments.
    fileprivate var kinds: ValueKinds? { Self.ofKinds[name] }
}
