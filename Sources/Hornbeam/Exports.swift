// SPDX-License-Identifier: Apache-2.0
// The public names of the engine and of the statements are Hornbeam's own.

@_exported public import HornbeamStatements
