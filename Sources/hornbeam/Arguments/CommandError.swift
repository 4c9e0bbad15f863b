// SPDX-License-Identifier: Apache-2.0
// A failure with a message for the user: the fault, its position, and the remedy. Exit code 1.

struct CommandError: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
