// SPDX-License-Identifier: Apache-2.0
// Statements run in the engine's transactions, so this module re-exports the engine.

@_exported public import HornbeamEngine
