// SPDX-License-Identifier: Apache-2.0
// What a proof throws when the store did something it must never do.

/// A broken promise, with all that is needed to see it again.
package struct ProofFailure: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// Throws unless `condition` holds.
func expect(_ condition: Bool, _ complaint: @autoclosure () -> String) throws(ProofFailure) {
    if !condition { throw ProofFailure(complaint()) }
}
