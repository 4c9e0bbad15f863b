// SPDX-License-Identifier: Apache-2.0
// One type in two versions of the program. Each version migrates the tables that the other one has left.

import Foundation
import Hornbeam

enum Early {
    @EntityModel
    struct Log {
        let id: Int
        var text: String
        var extra: String? = "extra"
    }

    static var migrations: [Migration] {
        [
            .rename(Late.Entry.entityName, to: Log.self), .rename(Log.self, "body", to: \.text),
            .convert(Log.self, \.text, from: Int.self) { "\($0)" }, .forget(Log.self, "added"),
        ]
    }
}

enum Late {
    @EntityModel
    struct Entry {
        let id: Int
        var body: Int
        var added: Date = Date(timeIntervalSinceReferenceDate: 1)
    }

    static var migrations: [Migration] {
        [
            .rename(Early.Log.entityName, to: Entry.self), .rename(Entry.self, "text", to: \.body),
            .convert(Entry.self, \.body, from: String.self) { Int($0) ?? 0 }, .forget(Entry.self, "extra"),
        ]
    }
}
