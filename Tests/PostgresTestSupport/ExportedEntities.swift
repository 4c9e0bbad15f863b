// SPDX-License-Identifier: Apache-2.0
// The content of a store, in a form that tests compare.

package import Hornbeam
import HornbeamTree

/// The entities of a store as `hornbeam export` has them, by type. The members of each come by name: columns that came
/// and went by migrations leave the others in another order than a new store has them.
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
