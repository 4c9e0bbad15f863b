// SPDX-License-Identifier: Apache-2.0
// The descriptions of errno.

import Glibc

/// The operating system's description of an error number.
package enum SystemErrorText {
    package static func of(_ code: Int32) -> String {
        String(cString: strerror(code))
    }
}
