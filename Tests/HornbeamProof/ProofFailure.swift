// SPDX-License-Identifier: Apache-2.0
// The error of a proof when the store violated a guarantee.

/// A broken promise, with all data needed to reproduce it.
package struct ProofFailure: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// Throws unless `condition` holds.
func expect(_ condition: Bool, _ complaint: @autoclosure () -> String) throws(ProofFailure) {
    if !condition { throw ProofFailure(complaint()) }
}
