// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry point for fuzzKeySlots: see Tests/HornbeamFuzzing.

import HornbeamFuzzing

@c(LLVMFuzzerTestOneInput)
public func fuzzOne(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    fuzzKeySlots(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}
