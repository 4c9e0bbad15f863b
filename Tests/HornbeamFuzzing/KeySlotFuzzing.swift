// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the header of an encrypted store with its key slots. Under right checksums, any bytes in it may be
// refused or lead to the right data, and nothing else. A slot that asks for too much work is refused before the work
// is done.

import HornbeamCipher
import HornbeamPages
import HornbeamProof
import HornbeamTestSupport
import HornbeamTree

/// A small encrypted store and its content, made once.
private let pristine: FileParts = {
    do {
        // A seed whose store is encrypted.
        return try FileParts(seed: 4, isClosed: false)
    } catch {
        preconditionFailure("the pristine store can't be made: \(error)")
    }
}()

/// Three bytes each are one change: an offset in the slot (two bytes) and the bits to flip there, in both slots. The
/// first byte chooses the key: the right one, another one, or a passphrase.
public func fuzzKeySlots(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    var slots = (pristine.pristine[0], pristine.pristine[1])
    var rest = input.dropFirst()
    while rest.count >= 3 {
        let bytes = Array(rest.prefix(3))
        rest = rest.dropFirst(3)
        let offset = (Int(bytes[0]) | Int(bytes[1]) << 8) % 1536
        slots.0[offset] ^= bytes[2]
        slots.1[offset] ^= bytes[2]
    }
    var image = pristine.pristine
    for (index, slot) in [slots.0, slots.1].enumerated() {
        var slot = slot
        slot.withUnsafeMutableBytes { (bytes) in
            let checksum = Checksum.of(Bytes(rebasing: bytes[16...]), seed: 0)
            bytes.storeBytes(of: checksum.littleEndian, toByteOffset: 8, as: UInt64.self)
        }
        image[UInt64(index)] = slot
    }
    let keys: [any StoreEncryption] = [
        Workload.key, StoreKey(key: [UInt8](1..<33)), StoreKey(passphrase: [1, 2, 3], logCost: 10),
    ]
    var options = StoreOptions()
    options.encryption = keys[Int(choice) % keys.count]
    do {
        let store = try Workload.open(try SimulatedDisk(image), options)
        let digest = try store.digest()
        precondition(pristine.digests.contains(digest), "a changed header leads to other data")
    } catch let error as StorageError {
        precondition(!error.description.isEmpty)
    } catch {
        preconditionFailure("\(error)")
    }
}
