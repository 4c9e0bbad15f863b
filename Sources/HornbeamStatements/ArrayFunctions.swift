// SPDX-License-Identifier: Apache-2.0
// Functions of arrays and objects. `array_sum` and `array_avg` leave out elements that aren't numbers, as aggregates
// do.

enum ArrayFunctions {
    static let all: [ScalarFunction] = [
        array("array_length") { .int($0.count) },
        array("array_count") { .int($0.count { !$0.isUnknown }) },
        array("array_sum") { try summed($0).total() ?? .int(0) },
        array("array_avg") { try summed($0).average() ?? .null },
        array("array_min") { items in items.filter { !$0.isUnknown }.min { $0.order($1) < 0 } ?? .null },
        array("array_max") { items in items.filter { !$0.isUnknown }.max { $0.order($1) < 0 } ?? .null },
        array("array_ifnull") { items in items.first { !$0.isUnknown } ?? .null },
        array("array_reverse") { .array($0.reversed()) },
        array("array_sort") { items in .array(items.sorted { $0.order($1) < 0 }) },
        array("array_distinct") { items in
            var seen: Set<[UInt8]> = []
            return .array(items.filter { seen.insert($0.key).inserted })
        },
        ScalarFunction("array_contains", 2...2) { arguments, _ in
            guard case .array(let items) = arguments[0] else { return .null }
            return .bool(items.contains { !$0.isUnknown && $0.equals(arguments[1]) })
        },
        ScalarFunction("array_position", 2...2) { arguments, _ in
            guard case .array(let items) = arguments[0] else { return .null }
            return .int(items.firstIndex { !$0.isUnknown && $0.equals(arguments[1]) } ?? -1)
        },
        // Null and missing values are elements like others.
        ScalarFunction("array_append", 2...100, isStrict: false) { arguments, _ in
            guard case .array(let items) = arguments[0] else { return .null }
            return .array(items + arguments.dropFirst())
        },
        // As in PostgreSQL, `array_concat` skips null, and `array_remove` can remove null elements. If the result were
        // null, an UPDATE would remove all elements, or all links of a relation.
        ScalarFunction("array_concat", 2...100, isStrict: false) { arguments, _ in
            let known = arguments.filter { !$0.isUnknown }
            if known.isEmpty { return arguments.contains(.null) ? .null : .missing }
            var all: [StatementValue] = []
            for argument in known {
                guard case .array(let items) = argument else { return .null }
                all += items
            }
            return .array(all)
        },
        ScalarFunction("array_remove", 2...100, isStrict: false) { arguments, _ in
            guard case .array(let items) = arguments[0] else {
                return arguments[0] == .missing ? .missing : .null
            }
            let removed = arguments.dropFirst()
            return .array(items.filter { item in !removed.contains { item == .null ? $0 == .null : item.equals($0) } })
        },
        object("object_names") { fields in .array(fields.map { .string($0.name) }) },
        object("object_values") { fields in .array(fields.map(\.item)) },
        object("object_length") { .int($0.count) },
    ]

    private static func array(_ name: String, _ body: @escaping @Sendable ([StatementValue]) throws -> StatementValue)
        -> ScalarFunction
    {
        ScalarFunction(name, 1...1) { arguments, _ in
            guard case .array(let items) = arguments[0] else { return .null }
            return try body(items)
        }
    }

    private static func object(_ name: String, _ body: @escaping @Sendable ([StatementField]) -> StatementValue)
        -> ScalarFunction
    {
        ScalarFunction(name, 1...1) { arguments, _ in
            guard case .object(let fields) = arguments[0] else { return .null }
            return body(fields.filter { $0.item != .missing })
        }
    }

    private static func summed(_ items: [StatementValue]) -> NumberSum {
        var sum = NumberSum()
        for item in items { sum.add(item) }
        return sum
    }
}
