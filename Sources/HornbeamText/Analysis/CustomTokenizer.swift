// SPDX-License-Identifier: Apache-2.0
// A program's own tokenizer, identified by the name that is stored with an index. Only the name is stored: a program
// that opens the store without registering the tokenizer can read the entities but can't use the index.

import Synchronization

/// A tokenizer defined by the program.
package struct CustomTokenizer: Sendable {
    /// At most 200 bytes, checked when an index is declared: the name and the version must fit into the entry of the
    /// index's statistics.
    package let name: String
    package let version: Int
    package static let maximumName = 200
    /// Calls the function with each token of a text, in order.
    package let tokenize: @Sendable (_ text: String, _ emit: (String) -> Void) -> Void
    /// Calls the function with each token of a text and its range, in order. A token without a range is searched in the
    /// text. Without this function, all tokens are.
    package let locate: (@Sendable (_ text: String, _ emit: (String, Range<String.Index>?) -> Void) -> Void)?

    package init(
        name: String, version: Int,
        locate: (@Sendable (_ text: String, _ emit: (String, Range<String.Index>?) -> Void) -> Void)? = nil,
        tokenize: @escaping @Sendable (_ text: String, _ emit: (String) -> Void) -> Void
    ) {
        self.name = name
        self.version = version
        self.tokenize = tokenize
        self.locate = locate
    }

    private static let registered = Mutex<[String: CustomTokenizer]>([:])

    /// Registers the tokenizer by its name, for indexes that this process opens later without a declaration that has
    /// the tokenizer itself. Replaces a registered tokenizer of the same name.
    package func register() {
        Self.registered.withLock { $0[name] = self }
    }

    static func known(_ name: String) -> CustomTokenizer? {
        registered.withLock { $0[name] }
    }
}
