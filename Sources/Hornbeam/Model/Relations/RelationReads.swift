// SPDX-License-Identifier: Apache-2.0
// Conditions, sorts and aggregates by computed properties read decoded entities, whose relations aren't loaded: a
// property that reads a relation would give a wrong answer. So such a read is detected, and the query throws an error.

import Glibc
import Synchronization

enum RelationReads {
    /// Number of running reads of properties, in all threads. If it is 0, `note` reads nothing else.
    private static let asking = Atomic<Int>(0)
    /// The key of a flag that is set in a thread whose property has read a relation. Nil if the system has no key left:
    /// then no read is detected.
    private static let noticed: pthread_key_t? = {
        var key: pthread_key_t = 0
        return pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// Notes that a relation's content was read.
    @inline(__always)
    static func note() {
        if asking.load(ordering: .relaxed) != 0 { notice() }
    }

    private static func notice() {
        guard let noticed else { return }
        pthread_setspecific(noticed, UnsafeRawPointer(bitPattern: 1))
    }

    /// Returns the result of `body`, which reads a decoded entity. Throws `.invalid` if it has read a relation of the
    /// entity. A deleted entity contains the ids of its relations, so they may be read.
    static func refusing<Value>(_ label: String, _ type: any Any.Type, _ body: () throws -> Value) throws -> Value {
        guard let noticed, !(type is any Tombstone.Type) else { return try body() }
        asking.add(1, ordering: .relaxed)
        defer { asking.subtract(1, ordering: .relaxed) }
        // The test may run within another one, as in `passes:`: the state of the outer one is restored.
        let before = pthread_getspecific(noticed)
        pthread_setspecific(noticed, nil)
        defer { pthread_setspecific(noticed, before) }
        let value = try body()
        guard pthread_getspecific(noticed) == nil else {
            throw HornbeamError(
                .invalid,
                "“\(label)” reads a relation, and relations aren't loaded where conditions, sorts and aggregates are "
                    + "computed: use .has(\\.$relation, …), .any(\\.$relation, where: …), .none(\\.$relation), or "
                    + "\\.$relation.count in a comparison or a sort")
        }
        return value
    }
}
