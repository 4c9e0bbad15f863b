// SPDX-License-Identifier: Apache-2.0
// Errors of keys: bytes that no writer makes, values that can't be a key, unavailable collations. Decoding reports each
// of these and never traps, whatever the bytes are.

/// A failure to encode or decode a key.
@usableFromInline
package enum KeyError: Error, Equatable, Sendable {
    /// The bytes end inside a component. `offset` counts from the key's first byte.
    case truncated(offset: Int)
    /// The bytes are no encoding of the requested component.
    case malformed(offset: Int, reason: String)
    /// Arrays or dictionaries of a dynamic value are nested more than `limit` deep.
    case tooDeep(limit: Int)
    /// The text is too long for a collation. `size` is in UTF-16 units.
    case tooLong(size: Int, limit: Int)
    /// ICU knows no language of this locale.
    case unknownLocale(String)
    /// ICU failed. Gives the operation, and ICU's name for the error.
    case collationFailed(operation: String, reason: String)
}

extension KeyError: CustomStringConvertible {
    @usableFromInline package var description: String {
        switch self {
        case .truncated(let offset):
            return "the key ends inside the component at byte \(offset)"
        case .malformed(let offset, let reason):
            return "the key is malformed at byte \(offset): \(reason)"
        case .tooDeep(let limit):
            return "the key nests arrays or dictionaries more than \(limit) deep: flatten it"
        case .tooLong(let size, let limit):
            return "a text of \(size) UTF-16 units can't be collated, the limit is \(limit): index a part of it"
        case .unknownLocale(let locale):
            return "“\(locale)” names no known language: use one such as “de” or “pt-BR”, or none for the root order"
        case .collationFailed(let operation, let reason):
            return "\(operation) failed in ICU (\(reason)): check the installation of libicu"
        }
    }
}
