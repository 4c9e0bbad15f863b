// SPDX-License-Identifier: Apache-2.0
// Secondary indexes are used with the typed API, so this module re-exports it.

@_exported public import Hornbeam
