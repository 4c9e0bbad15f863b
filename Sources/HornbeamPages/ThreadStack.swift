// SPDX-License-Identifier: Apache-2.0
// How much of a thread's stack is left, for whoever calls itself for each level of something that others have made.

import CHornbeamShims

package enum ThreadStack {
    /// Bytes of the calling thread's stack that are left. More than there is memory if the system can't tell.
    package static var room: Int { hbs_stack_room() }
}
