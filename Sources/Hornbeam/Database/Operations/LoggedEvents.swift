// SPDX-License-Identifier: Apache-2.0
// The messages and values of log entries for events of the file, the schema and the indexes.

import HornbeamPages

extension OperationWatch {
    /// Runs in a thread of the store that holds its locks, so it only adds entries.
    func note(_ event: StoreEvent) {
        switch event {
        case .recovered(let commits, let transaction):
            note(
                .info, .recovered, "recovered \(Spelling.counted(commits, "commit")) from the journal",
                ["commits": .int(Int64(commits)), "transaction": .uint(transaction)])
        case .checkpointed(let transaction, let pageBytes, let journalBytes, let duration):
            note(
                .debug, .checkpoint,
                "checkpoint of \(Spelling.bytes(UInt64(max(0, pageBytes)))) in \(Spelling.time(duration))",
                [
                    "transaction": .uint(transaction), "pageBytes": .int(Int64(pageBytes)),
                    "journalBytes": .uint(journalBytes), "seconds": .double(duration.inSeconds),
                ])
            noteCheckpoint()
        case .checkpointFailed(let error):
            note(.warning, .checkpointFailed, "a checkpoint failed: \(error)", ["error": .string("\(error)")])
        case .shrunk(let before, let after):
            note(
                .info, .shrunk, "the file was shortened from \(Spelling.bytes(before)) to \(Spelling.bytes(after))",
                ["bytesBefore": .uint(before), "bytesAfter": .uint(after)])
        case .shrinkingFailed(let error):
            note(.warning, .shrinkingFailed, "the file wasn't shortened: \(error)", ["error": .string("\(error)")])
        case .failed(let error):
            note(
                .error, .failed, "the file takes no more writes: \(error); open the database anew",
                ["error": .string("\(error)")])
        }
    }

    func noteOpening(_ figures: Database.Statistics, _ duration: Duration) {
        note(
            .info, .opened, "opened \(path), \(Spelling.bytes(figures.usedBytes)) used",
            [
                "path": .string(path), "seconds": .double(duration.inSeconds), "fileBytes": .uint(figures.fileBytes),
                "usedBytes": .uint(figures.usedBytes), "transaction": .uint(figures.transaction),
            ])
    }

    func noteClosing() { note(.info, .closed, "closed \(path)", ["path": .string(path)]) }

    func noteMigration(_ duration: Duration) {
        note(
            .info, .migrated, "the file fits the models, after \(Spelling.time(duration))",
            ["seconds": .double(duration.inSeconds)])
    }

    // MARK: Index builds

    func noteBuild(of index: IndexRegistration) {
        note(
            .info, .indexBuildBegan, "index “\(index.name)” of \(index.entity) is being built",
            ["index": .string(index.name), "entity": .string(index.entity)])
    }

    /// Notes the end of a build.
    /// - Parameter obstacle: the reason for an early end, or nil if the index is built.
    func noteBuild(of index: IndexRegistration, after duration: Duration, endedBy obstacle: String? = nil) {
        var values: [String: Value] = [
            "index": .string(index.name), "entity": .string(index.entity), "seconds": .double(duration.inSeconds),
        ]
        guard let obstacle else {
            let message = "index “\(index.name)” of \(index.entity) was built in \(Spelling.time(duration))"
            return note(.info, .indexBuilt, message, values)
        }
        values["error"] = .string(obstacle)
        note(
            .warning, .indexBuildEnded, "the build of index “\(index.name)” of \(index.entity) ended: \(obstacle)",
            values)
    }
}
