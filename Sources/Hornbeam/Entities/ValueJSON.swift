// SPDX-License-Identifier: Apache-2.0
// JSON for the command: the text of a value in the form of JSON rows, and the flaw of a text that is no JSON.

package import HornbeamPages

extension Value {
    /// JSON text that reads back as this value.
    package var json: String { JSONRows.node(self).text }

    /// Says why the bytes are no JSON value, and at which place; nil if they are a JSON value.
    package static func flaw(inJSON bytes: Bytes) -> String? {
        do throws(HornbeamError) {
            _ = try JSONParser.parse(bytes)
            return nil
        } catch {
            return error.message
        }
    }
}
