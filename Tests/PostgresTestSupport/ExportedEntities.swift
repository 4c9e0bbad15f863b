// SPDX-License-Identifier: Apache-2.0
// The content of a store, in a form that tests can compare.

package import Hornbeam
import HornbeamTree

/// Returns the entities of a store by type, as `hornbeam export` writes them, with their members ordered by name:
/// migrations leave columns in another order than a new store has.
package func exportedEntities(of database: Database) throws -> [String: [String]] {
    try database.read { context in
        try context.session.run { session in
            let core = try session.core
            var lines: [String: [String]] = [:]
            for type in core.schema.typeNames {
                let rows = try JSONRows(type, core: core)
                var found: [String] = []
                try core.store(type).forEachRow { rowID, row in
                    let line = try rows.line(rowID, row)
                    guard case .object(let members) = try JSONParser.parse(line) else {
                        throw PostgresServerError("no object: \(line)")
                    }
                    found.append(JSONNode.object(members.sorted { $0.name < $1.name }).text)
                    return true
                }
                lines[type] = found.sorted()
            }
            return lines
        }
    }
}
