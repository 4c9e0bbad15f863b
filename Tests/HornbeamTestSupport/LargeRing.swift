// SPDX-License-Identifier: Apache-2.0
// Options of tests that count records and places in a new file.

package import HornbeamPages

extension StoreOptions {
    /// A new file's journal has 1 MiB, an extent of its own: no checkpoint comes of a few commits, and every place is
    /// where the tests say.
    package static var withLargeRing: StoreOptions {
        var options = StoreOptions()
        options.firstRingSectors = FileFormat.extentSectors
        return options
    }
}
