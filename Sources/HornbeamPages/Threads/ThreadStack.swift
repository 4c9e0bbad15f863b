// SPDX-License-Identifier: Apache-2.0
// Tells how much of a thread's stack is left. Functions that recurse over input of any depth check it first.

import CHornbeamShims

package enum ThreadStack {
    /// Number of bytes left of the calling thread's stack; a very large number if that is unknown.
    package static var room: Int { hbs_stack_room() }
}
