// SPDX-License-Identifier: Apache-2.0
// Statements are asked of the engine's transactions: whoever imports this module has both.

@_exported public import HornbeamEngine
