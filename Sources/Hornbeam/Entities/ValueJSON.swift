// SPDX-License-Identifier: Apache-2.0
// A single value as JSON, in the form that JSON rows have.

extension Value {
    /// JSON text that reads back as this value.
    package var json: String { JSONRows.node(self).text }
}
