// SPDX-License-Identifier: Apache-2.0
// Limits the nesting depth of values. Code that walks them is recursive, and a thread's stack may be as small as 512
// KiB: a long chain of replies in one value would overflow it.

import Glibc

package enum Nesting {
    /// Maximum number of levels of entities in the relations of one another.
    package static let most = 32

    package static func tooDeep(_ what: String) -> String {
        "\(what): it lies within more than \(most) entities, each in a relation of the one before; link the deeper "
            + "ones by their ids, and save them by themselves"
    }
}

/// The levels of values that are encoded, decoded or described, without a session.
package enum CodedNesting {
    /// The key of each thread's nesting level, or nil if the system has no key left. Then there is no limit.
    private static let level: pthread_key_t? = {
        var key: pthread_key_t = 0
        return pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// Goes down one level, which `ascend` takes back. Returns false if there are too many.
    package static func descend() -> Bool {
        guard let level else { return true }
        let now = UInt(bitPattern: pthread_getspecific(level))
        guard now < Nesting.most else { return false }
        return pthread_setspecific(level, UnsafeRawPointer(bitPattern: now + 1)) == 0
    }

    package static func ascend() {
        guard let level else { return }
        pthread_setspecific(level, UnsafeRawPointer(bitPattern: UInt(bitPattern: pthread_getspecific(level)) - 1))
    }

    /// Goes a level deeper. Throws `.invalid` if there are too many.
    package static func descend(into what: @autoclosure () -> String) throws(HornbeamError) {
        guard descend() else { throw HornbeamError(.invalid, Nesting.tooDeep(what())) }
    }
}
