// SPDX-License-Identifier: Apache-2.0
// Map/reduce indexes and views are used with the typed API: whoever imports this module has it too.

@_exported public import Hornbeam
