// SPDX-License-Identifier: Apache-2.0
// Fuzz target: replay of the journal. Any bytes at all, as the redo of a commit whose checksum is right, may be refused
// as corrupt or replayed to a store that is sound, and nothing else.

import HornbeamProof
import HornbeamTestSupport

/// The first byte chooses which of the pristine file's records is replaced, the rest is its new payload.
public func fuzzJournal(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    var image = HostileImage()
    image.replaceRecord(Int(choice), payload: Array(input.dropFirst()))
    image.use(seed: UInt64(choice))
}
