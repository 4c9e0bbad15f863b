// SPDX-License-Identifier: Apache-2.0
// Whoever imports encryption has the database, too.

@_exported public import Hornbeam
