// SPDX-License-Identifier: Apache-2.0
// Options of tests that count records and places in a new file.

package import HornbeamPages

extension StoreOptions {
    /// A new file's journal has 1 MiB, an extent of its own: a few commits cause no checkpoint, and every place is as
    /// the tests expect.
    package static var withLargeRing: StoreOptions {
        var options = StoreOptions()
        options.firstRingSectors = FileFormat.extentSectors
        return options
    }
}
