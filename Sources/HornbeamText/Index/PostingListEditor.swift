// SPDX-License-Identifier: Apache-2.0
// Applies a term's changes to its entry and its posting list. A short list is stored in the dictionary, a longer one in
// runs in the trees of postings and positions. A term without postings has no entry. Nothing else writes these trees.
// Afterwards each key names the first document of its run, the runs of a list don't overlap, and the positions of a run
// have the same key.

import HornbeamPages
import HornbeamTree

/// Writes posting lists. Used for one flush, before which the lengths of documents must be written.
struct PostingListEditor: ~Copyable {
    private let dictionary: TermDictionary
    private let trees: TextTrees
    private let storesPositions: Bool
    /// Whether the dictionary was empty before. Then plain terms arrive in order and are appended.
    private let isNew: Bool
    private(set) var nextListNumber: UInt32
    /// The cost of writing runs so far, in the unit of `PendingPart.termCost`. A run costs the same whether one of its
    /// postings changes or all of them.
    private(set) var cost = 0
    static let blockCost = 2

    private var cursor: Cursor
    private var directory = RunDirectory()
    private var runFields = RunFields()
    private let columns = FieldColumns()
    private var positionBlock = PositionBlock()
    private var lengths: LengthCache
    private var fieldEnds: FieldEndCache
    /// Whether any document has tokens outside its first field.
    private let hasFields: Bool
    private var decoded = PostingsBuffer()
    private var merged = PostingsBuffer()
    private var runs: RunEncoder
    private var positionRuns = PositionRunEncoder()
    private var value = ByteSink()
    /// Postings in their encoding for the dictionary.
    private var block = ByteSink()
    private var run = ByteSink()
    private var positionRun = ByteSink()
    /// The largest values that are stored inside their leaves.
    private let runLimit: Int
    private let positionRunLimit: Int
    private var frontier = BoundFrontier()
    private var fields = FieldBounds()
    private var leaders: LeaderGatherer
    /// The frequencies of the postings that were removed from the list.
    private var removed: [UInt32] = []

    private var (addedDocuments, addedOccurrences): (Int64, Int64) = (0, 0)
    /// Number of postings in the runs written for the term, each counted once: all of its list or a part.
    private var written = 0
    private var lastWritten: UInt32?
    /// Whether postings changed after they were written, because the run before had taken in their run. Then the values
    /// gathered from the written runs don't describe the whole list.
    private var changesWritten = false

    private var index: TextIndex { dictionary.index }
    private var transaction: Transaction { dictionary.transaction }

    /// A run with fewer postings looks for a neighbour to join. The joined run stays below `joinedLimit`.
    private static let smallRun = PostingRun.capacity / 4
    private static let joinedLimit = PostingRun.capacity * 3 / 4
    /// Maximum number of positions of a run with several blocks.
    private static let mostPositions = 1 << 12
    /// Maximum number of positions of a block, unless a single document has more.
    private static let mostBlockPositions = 1 << 22

    init(
        _ dictionary: TermDictionary, _ trees: TextTrees, _ statistics: TextStatistics
    ) throws(StorageError) {
        let transaction = dictionary.transaction
        let isNew = try transaction.count(dictionary.tree) == 0
        let runLimit = try transaction.inlineLimit(trees.postings, keySize: PostingKey.size)
        let positionRunLimit = try transaction.inlineLimit(trees.positions, keySize: PostingKey.size)
        cursor = try transaction.cursor(trees.postings)
        self.dictionary = dictionary
        self.trees = trees
        storesPositions = dictionary.index.storesPositions
        runs = RunEncoder(tellsFields: storesPositions)
        nextListNumber = statistics.nextListNumber
        hasFields = statistics.fieldTotals.tokens.count > 1
        self.isNew = isNew
        (self.runLimit, self.positionRunLimit) = (runLimit, positionRunLimit)
        lengths = LengthCache(
            DocumentLengths(transaction: transaction, tree: trees.documents, index: dictionary.index))
        fieldEnds = FieldEndCache(
            SectionTable(transaction: transaction, tree: trees.documents, index: dictionary.index))
        let average = Double(statistics.totalLength) / Double(max(statistics.documentCount, 1))
        let averageLength = max(average, 1)
        leaders = LeaderGatherer(averageLength: averageLength)
        runs.averageLength = averageLength
        frontier.averageLength = averageLength
    }

    /// Applies `changes` to a term, which may be new. `isSame` tells that the previous call had the same term.
    mutating func apply(_ changes: borrowing TermChanges, to term: Bytes, isSame: Bool = false) throws(StorageError) {
        (addedDocuments, addedOccurrences, written, lastWritten, changesWritten) = (0, 0, 0, nil, false)
        merged.removeAll()
        frontier.removeAll()
        fields = FieldBounds()
        leaders.removeAll()
        removed.removeAll(keepingCapacity: true)
        value.removeAll()
        if term.count > TermDictionary.plainLimit {
            let found = try dictionary.findLong(term)
            TermDictionary.appendRest(of: term, to: &value)
            let existed = found.entry != nil
            let kept = try rewrite(found.entry, changes)
            try found.key.withBytes { (key) throws(StorageError) in
                try store(kept, key, existed: existed, appends: false)
            }
        } else {
            let appends = isNew && !isSame
            let entry = appends ? nil : try dictionary.find(term)
            let existed = entry != nil
            let kept = try rewrite(entry, changes)
            try store(kept, term, existed: existed, appends: appends)
        }
    }

    /// Changes the postings. Returns the new entry. Inline postings are in `merged`, not in the entry's block.
    private mutating func rewrite(
        _ entry: TermEntry?, _ changes: borrowing TermChanges
    ) throws(StorageError) -> TermEntry {
        let number = entry?.listNumber ?? 0
        let (documentsBefore, occurrencesBefore) = (entry?.documentFrequency ?? 0, entry?.collectionFrequency ?? 0)
        let boundsBefore = entry?.bounds ?? []
        let fieldsBefore = entry?.fields ?? FieldBounds()
        if number != 0 {
            try edit(number, changes)
        } else {
            try decodeInline(entry)
            _ = try merge(changes, 0..<changes.count, positionsFrom: 0)
        }
        let documents = Self.sum(UInt64(documentsBefore), addedDocuments)
        let occurrences = Self.sum(occurrencesBefore, addedOccurrences)
        guard let documents, let occurrences, occurrences >= documents, documents < UInt64(UInt32.max) else {
            throw outOfStep()
        }
        var result = TermEntry(
            listNumber: number, documentFrequency: UInt32(truncatingIfNeeded: documents),
            collectionFrequency: occurrences)
        // A list stays a list until few postings are left, so that no term moves back and forth.
        let isSmall = InlinePostings.fits(documents: documents, occurrences: occurrences)
        if number != 0, isSmall {
            try collectAndDelete(number, expected: Int(documents))
            result.listNumber = 0
        }
        if result.listNumber == 0 {
            let isShort = encodeBlock(documents, occurrences)
            if isSmall || isShort {
                try boundBlock(&result, entry, changes)
            } else {
                result.listNumber = try takeListNumber()
                // The changes include lengths and fields; postings from the dictionary don't.
                if decoded.count > 0 {
                    try loadLengths()
                    try loadFields()
                }
                try writeRuns(result.listNumber, packs: true, isNew: true)
            }
        }
        if result.listNumber != 0 {
            let isWritten = written == Int(documents) && !changesWritten
            // The old bounds of the whole list cover the runs that weren't rewritten.
            if !isWritten {
                for bound in boundsBefore { frontier.add(bound) }
                fields.formUnion(fieldsBefore)
            }
            frontier.reduce(to: TermEntry.boundLimit)
            result.bounds = frontier.descending
            result.fields = fields
            if !isWritten { addLeaders(entry?.leaders ?? Leaders(), changes) }
            result.leaders = leaders.leaders
        }
        return result
    }

    /// Encodes `merged` for the dictionary into `block`. Returns whether it is short enough for it.
    private mutating func encodeBlock(_ documents: UInt64, _ occurrences: UInt64) -> Bool {
        block.removeAll()
        guard
            InlinePostings.mayFit(documents: documents, occurrences: occurrences, storesPositions: storesPositions)
                || InlinePostings.fits(documents: documents, occurrences: occurrences)
        else { return false }
        InlinePostings.encode(
            merged, repeats: occurrences != documents, storesPositions: storesPositions, to: &block)
        return block.count <= InlinePostings.sizeLimit
    }

    /// Sets a lower bound of the documents' lengths. It isn't always exact: the shortest document may have left.
    private mutating func boundBlock(
        _ result: inout TermEntry, _ before: TermEntry?, _ changes: borrowing TermChanges
    ) throws(StorageError) {
        guard TermEntry.knowsShortest(result.documentFrequency) else { return }
        var shortest = UInt32.max
        if let before, !TermEntry.knowsShortest(before.documentFrequency) {
            try loadLengths()
            for place in 0..<merged.count { shortest = min(shortest, merged.lengths[place]) }
        } else {
            if let before { shortest = before.shortest }
            for place in 0..<changes.count where changes.postings.frequencies[place] > 0 {
                shortest = min(shortest, changes.postings.lengths[place])
            }
        }
        result.shortest = max(shortest, 1)
    }

    /// Updates the leaders of a list of which a part was written, from the remaining old ones and the new postings.
    private mutating func addLeaders(_ before: Leaders, _ changes: borrowing TermChanges) {
        var kept = before
        for frequency in removed { kept.remove(frequency: frequency) }
        leaders.removeAll()
        leaders.add(kept)
        for place in 0..<changes.count where changes.postings.frequencies[place] > 0 {
            leaders.add(
                Bound(frequency: changes.postings.frequencies[place], length: changes.postings.lengths[place]))
        }
    }

    /// Writes the dictionary's entry, or removes it. For a long term, `value` begins with the rest of the term.
    private mutating func store(
        _ entry: TermEntry, _ key: Bytes, existed: Bool, appends: Bool
    ) throws(StorageError) {
        guard entry.documentFrequency > 0 else {
            if existed { _ = try transaction.delete(dictionary.tree, key) }
            return
        }
        entry.encode(to: &value)
        if entry.listNumber == 0 { value.append(block.bytes) }
        if appends {
            try transaction.append(dictionary.tree, key, value.bytes)
        } else {
            try transaction.put(dictionary.tree, key, value.bytes)
        }
    }

    private mutating func takeListNumber() throws(StorageError) -> UInt32 {
        guard nextListNumber < .max else {
            throw .invalid("the text index “\(index.prefix)” has used up its numbers of posting lists: rebuild it")
        }
        defer { nextListNumber += 1 }
        return nextListNumber
    }

    private static func sum(_ stored: UInt64, _ difference: Int64) -> UInt64? {
        let (sum, overflows) = Int64(clamping: stored).addingReportingOverflow(difference)
        return overflows || sum < 0 ? nil : UInt64(sum)
    }

    private func outOfStep() -> StorageError {
        index.corrupt(index.termsName, "the frequencies of a term don't agree with its posting list")
    }
}

// Postings in memory.
extension PostingListEditor {
    private mutating func decodeInline(_ entry: TermEntry?) throws(StorageError) {
        decoded.removeAll()
        guard let entry else { return }
        guard entry.decodeInline(storesPositions: storesPositions, to: &decoded) else {
            throw index.unreadableEntry()
        }
    }

    /// Fills in the lengths of postings that came from the dictionary.
    private mutating func loadLengths() throws(StorageError) {
        for place in 0..<merged.count { merged.lengths[place] = try lengths.length(of: merged.docnos[place]) }
    }

    private mutating func loadFields() throws(StorageError) {
        guard storesPositions, hasFields else { return }
        var position = 0
        for place in 0..<merged.count {
            let end = position + Int(merged.frequencies[place])
            let positions = UnsafeBufferPointer(start: merged.positions + position, count: end - position)
            let counts = try fieldEnds.ends(of: merged.docnos[place]).counts(positions)
            merged.makeFields()
            merged.setFields(place, counts)
            position = end
        }
    }

    /// Appends the decoded postings and the changes in `range` to `merged`. The positions of these changes begin at
    /// `start` of the changes' positions. Returns where they end.
    private mutating func merge(
        _ changes: borrowing TermChanges, _ range: Range<Int>, positionsFrom start: Int
    ) throws(StorageError) -> Int {
        var position = start
        if decoded.count == 0 || decoded.docnos[decoded.count - 1] < changes.postings.docnos[range.lowerBound] {
            keep(0..<decoded.count, positionsFrom: 0)
            if changes.existed.isEmpty { return add(changes, range, positionsFrom: start) }
        }
        var (old, oldPosition) = (0, 0)
        if merged.count > 0 { old = decoded.count }
        for place in range {
            let docno = changes.postings.docnos[place]
            let kept = old
            let keptPosition = oldPosition
            while old < decoded.count, decoded.docnos[old] < docno {
                oldPosition += Int(decoded.frequencies[old])
                old += 1
            }
            keep(kept..<old, positionsFrom: keptPosition)
            let exists = old < decoded.count && decoded.docnos[old] == docno
            guard exists == changes.mustExist(place) else { throw stateDisagrees(docno, exists) }
            if exists {
                removed.append(decoded.frequencies[old])
                addedDocuments -= 1
                addedOccurrences -= Int64(decoded.frequencies[old])
                oldPosition += Int(decoded.frequencies[old])
                old += 1
            }
            guard changes.postings.frequencies[place] > 0 else { continue }
            position = add(changes, place..<place + 1, positionsFrom: position)
        }
        keep(old..<decoded.count, positionsFrom: oldPosition)
        return position
    }

    private func stateDisagrees(_ docno: UInt32, _ exists: Bool) -> StorageError {
        index.corrupt(
            index.postingsName,
            "the index \(exists ? "has" : "lacks") a term of document \(docno) that its former text "
                + "\(exists ? "lacks" : "has"): index and text disagree")
    }

    /// Appends changes that are all new postings. Returns where their positions end.
    private mutating func add(_ changes: borrowing TermChanges, _ range: Range<Int>, positionsFrom start: Int) -> Int {
        let occurrences = merged.append(changes.postings, range, positionsFrom: storesPositions ? start : nil)
        addedDocuments += Int64(range.count)
        addedOccurrences += Int64(occurrences)
        return start + occurrences
    }

    private mutating func keep(_ range: Range<Int>, positionsFrom start: Int) {
        if !range.isEmpty { merged.append(decoded, range, positionsFrom: storesPositions ? start : nil) }
    }
}

// Posting lists in runs.
extension PostingListEditor {
    /// Applies the changes run by run. A run takes the changes up to the first document of the next run.
    private mutating func edit(_ number: UInt32, _ changes: borrowing TermChanges) throws(StorageError) {
        var (start, position) = (0, 0)
        while start < changes.count {
            let first = try findRun(number, changes.postings.docnos[start])
            let isLast = decoded.docnos[decoded.count - 1] < changes.postings.docnos[start]
            let next = try cursor.next() ? PostingKey(cursor.key, list: number)?.first : nil
            var end = start + 1
            while end < changes.count, next.map({ changes.postings.docnos[end] < $0 }) ?? true { end += 1 }
            merged.removeAll()
            if let lastWritten, changes.postings.docnos[start] <= lastWritten { changesWritten = true }
            position = try merge(changes, start..<end, positionsFrom: position)
            var replaced = [first]
            if merged.count > 0, merged.count < Self.smallRun {
                if let joined = try joinNeighbour(number, of: first, next: next) { replaced.append(joined) }
            }
            let kept = merged.count == 0 ? nil : merged.docnos[0]
            for old in replaced where old != kept { try delete(PostingKey(list: number, first: old)) }
            try writeRuns(number, packs: next == nil && isLast, isNew: false)
            start = end
        }
        merged.removeAll()
    }

    /// Moves the cursor to the run that holds or would hold `docno`, and decodes it. Returns its first document.
    private mutating func findRun(_ number: UInt32, _ docno: UInt32) throws(StorageError) -> UInt32 {
        decoded.removeAll()
        let isThere = try PostingKey(list: number, first: docno).withBytes { (key) throws(StorageError) in
            try cursor.seekLast(key)
        }
        if isThere, let key = PostingKey(cursor.key, list: number) {
            try decode(key)
            return key.first
        }
        let isBehind = try PostingKey(list: number, first: 0).withBytes { (key) throws(StorageError) in
            try cursor.seek(key)
        }
        guard isBehind, let key = PostingKey(cursor.key, list: number) else { throw outOfStep() }
        try decode(key)
        return key.first
    }

    /// Appends the run under the cursor, which has this key, to `decoded`, with positions and lengths.
    private mutating func decode(_ key: PostingKey) throws(StorageError) {
        let bytes = cursor.value
        guard directory.read(bytes, first: key.first) else { throw unreadable(key) }
        var positions = Bytes(start: nil, count: 0)
        if storesPositions {
            let found = try key.withBytes { (key) throws(StorageError) in try transaction.get(trees.positions, key) }
            guard let found else { throw positionsUnreadable(key) }
            positions = found
        }
        for block in 0..<directory.count {
            let (size, start) = (directory.size(block), decoded.count)
            decoded.reserve(postings: PostingRun.blockCapacity)
            guard
                directory.decode(
                    block, of: bytes, docnos: decoded.docnos + start, frequencies: decoded.frequencies + start)
            else { throw unreadable(key) }
            for place in start..<start + size {
                decoded.lengths[place] = try lengths.length(of: decoded.docnos[place])
            }
            decoded.added(postings: size)
            try decodeFields(block, of: bytes, key, at: start)
            if storesPositions {
                guard let block = PositionBlock.find(block, of: directory.count, in: positions),
                    positionBlock.open(block, frequencies: decoded.frequencies + start, count: size),
                    positionBlock.appendAll(size, to: &decoded)
                else { throw positionsUnreadable(key) }
            }
        }
    }

    /// Sets the per-field counts of the block's postings, which were appended to `decoded` from index `start` on.
    private mutating func decodeFields(
        _ block: Int, of run: Bytes, _ key: PostingKey, at start: Int
    ) throws(StorageError) {
        guard let fieldsStart = directory.fieldsStart else { return }
        let all = FieldPlaces.all
        let isRead = block > 0 || runFields.read(Bytes(rebasing: run[fieldsStart...]), of: directory)
        guard isRead,
            runFields.decode(
                block, all, frequencies: decoded.frequencies + start, count: directory.size(block), to: columns)
        else { throw unreadable(key) }
        decoded.makeFields()
        let places = runFields.places(block)
        for place in 0..<directory.size(block) { decoded.setFields(start + place, columns.counts(place, places)) }
    }

    /// Adds the next run, or the previous one if there is none, to `merged` if the two together are still small.
    /// Returns the first document of the added run, or nil.
    private mutating func joinNeighbour(
        _ number: UInt32, of first: UInt32, next: UInt32?
    ) throws(StorageError) -> UInt32? {
        var neighbour = next.map { PostingKey(list: number, first: $0) }
        if neighbour == nil {
            let isThere = try PostingKey(list: number, first: first).withBytes { (key) throws(StorageError) in
                try cursor.seek(key)
            }
            if isThere, try cursor.previous() { neighbour = PostingKey(cursor.key, list: number) }
        }
        guard let neighbour else { return nil }
        let isThere = try neighbour.withBytes { (key) throws(StorageError) in try cursor.seek(key) }
        guard isThere else { return nil }
        decoded.removeAll()
        try decode(neighbour)
        guard decoded.count + merged.count <= Self.joinedLimit else { return nil }
        // The neighbour's postings go behind the merged ones, or before them.
        if next == nil { decoded.append(merged, 0..<merged.count, positionsFrom: storesPositions ? 0 : nil) }
        if next == nil { merged.removeAll() }
        keep(0..<decoded.count, positionsFrom: 0)
        try requireAscending()
        return neighbour.first
    }

    private func requireAscending() throws(StorageError) {
        for place in 1..<max(merged.count, 1) where merged.docnos[place - 1] >= merged.docnos[place] {
            throw index.corrupt(index.postingsName, "runs of a posting list overlap")
        }
    }

    private func delete(_ key: PostingKey) throws(StorageError) {
        try key.withBytes { (bytes) throws(StorageError) in
            _ = try transaction.delete(trees.postings, bytes)
            if storesPositions { _ = try transaction.delete(trees.positions, bytes) }
        }
    }

    /// Writes `merged` as runs. They are full if more will be appended. Otherwise they have the same size, so that each
    /// has room: splitting off only the rest of a full run would make another small run with each change.
    private mutating func writeRuns(_ number: UInt32, packs: Bool, isNew: Bool) throws(StorageError) {
        var perRun = PostingRun.blockLimit
        if !packs { perRun = PostingRun.even(PostingRun.blocks(merged.count), most: perRun) }
        var (start, position) = (0, 0)
        while start < merged.count {
            var end = endOfRun(start, blocks: perRun)
            var positionEnd = encode(start..<end, positionsFrom: position)
            let left = PostingRun.blocks(merged.count - start)
            let fitting = try blocksThatFit(PostingRun.blocks(end - start), isNew)
            if fitting < min(perRun, left) {
                if !packs { perRun = PostingRun.even(left, most: fitting) }
                let fittingEnd = start + min(fitting, perRun) * PostingRun.blockCapacity
                if fittingEnd < end {
                    end = fittingEnd
                    positionEnd = encode(start..<end, positionsFrom: position)
                }
            }
            let key = PostingKey(list: number, first: merged.docnos[start])
            try put(trees.postings, key, run.bytes, isNew)
            if storesPositions { try put(trees.positions, key, positionRun.bytes, isNew) }
            countWritten(start..<end)
            cost += Self.blockCost * PostingRun.blocks(end - start)
            (start, position) = (end, positionEnd)
        }
    }

    /// Encodes the run of these postings and their positions, which begin at `start`. Returns where the positions end.
    private mutating func encode(_ range: Range<Int>, positionsFrom start: Int) -> Int {
        run.removeAll()
        runs.encode(merged, range, to: &run, bounds: &frontier, fields: &fields)
        guard storesPositions else { return start }
        positionRun.removeAll()
        return positionRuns.encode(merged, range, positionsFrom: start, to: &positionRun)
    }

    /// Returns how many of the encoded blocks become a run. A run must lie in a leaf. An appended run is limited to the
    /// room in the last leaf if at least two blocks fit there; otherwise each leaf would end with half a run's worth of
    /// unused space.
    private func blocksThatFit(_ blocks: Int, _ isNew: Bool) throws(StorageError) -> Int {
        func most(_ size: Int, of blocks: Int, _ sizes: InlineArray<8, Int>) -> Int {
            var fitting = blocks
            while fitting > 0, sizes[fitting - 1] > size { fitting -= 1 }
            return fitting
        }
        var fitting = max(most(runLimit, of: blocks, runs.sizes), 1)
        if storesPositions { fitting = max(most(positionRunLimit, of: fitting, positionRuns.sizes), 1) }
        guard isNew, fitting > 1 else { return fitting }
        let room = most(
            try transaction.roomInLastLeaf(trees.postings, keySize: PostingKey.size), of: fitting, runs.sizes)
        if room > 1 { fitting = room }
        guard storesPositions else { return fitting }
        let positionRoom = most(
            try transaction.roomInLastLeaf(trees.positions, keySize: PostingKey.size), of: fitting,
            positionRuns.sizes)
        return positionRoom > 1 ? positionRoom : fitting
    }

    /// Counts written postings, each once. Runs ascend, but a run may be written again together with a neighbour.
    private mutating func countWritten(_ range: Range<Int>) {
        let first = lastWritten.map { last in range.first { merged.docnos[$0] > last } ?? range.upperBound }
        let new = (first ?? range.lowerBound)..<range.upperBound
        written += new.count
        for place in new { leaders.add(Bound(frequency: merged.frequencies[place], length: merged.lengths[place])) }
        lastWritten = max(lastWritten ?? 0, merged.docnos[range.upperBound - 1])
    }

    /// Returns the upper limit of the end of a run that begins with the posting at `start`.
    private func endOfRun(_ start: Int, blocks: Int) -> Int {
        guard storesPositions else { return min(start + blocks * PostingRun.blockCapacity, merged.count) }
        var (end, all) = (start, 0)
        for _ in 0..<blocks where end < merged.count {
            let blockEnd = min(end + PostingRun.blockCapacity, merged.count)
            var (place, positions) = (end, 0)
            while place < blockEnd {
                positions += Int(merged.frequencies[place])
                // If documents have very many occurrences, a block has few of them, and is the run's last.
                if positions > Self.mostBlockPositions, place > end { return end > start ? end : place }
                place += 1
            }
            // A leaf doesn't hold more, so encoding more would be wasted.
            all += positions
            if end > start, all > Self.mostPositions { return end }
            end = blockEnd
        }
        return end
    }

    /// Writes a run. A new list has the greatest list number so far, so its runs are appended.
    private func put(
        _ tree: TreeID, _ key: PostingKey, _ bytes: Bytes, _ isNew: Bool
    ) throws(StorageError) {
        try key.withBytes { (key) throws(StorageError) in
            if isNew { try transaction.append(tree, key, bytes) } else { try transaction.put(tree, key, bytes) }
        }
    }

    /// Moves a whole list from its trees to `merged`.
    private mutating func collectAndDelete(_ number: UInt32, expected: Int) throws(StorageError) {
        decoded.removeAll()
        merged.removeAll()
        var isThere = try PostingKey(list: number, first: 0).withBytes { (key) throws(StorageError) in
            try cursor.seek(key)
        }
        while isThere, let key = PostingKey(cursor.key, list: number) {
            try decode(key)
            guard decoded.count <= expected else { throw outOfStep() }
            isThere = try cursor.next()
        }
        guard decoded.count == expected else { throw outOfStep() }
        keep(0..<decoded.count, positionsFrom: 0)
        try requireAscending()
        let from = PostingKey(list: number, first: 0).bytes
        var to = PostingKey(list: number, first: .max).bytes
        to.append(0xFF)
        _ = try transaction.deleteRange(trees.postings, from: from, to: to)
        if storesPositions { _ = try transaction.deleteRange(trees.positions, from: from, to: to) }
    }

    private func unreadable(_ key: PostingKey) -> StorageError {
        index.corrupt(index.postingsName, PostingKey.unreadable(key))
    }

    private func positionsUnreadable(_ key: PostingKey) -> StorageError {
        index.corrupt(index.positionsName, "the positions of " + PostingKey.unreadable(key))
    }
}
