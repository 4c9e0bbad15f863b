// SPDX-License-Identifier: Apache-2.0
// Savepoints of a write transaction: its states that it can go back to. There is no undo log: a savepoint raises the
// birth, so that copy-on-write itself keeps the state before.
//
//   births    firstBirth ……… lastBirth │ lastBirth + 1 ………… birth
//             │ the start's pages        │ pages since the savepoint: changed in place, freed at once,
//             │ never changed again      │ all forgotten by rolling back
//             └ kept if freed: `freed` from `freedCount` on
//
// Releasing a savepoint gives its pages to the savepoint before it. Births are never given back.

/// The numbers of entries that a transaction's trees have gained and lost.
struct EntryChange {
    var added: Int64 = 0
    var removed: Int64 = 0
}

/// The state that rolling back restores.
struct PageSavepoint {
    /// The newest birth of pages from before it.
    var lastBirth: UInt64
    /// `PageWriter.ownBirth` before it.
    var formerOwnBirth: UInt64
    /// Number of pages freed before it.
    var freedCount: Int
    var entryChange: EntryChange
}

extension PageWriter {
    /// Makes a savepoint inside the last one. From here on all older pages are copied before they change. All leaves
    /// must have their places. Throws `.unsupported` at the last transaction number.
    package func addSavepoint() throws(StorageError) {
        guard isOpen else { throw .invalid("the transaction has ended") }
        guard birth + 1 < FileFormat.maximumNumber else {
            throw .unsupported("\(store.file.path) has used up its transaction numbers: copy it to a new store")
        }
        savepoints.append(
            PageSavepoint(
                lastBirth: birth, formerOwnBirth: ownBirth, freedCount: freed.count, entryChange: entryChange))
        birth += 1
        ownBirth = birth
        side.frames.beginSavepoint(firstBirth: birth)
    }

    /// Undoes all changes of pages since the `index`-th savepoint. It stays; the savepoints inside it go. Ends all
    /// addresses of frames. The caller must restore the root.
    package func rollBack(to index: Int) {
        let savepoint = savepoints[index]
        // In this order, because some of the freed pages go themselves.
        for page in freed[savepoint.freedCount...] { side.space.unreserve(page.run) }
        freed.removeSubrange(savepoint.freedCount...)
        side.frames.rollBack(to: index) { side.release($0) }
        releaseOpenLongPages(from: savepoint.lastBirth + 1)
        entryChange = savepoint.entryChange
        side.unplaced.removeAll()
        savepoints.removeSubrange((index + 1)...)
        ownBirth = savepoint.lastBirth + 1
    }

    /// Forgets the `index`-th savepoint and those inside it. Changes since then stay.
    package func releaseSavepoints(from index: Int) {
        let savepoint = savepoints[index]
        savepoints.removeSubrange(index...)
        ownBirth = savepoint.formerOwnBirth
        side.frames.mergeSavepoints(from: index)
        // The transaction's own pages that only the savepoint needed.
        let later = freed[savepoint.freedCount...]
        freed.removeSubrange(savepoint.freedCount...)
        for page in later {
            if page.birth >= ownBirth {
                side.space.unreserve(page.run)
                _ = freeOwn(page.run, keepPlace: false)
            } else {
                freed.append(page)
            }
        }
    }
}
