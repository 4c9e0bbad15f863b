// SPDX-License-Identifier: Apache-2.0
// Key paths in closures that cross threads. Queries take key paths without `& Sendable`, so that a function may pass on
// one that it was given: of a parameter of type `KeyPath` the compiler can't know what it captures.

extension KeyPath {
    /// The key path as a type that may cross threads. Nobody can change a key path. What it captures are arguments of
    /// subscripts, which are part of what it means: they must not change either.
    var shared: any KeyPath<Root, Value> & Sendable {
        unsafeBitCast(self, to: (any KeyPath<Root, Value> & Sendable).self)
    }
}
