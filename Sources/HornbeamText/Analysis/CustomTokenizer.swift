// SPDX-License-Identifier: Apache-2.0
// A program's own way to cut texts, by the name that is stored with an index. The store knows the name alone: a program
// that opens it without having named the tokenizer can read the entities and can't use the index.

import Synchronization

/// Rules of a program's own.
package struct CustomTokenizer: Sendable {
    /// At most 200 bytes. The declaration of an index checks that: together with the version, the name must fit into
    /// the entry that the index keeps of itself.
    package let name: String
    package let version: Int
    package static let maximumName = 200
    /// Calls the function with each token of a text, in order.
    package let tokenize: @Sendable (_ text: String, _ emit: (String) -> Void) -> Void
    /// Calls the function with each token of a text and its place, in order. A token without a place is looked for in
    /// the text. Without this function, all tokens are.
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

    /// Makes the tokenizer known by its name to indexes that this process opens from now on without a declaration that
    /// has the tokenizer itself. The last one of a name counts.
    package func register() {
        Self.registered.withLock { $0[name] = self }
    }

    static func known(_ name: String) -> CustomTokenizer? {
        registered.withLock { $0[name] }
    }
}
