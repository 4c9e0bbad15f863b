// SPDX-License-Identifier: Apache-2.0
// Checks the change log: consumers and changes must be readable, and each consumer must have exactly the changes that
// its record says.

import HornbeamPages
import HornbeamTree

struct ChangeLogCheck {
    let core: StoreTransaction
    private var consumers: [UInt32: (name: String, stored: StoredConsumer)] = [:]
    /// The number of the change that comes next, by consumer.
    private var expected: [UInt32: UInt64] = [:]

    init(_ core: StoreTransaction) { self.core = core }

    mutating func run(_ problem: (String) -> Void) throws {
        guard let log = try ChangeLog(in: core.transaction) else { return }
        var cursor = try core.transaction.cursor(log.tree)
        var isValid = try cursor.first()
        // Consumers come before changes in the tree.
        while isValid, let entry = try cursor.entry() {
            if entry.key.first == 0 {
                checkConsumer(entry.key, entry.value, problem)
            } else {
                checkChange(entry.key, entry.value, problem)
            }
            isValid = try cursor.next()
        }
        for (number, consumer) in consumers { expect(consumer.stored.next, number, consumer.name, problem) }
    }

    private mutating func checkConsumer(_ key: Bytes, _ value: Bytes, _ problem: (String) -> Void) {
        guard let name = ChangeLog.name(key), let consumer = StoredConsumer(value) else {
            return problem("a consumer of changes is not readable")
        }
        if let other = consumers.updateValue((name, consumer), forKey: consumer.number) {
            problem("the consumers “\(other.name)” and “\(name)” have the same number")
        }
        expected[consumer.number] = consumer.first
    }

    /// Reports the changes that are missing before `sequence`, which is that of the next change, or of the end.
    private func expect(_ sequence: UInt64, _ number: UInt32, _ name: String, _ problem: (String) -> Void) {
        guard let next = expected[number], next < sequence else { return }
        let missing = next == sequence - 1 ? "\(next) is" : "\(next) to \(sequence - 1) are"
        problem("consumer “\(name)”: of its changes \(missing) missing")
    }

    private mutating func checkChange(_ key: Bytes, _ value: Bytes, _ problem: (String) -> Void) {
        guard let (number, sequence) = ChangeLog.change(key), let (name, consumer) = consumers[number] else {
            return problem("the change log has an entry of no consumer")
        }
        let what = "change \(sequence) of consumer “\(name)”"
        guard (consumer.first..<consumer.next).contains(sequence) else {
            return problem("\(what) is outside the range of kept changes")
        }
        expect(sequence, number, name, problem)
        expected[number] = sequence + 1
        guard let change = StoredChange(value, of: consumer) else { return problem("\(what) is not readable") }
        // There may still be changes of a type that no longer exists.
        guard let idType = core.schema.types[consumer.types[change.type].name]?.idType else { return }
        let id = change.id.withUnsafeBytes { ValueBytes.decode($0, as: idType) }
        if id == nil { problem("the id of \(what) is not readable") }
    }
}
