// SPDX-License-Identifier: Apache-2.0
// The seam: everything the engine ever does to a file. A file, memory, and the simulated disk of the tests implement
// it. A mapped store reads through the mapping, any other by `read`; the file is changed by these calls alone.

/// A file as the store sees it. Any thread may call: the writer, the journal's flush and the checkpoint write at the
/// same time, but never two of them to the same bytes. Offsets and sizes are whole sectors.
package protocol StoreFile: AnyObject, Sendable {
    /// For messages.
    var path: String { get }
    /// False for memory: no header, journal or checkpoint is kept then.
    var isDurable: Bool { get }
    /// The file's bytes in the address space, nil if the file isn't mapped. Growth shows without remapping.
    var mapping: Mapping? { get }
    /// Bytes that it can grow to.
    var maximumBytes: Int { get }
    /// Stores of other processes on the same file; nil where there can be none.
    var neighbours: (any Neighbours)? { get }
    /// Bytes now.
    func size() throws(StorageError) -> UInt64
    /// Fills `buffer` from the file. The range must be inside the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError)
    /// Bytes that will be looked at in the mapping next should be in memory, and no others for their sake. A hint.
    func fetch(at offset: UInt64, count: Int)
    /// Hints that all of these bytes will be read soon, so that they should be on their way from the medium.
    func startRead(at offset: UInt64, count: UInt64)
    /// Replaces bytes inside the file. Survives a crash of the process; durable at the next `sync`.
    func write(_ bytes: Bytes, at offset: UInt64) throws(StorageError)
    /// Replaces bytes inside the file with zeros, as `write` does, where small parts of them will be written again and
    /// again.
    func writeZeros(at offset: UInt64, count: UInt64) throws(StorageError)
    /// Writes as `write` does, and makes these bytes (no others) durable on return.
    func writeThrough(_ bytes: Bytes, at offset: UInt64) throws(StorageError)
    /// Begins to bring written bytes to the medium, so that a later `sync` has less to wait for. Promises nothing.
    func startWriteBack(at offset: UInt64, count: UInt64)
    /// Makes all that was written, and the file's size, durable on return.
    func sync() throws(StorageError)
    /// Grows the file to `size` bytes with real blocks; the new part reads as zeros. No effect if it is as long. After
    /// an error, `.full` too, it may have grown by a part of that.
    func grow(to size: UInt64) throws(StorageError)
    /// Cuts the file off at `size` bytes. Durable at the next `sync`.
    func shrink(to size: UInt64) throws(StorageError)
    /// Gives a newly created file its name, durably, once its content is; `.exists` if the name is taken meanwhile.
    /// Without effect for a file that has its name already.
    func giveName() throws(StorageError)
    /// Releases the file for other stores: nothing is written after this. The mapping lives as long as it is
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

/// Stores of other processes that have the same file open for reading, as its writer sees them. Any thread.
package protocol Neighbours: Sendable {
    /// Lets them know that a writer with this number (less than 2^60) may change the file from now on.
    func begin(life: UInt64) throws(StorageError)
    /// The transactions whose states they have snapshots of.
    func pins() throws(StorageError) -> [Range<UInt64>]
    /// The writer knows the earlier readers: others may come again.
    func hasBegun()
    /// Whether there is any.
    func attendsAny() throws(StorageError) -> Bool
    /// Notes that there is a durable commit which they can't see yet: new readers wait. Idempotent.
    func beginArrears() throws(StorageError)
    func endArrears()
}

/// A file that other processes may have open as well, with what a store needs to follow its writer.
package protocol SharedFile: StoreFile {
    var locks: FileLocks { get }
    /// Opens the file once more, for writing, as the writer that it lacks now. Throws `.readOnly` if this process may
    /// not write to it, `.busy` if another one does.
    func reopenForWriting(_ options: StoreOptions) throws(StorageError) -> any StoreFile
}
