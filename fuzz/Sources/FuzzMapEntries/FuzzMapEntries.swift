// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry point for fuzzMapEntries: see Tests/HornbeamFuzzing.

import HornbeamFuzzing

@c(LLVMFuzzerTestOneInput)
public func fuzzOne(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    fuzzMapEntries(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}
