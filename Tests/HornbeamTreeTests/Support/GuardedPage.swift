// SPDX-License-Identifier: Apache-2.0
// A page of memory between two that can't be touched: reading or writing a byte beyond it kills the test.

import Glibc

final class GuardedPage {
    let bytes: UnsafeMutableRawPointer
    let size: Int
    private let mapping: UnsafeMutableRawPointer

    init?(size: Int) {
        guard let mapping = mmap(nil, size + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            mapping != MAP_FAILED
        else { return nil }
        self.mapping = mapping
        self.size = size
        bytes = mapping + 4096
        mprotect(mapping, 4096, PROT_NONE)
        mprotect(bytes + size, 4096, PROT_NONE)
    }

    deinit { munmap(mapping, size + 8192) }
}
