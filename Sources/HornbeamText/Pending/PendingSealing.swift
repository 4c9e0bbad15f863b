// SPDX-License-Identifier: Apache-2.0
// Recomputes the checksums of pending records that were changed by hand. Only tests of hostile files need this: a
// record with a wrong checksum is refused before its contents are read.

package import HornbeamPages
package import HornbeamTree

extension TextIndex {
    /// Sets the identity of every pending record to the one that its bytes and the records before it give, and updates
    /// the state of folding. Records that are too short for an identity stay as they are.
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
            // Folded records, which nothing reads.
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
