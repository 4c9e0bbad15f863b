// SPDX-License-Identifier: Apache-2.0
// Closures where a query has key paths.

import Hornbeam

@EntityModel
struct Clipping {
    let id: Int
    var title: String
    var isKept = false
}

func closures(_ context: Context) throws {
    _ = try Clipping.filter(\.isKept).sorted(by: \.title).resolve(in: context).filter { $0.title.isEmpty }
    #if REFUSED
        // refused: write 'filter(\.age > 3)', 'filter(.string(\.name, contains: …))'
        _ = try Clipping.filter { $0.title == "x" }.resolve(in: context)
        // refused: write 'filter(\.age > 3)', 'filter(.string(\.name, contains: …))'
        _ = try Clipping.query().filter { $0.isKept }.resolve(in: context)
        // refused: a query is sorted by key paths
        _ = try Clipping.query().sorted { $0.title < $1.title }.resolve(in: context)
    #endif
}
