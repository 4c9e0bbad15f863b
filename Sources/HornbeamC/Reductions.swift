// SPDX-License-Identifier: Apache-2.0
// Reductions whose functions are in C: hb_open_with registers them, hb_tree_open_reduced makes trees that keep them,
// and hb_reduce reads the values. The functions may run on any thread that changes, checks or recovers the store.

public import CHornbeam
import HornbeamPages
import HornbeamTree

/// A C program's functions and the context to pass to them. The program ensures that any thread may call them.
private struct Functions: @unchecked Sendable {
    let map: @convention(c) (UnsafeMutableRawPointer?, hb_slice, hb_slice, UnsafeMutableRawPointer?) -> Void
    let combine: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeRawPointer?) -> Void
    let context: UnsafeMutableRawPointer?
}

extension Reduction {
    init(_ given: hb_reduction) throws(StorageError) {
        guard let map = given.map, let combine = given.combine, let identity = given.identity else {
            throw .invalid("a reduction needs its functions and its identity")
        }
        guard 1...64 ~= given.size else {
            throw .invalid("a reduction can't have \(UInt(bitPattern: given.size)) bytes: give 1 to 64")
        }
        let functions = Functions(map: map, combine: combine, context: given.context)
        self.init(
            name: try text(given.name, "the reduction's name"),
            identity: Array(Bytes(start: identity, count: given.size)),
            map: { (key, value, target) in
                functions.map(functions.context, hb_slice(lending: key), hb_slice(lending: value), target)
            },
            combine: { (target, next) in functions.combine(functions.context, target, next) })
    }
}

/// Returns the reductions of an array from C, by name. Throws `.invalid` for a wrong or double one.
func reductions(
    _ first: UnsafePointer<hb_reduction>?, count: Int
) throws(StorageError) -> [String: Reduction] {
    guard count > 0 else { return [:] }
    guard let first, count <= 1000 else { throw .invalid("\(count) reductions, or NULL where they should be") }
    var all: [String: Reduction] = [:]
    for given in UnsafeBufferPointer(start: first, count: count) {
        let reduction = try Reduction(given)
        guard all.updateValue(reduction, forKey: reduction.name) == nil else {
            throw .invalid("two reductions are called “\(reduction.name)”")
        }
    }
    return all
}

@c @implementation
public func hb_tree_open_reduced(
    _ txn: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ flags: UInt32, _ reduction: UnsafePointer<CChar>?,
    _ tree: UnsafeMutablePointer<hb_tree>?
) -> Int32 {
    do throws(StorageError) {
        return openTree(txn, name, flags, reduction: try text(reduction, "the reduction's name"), tree)
    } catch {
        tree?.pointee = 0
        return Failure.report(error)
    }
}

@c @implementation
public func hb_reduce(
    _ txn: OpaquePointer?, _ tree: hb_tree, _ from: hb_slice, _ to: hb_slice, _ target: UnsafeMutableRawPointer?,
    _ size: Int
) -> Int32 {
    guard let target else { return Failure.invalid("hb_reduce needs a place for the result") }
    return inTransaction(txn) { (handle) throws(StorageError) in
        let result = try handle.transaction.reduce(
            handle.treeID(tree), from: try from.bytes, to: try to.bytes)
        guard result.count == size else {
            throw .invalid("the tree's reduction has \(result.count) bytes, not \(UInt(bitPattern: size))")
        }
        result.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: target, count: size).copyMemory(from: $0) }
        return Result.ok
    }
}
