// SPDX-License-Identifier: Apache-2.0
// The seam: all that the engine ever does to a file. Files, memory, and the simulated disk of the tests implement it. A
// mapped store reads through the mapping, any other with `read`. Only these calls change the file.

/// A file as the store sees it. Any thread may call. The writer, the journal's flush and the checkpoint may write at
/// the same time, but never to the same bytes. Offsets and sizes are whole sectors.
package protocol StoreFile: AnyObject, Sendable {
    /// The file's path, for messages.
    var path: String { get }
    /// False for memory: no header, journal or checkpoint is kept then.
    var isDurable: Bool { get }
    /// The file's bytes in the address space, nil if the file isn't mapped. After growth the new bytes are there
    /// without remapping.
    var mapping: Mapping? { get }
    /// The largest size that the file can grow to.
    var maximumBytes: Int { get }
    /// Stores of other processes on the same file; nil if there can't be any.
    var neighbours: (any Neighbours)? { get }
    /// The size in bytes now.
    func size() throws(StorageError) -> UInt64
    /// Fills `buffer` from the file. The range must be inside the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError)
    /// Loads bytes of the mapping that will be read next into memory, and tries to load no others with them. A hint.
    func fetch(at offset: UInt64, count: Int)
    /// Starts to read these bytes from the medium, because all of them will be needed soon. A hint.
    func startRead(at offset: UInt64, count: UInt64)
    /// Replaces bytes inside the file. Survives a crash of the process; durable at the next `sync`.
    func write(_ bytes: Bytes, at offset: UInt64) throws(StorageError)
    /// Replaces bytes inside the file with zeros, as `write` does. For bytes of which small parts will be written again
    /// and again.
    func writeZeros(at offset: UInt64, count: UInt64) throws(StorageError)
    /// Writes as `write` does, and makes these bytes (no others) durable on return.
    func writeThrough(_ bytes: Bytes, at offset: UInt64) throws(StorageError)
    /// Starts to write bytes back to the medium, so that a later `sync` has less to wait for. Promises nothing.
    func startWriteBack(at offset: UInt64, count: UInt64)
    /// Makes all that was written, and the file's size, durable on return.
    func sync() throws(StorageError)
    /// Grows the file to `size` bytes with real blocks; the new part reads as zeros. Has no effect if the file is that
    /// long already. After an error, also after `.full`, it may have grown by a part of that.
    func grow(to size: UInt64) throws(StorageError)
    /// Cuts the file off at `size` bytes. Durable at the next `sync`.
    func shrink(to size: UInt64) throws(StorageError)
    /// Gives a newly created file its name, durably, once its content is durable. Throws `.exists` if the name has been
    /// taken since. Has no effect on a file that has its name already.
    func giveName() throws(StorageError)
    /// Releases the file for other stores: this one writes nothing after that. The mapping lives as long as it is
    /// referenced.
    func close()
}

extension StoreFile {
    package func fetch(at offset: UInt64, count: Int) {}
    package func startRead(at offset: UInt64, count: UInt64) {}
    package var neighbours: (any Neighbours)? { nil }

    package func writeZeros(at offset: UInt64, count: UInt64) throws(StorageError) {
        try writeZeros(at: offset, count: count, piece: 1 << 20)
    }

    /// Writes zeros, `piece` bytes a call.
    func writeZeros(at offset: UInt64, count: UInt64, piece: Int) throws(StorageError) {
        let zeros = [UInt8](repeating: 0, count: piece)
        let end = offset + count
        var offset = offset
        while offset < end {
            let size = Int(Swift.min(UInt64(piece), end - offset))
            try zeros.withBytes { (bytes) throws(StorageError) in
                try write(Bytes(rebasing: bytes[..<size]), at: offset)
            }
            offset += UInt64(size)
        }
    }
}

/// Stores of other processes that have the file open for reading, as its writer sees them. Any thread may call.
package protocol Neighbours: Sendable {
    /// Tells them that a writer with this number (less than 2^60) may change the file from now on.
    func begin(life: UInt64) throws(StorageError)
    /// The transactions whose states they have snapshots of.
    func pins() throws(StorageError) -> [Range<UInt64>]
    /// Called once the writer knows the earlier readers: others may open the file from then on.
    func hasBegun()
    /// Whether any of them has the file open.
    func attendsAny() throws(StorageError) -> Bool
    /// Makes new readers wait, because there is a durable commit which they can't see yet. Idempotent.
    func beginArrears() throws(StorageError)
    func endArrears()
}

/// A file that other processes may have open too, with the means for a store to follow its writer.
package protocol SharedFile: StoreFile {
    var locks: FileLocks { get }
    /// Opens the file once more, for writing, to become its writer. Throws `.readOnly` if this process may not write to
    /// it, `.busy` if another process is the writer.
    func reopenForWriting(_ options: StoreOptions) throws(StorageError) -> any StoreFile
}
