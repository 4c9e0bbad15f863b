// SPDX-License-Identifier: Apache-2.0
// The check of everything that a context sees, for tests: each problem is recorded as an issue.

import Testing

@testable import Hornbeam
@testable import HornbeamEngine

extension Context {
    /// Returns whether rows, ids, indexes, links and deleted entities agree.
    func isWhole(_ location: SourceLocation = #_sourceLocation) throws -> Bool {
        let core = try session.core
        try core.flush()
        return try EntityCheck(core).run { Issue.record("\($0)", sourceLocation: location) }
    }
}

extension Database.Options {
    /// Keeps all deleted entities.
    static var keepsAll: Self {
        var options = Self()
        options.keepsDeleted = .forever
        return options
    }
}
