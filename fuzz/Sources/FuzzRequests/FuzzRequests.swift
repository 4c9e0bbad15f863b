// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry point for fuzzRequests: see Tests/HornbeamFuzzing.

import HornbeamFuzzing

@c(LLVMFuzzerTestOneInput)
public func fuzzOne(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    fuzzRequests(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}
