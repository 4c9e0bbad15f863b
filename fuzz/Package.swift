// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// libFuzzer's targets, one for each boundary. They are a package of their own, so that only `make fuzz` builds them.

import PackageDescription

let targets = [
    "FuzzFile", "FuzzJournal", "FuzzNode", "FuzzStore", "FuzzKeys", "FuzzRows", "FuzzText", "FuzzPostings",
    "FuzzTokens", "FuzzTextQueries", "FuzzMapEntries", "FuzzStatements", "FuzzKeySlots",
    "FuzzRequests",
]

let package = Package(
    name: "hornbeam-fuzz",
    dependencies: [.package(name: "hornbeam", path: "..")],
    targets: targets.map {
        .executableTarget(
            name: $0, dependencies: [.product(name: "_HornbeamFuzzing", package: "hornbeam")],
            swiftSettings: [.swiftLanguageMode(.v6)])
    }
)
