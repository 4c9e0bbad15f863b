// SPDX-License-Identifier: Apache-2.0
// Fuzz target: decoding and editing nodes. A node's content is hostile under a right checksum; searching, walking,
// changing, splitting and merging it may give typed errors and nothing else.

import HornbeamProof
import HornbeamTestSupport

/// The first byte chooses the node, the second how it is used. Three bytes each are then one change: an offset in the
/// node and the bits to flip there.
public func fuzzNode(_ input: UnsafeRawBufferPointer) {
    guard input.count >= 2 else { return }
    var image = HostileImage()
    let nodes = image.parts.pages.indices.filter { image.parts.pages[$0].kind <= 2 && image.parts.isNeeded($0) }
    guard !nodes.isEmpty else { return }
    let node = nodes[Int(input[0]) % nodes.count]
    var place = 2
    while place + 3 <= input.count {
        image.flip(page: node, Int(input[place]) << 8 | Int(input[place + 1]), input[place + 2])
        place += 3
    }
    image.repair()
    image.use(seed: UInt64(input[1]))
}
