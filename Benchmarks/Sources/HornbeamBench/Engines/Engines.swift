// SPDX-License-Identifier: Apache-2.0
// The engines of this build.

/// All engines of this build. A peer is included if its header was installed.
let allEngines: [any Engine.Type] = {
    var engines: [any Engine.Type] = [
        HornbeamEngine.self, EncryptedHornbeamEngine.self, LargeCacheHornbeamEngine.self,
    ]
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
