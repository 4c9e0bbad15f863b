// SPDX-License-Identifier: Apache-2.0
// JSON for the command: a value in the form that JSON rows have, and what is wrong with a text.

package import HornbeamPages

extension Value {
    /// JSON text that reads back as this value.
    package var json: String { JSONRows.node(self).text }

    /// Why the bytes are no JSON value, and where; nil if they are one.
    package static func flaw(inJSON bytes: Bytes) -> String? {
        do throws(HornbeamError) {
            _ = try JSONParser.parse(bytes)
            return nil
        } catch {
            return error.message
        }
    }
}
