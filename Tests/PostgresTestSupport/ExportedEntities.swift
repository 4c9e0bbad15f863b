// SPDX-License-Identifier: Apache-2.0
// The content of a store, in a form that tests compare.

package import Hornbeam
import HornbeamTree

/// The entities of a store as `hornbeam export` has them, by type.
package func exportedEntities(of database: Database) throws -> [String: [String]] {
    try database.read { context in
        try context.session.run { session in
            let core = try session.core
            var lines: [String: [String]] = [:]
            for type in core.schema.typeNames {
                let rows = try JSONRows(type, core: core)
                var found: [String] = []
                try core.store(type).forEachRow { rowID, row in
                    found.append(try rows.line(rowID, row))
                    return true
                }
                lines[type] = found.sorted()
            }
            return lines
        }
    }
}
