// SPDX-License-Identifier: Apache-2.0
// An import of this module imports the database too.

@_exported public import Hornbeam
