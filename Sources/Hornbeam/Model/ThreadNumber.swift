// SPDX-License-Identifier: Apache-2.0
// A number of the current thread, by which a transaction refuses others.

import Glibc

/// The calling thread, as a number that no other living one has.
enum ThreadNumber {
    static var current: UInt { UInt(pthread_self()) }
}
