// SPDX-License-Identifier: Apache-2.0
// The disk without a store: no durable commit can be faster.

import Foundation

/// A file of 4 KiB that is overwritten in place.
package final class BareFile {
    private let descriptor: Int32
    private let page: [UInt8] = Array(repeating: 7, count: size)

    package static let size = 4096

    package init(path: String) throws {
        descriptor = Glibc.open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw BenchError("\(path) can't be created") }
        try writeThrough()
    }

    package func writeThrough() throws {
        guard pwrite(descriptor, page, page.count, 0) == page.count, fdatasync(descriptor) == 0 else {
            throw BenchError("the bare file can't be written")
        }
    }

    deinit { Glibc.close(descriptor) }
}
