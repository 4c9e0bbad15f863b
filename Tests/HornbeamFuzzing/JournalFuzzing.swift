// SPDX-License-Identifier: Apache-2.0
// Fuzz target: replay of the journal. Any bytes, as the redo of a commit with a right checksum, may be refused as
// corrupt or replayed to a sound store, and nothing else.

import HornbeamProof
import HornbeamTestSupport

/// The first byte chooses which of the pristine file's records is replaced, the rest is its new payload.
public func fuzzJournal(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    var image = HostileImage()
    image.replaceRecord(Int(choice), payload: Array(input.dropFirst()))
    image.use(seed: UInt64(choice))
}
