// SPDX-License-Identifier: Apache-2.0
// Checks of the room on the thread's stack, which may be as small as 512 KiB. Reading, binding and computing an
// expression takes a few calls for each of its levels, so each level first checks that there is room for the next one.

import HornbeamPages

enum StackRoom {
    /// Bytes for code that runs without a check: functions of values, texts of errors, the release of an expression.
    static let least = 160 << 10

    /// Bytes for reading a regular expression at the limits of `PatternBounds`.
    static let pattern = 256 << 10

    static var isEnough: Bool { ThreadStack.room >= least }

    /// Throws `.tooLarge` if fewer bytes are left.
    static func require(_ bytes: Int = least) throws(HornbeamError) {
        if ThreadStack.room >= bytes { return }
        throw HornbeamError(
            .tooLarge,
            "the statement is nested deeper than the stack of this thread has room for: make it simpler, or run it on "
                + "a thread with a larger stack")
    }
}
