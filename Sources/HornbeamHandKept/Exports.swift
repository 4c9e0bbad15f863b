// SPDX-License-Identifier: Apache-2.0
// Hand-kept indexes are used with the typed API, so this module re-exports it.

@_exported public import Hornbeam
