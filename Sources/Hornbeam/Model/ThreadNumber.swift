// SPDX-License-Identifier: Apache-2.0
// A number of the current thread. A transaction uses it to refuse other threads.

import Glibc

/// The calling thread, as a number that no other living one has.
enum ThreadNumber {
    static var current: UInt { UInt(pthread_self()) }
}
