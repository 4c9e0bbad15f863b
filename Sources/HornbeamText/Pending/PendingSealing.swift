// SPDX-License-Identifier: Apache-2.0
// Checksums of pending records that were changed by hand. No writer needs it: tests of hostile files do, since a record
// whose checksum is wrong is refused before anything in it is looked at.

package import HornbeamPages
package import HornbeamTree

extension TextIndex {
    /// Gives every pending record the identity that its bytes and the records before it make, and the state of folding
    /// those that belong to it. Records without room for one stay as they are.
    package func sealPending(in transaction: Transaction) throws(StorageError) {
        guard let tree = try transaction.tree(pendingName), let other = try transaction.tree(statisticsName),
            let bytes = try transaction.get(other, TextStatistics.key), var statistics = TextStatistics(bytes),
            var fold = FoldState(statistics.foldState)
        else { return }
        var records: [(key: [UInt8], value: [UInt8])] = []
        var cursor = try transaction.cursor(tree)
        while try cursor.next() { records.append(([UInt8](cursor.key), [UInt8](cursor.value))) }
        var identity = fold.start.identity
        for (key, record) in records where record.count > PendingRecordWriter.contentOffset {
            let sequence = key.withBytes { $0.bigEndian(at: 0, as: UInt64.self) }
            // Those before are folded, and nobody reads them.
            if let sequence, sequence < fold.start.sequence { continue }
            var value = record
            identity = value.withBytes { PendingRecord.identity(of: $0, after: identity) }
            value.withUnsafeMutableBytes {
                $0.storeBytes(
                    of: identity.littleEndian, toByteOffset: PendingRecordWriter.identityOffset, as: UInt64.self)
            }
            try transaction.put(tree, key, value)
            if let sequence, sequence &+ 1 == fold.batch?.end.sequence { fold.batch?.end.identity = identity }
        }
        statistics.foldState = fold.encoded()
        try transaction.put(other, TextStatistics.key, statistics.encoded())
    }
}
