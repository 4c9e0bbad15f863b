// SPDX-License-Identifier: Apache-2.0
// Fuzz target: a hostile file. Opening it, reading all of it, checking it and writing to it may give typed errors and
// nothing else: no trap, no endless loop, no read outside the file.

import HornbeamProof
import HornbeamTestSupport

/// Opens a store file that `input` has damaged, and uses all of it. Each four bytes of `input` are one change: the
/// part of the file, the offset in it, and the bits to flip. The checksums are then corrected, unless the first byte
/// is odd.
public func fuzzFile(_ input: UnsafeRawBufferPointer) {
    guard let mode = input.first else { return }
    var image = HostileImage()
    var place = 1
    while place + 4 <= input.count {
        image.flip(Int(input[place]), Int(input[place + 1]) << 8 | Int(input[place + 2]), input[place + 3])
        place += 4
    }
    if mode & 1 == 0 { image.repair() }
    image.use(seed: UInt64(mode))
}
