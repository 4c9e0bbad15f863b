// SPDX-License-Identifier: Apache-2.0
// Key paths in closures that cross threads. Queries take key paths without `& Sendable`, so that a function may pass on
// one of its parameters: for a parameter of type `KeyPath` the compiler can't know its captures.

extension KeyPath {
    /// The key path as a type that may cross threads. A key path never changes. Its captures are arguments of
    /// subscripts, which are part of its meaning: they must not change either.
    var shared: any KeyPath<Root, Value> & Sendable {
        unsafeBitCast(self, to: (any KeyPath<Root, Value> & Sendable).self)
    }
}
