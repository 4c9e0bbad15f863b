// SPDX-License-Identifier: Apache-2.0
// Gives the rest of a thread's stack. Functions that recurse over input of any depth look here first.

import CHornbeamShims

package enum ThreadStack {
    /// Bytes that are left of the calling thread's stack; a very large number if the system doesn't tell.
    package static var room: Int { hbs_stack_room() }
}
