// SPDX-License-Identifier: Apache-2.0
// The engines of this build.

/// Every engine that this build knows: a peer is there if its header was installed.
let allEngines: [any Engine.Type] = {
    var engines: [any Engine.Type] = [HornbeamEngine.self, EncryptedHornbeamEngine.self]
    #if PEER_LMDB
        engines.append(LMDBEngine.self)
    #endif
    #if PEER_SQLITE
        engines.append(SQLiteEngine.self)
    #endif
    #if PEER_ROCKSDB
        engines.append(RocksDBEngine.self)
    #endif
    return engines
}()
