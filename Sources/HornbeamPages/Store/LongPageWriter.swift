// SPDX-License-Identifier: Apache-2.0
// Writes a long value's page piece by piece to its place in the file. Nothing refers to the place before the
// transaction commits.
//
//   open ──finish──▶ belongs to the transaction, like any page of it
//     └──cancel, a failed write, a rollback to before it, the transaction's end──▶ given up, its place free

/// The places of one transaction's unfinished long values, each by a number that is never used again: the writer of a
/// value that was given up must not take a later value at its place for its own.
struct OpenLongPages {
    private struct Place {
        var run: SectorRun
        var birth: UInt64
    }

    private var places: [UInt64: Place] = [:]
    private var next: UInt64 = 0

    /// Notes a place that is taken in a transaction whose pages have `birth`. Returns the place's number.
    mutating func add(_ run: SectorRun, birth: UInt64) -> UInt64 {
        defer { next += 1 }
        places[next] = Place(run: run, birth: birth)
        return next
    }

    var runs: [SectorRun] { places.values.map(\.run) }

    func contains(_ number: UInt64) -> Bool { places[number] != nil }

    /// Removes a place and returns it; nil if it was given up before.
    mutating func remove(_ number: UInt64) -> SectorRun? { places.removeValue(forKey: number)?.run }

    /// Removes the places that were taken at this birth or later, and returns them.
    mutating func removeAll(from birth: UInt64 = 0) -> [SectorRun] {
        if places.isEmpty { return [] }
        let gone = places.filter { $0.value.birth >= birth }
        for number in gone.keys { places.removeValue(forKey: number) }
        return gone.values.map(\.run)
    }
}

/// Belongs to one write transaction, but may outlive its end. A value that isn't finished is given up.
package final class LongPageWriter {
    /// Size of the value, in bytes.
    package let size: UInt64
    /// Birth of the page, once it is finished.
    package private(set) var birth: UInt64
    private let pages: PageWriter
    private let number: UInt64
    private var page: LongPageBuilder

    /// Takes the place of a value of `size` bytes. Throws `.full` when no space is left.
    package init(_ pages: PageWriter, size: UInt64) throws(StorageError) {
        guard pages.isOpen else { throw .invalid("the transaction has ended") }
        self.pages = pages
        self.size = size
        birth = pages.birth
        // Pieces reach the file before the transaction ends, which may happen without a commit.
        pages.side.usedNumber = Swift.max(pages.side.usedNumber, birth)
        let cipher = pages.side.verification.cipher
        let sectors = LongPage.sectors(size, isSealed: cipher != nil)
        let run = SectorRun(start: try pages.takeRun(sectors), count: sectors)
        number = pages.openLongPages.add(run, birth: birth)
        page = LongPageBuilder(run: run, size: size, cipher: cipher)
    }

    deinit { cancel() }

    /// The page's number. Only a finished page may be referred to.
    package var pageNumber: UInt64 { page.run.start }

    private func ensureOpen() throws(StorageError) {
        guard pages.isOpen, pages.openLongPages.contains(number) else {
            throw .invalid("the value takes no more bytes: it is finished or rolled back, or its transaction has ended")
        }
    }

    /// Adds the value's next bytes. Throws `.invalid` if there are too many. A failed write gives the value up.
    package func append(_ bytes: Bytes) throws(StorageError) {
        try ensureOpen()
        guard UInt64(bytes.count) <= size - page.count else {
            throw .invalid("the value was begun with a size of \(size) bytes: give no more")
        }
        do throws(StorageError) {
            try pages.checkWritable()
            try page.append(bytes, to: pages.side.file)
        } catch {
            cancel()
            throw error
        }
    }

    /// Writes the rest. From then on the page belongs to the transaction, which must refer to it or free it. The whole
    /// value must have been added; otherwise throws `.invalid`, and adding may go on. A failed write gives the value
    /// up.
    package func finish() throws(StorageError) {
        try ensureOpen()
        guard page.count == size else {
            throw .invalid("the value was begun with a size of \(size) bytes, but has \(page.count)")
        }
        // Born now, not when it was begun: savepoints made since then don't have it.
        birth = pages.birth
        do throws(StorageError) {
            try pages.checkWritable()
            try page.finish(birth: birth, to: pages.side.file)
        } catch {
            cancel()
            throw error
        }
        guard let run = pages.openLongPages.remove(number) else { return }
        pages.side.usedNumber = Swift.max(pages.side.usedNumber, birth)
        pages.side.frames.addSpilled(run)
    }

    /// Gives the value up. Has no effect once it is finished or given up.
    package func cancel() {
        // In a forked child the place is the parent's, as in `PageWriter.abort`.
        guard pages.isOpen, pages.store.isHere, let run = pages.openLongPages.remove(number) else { return }
        pages.side.release(run)
    }
}
