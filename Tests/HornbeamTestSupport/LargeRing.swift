// SPDX-License-Identifier: Apache-2.0
// Options for tests that count the records and places in a new file.

package import HornbeamPages

extension StoreOptions {
    /// A new file's journal has 1 MiB, an extent of its own: so a few commits cause no checkpoint, and the tests know
    /// every place.
    package static var withLargeRing: StoreOptions {
        var options = StoreOptions()
        options.firstRingSectors = FileFormat.extentSectors
        return options
    }
}
