// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// The benchmarks: a package of their own, so that whoever embeds Hornbeam needs neither the peers nor this.
// A peer takes part if its header is installed; the plain run needs none.

import PackageDescription

#if canImport(Glibc)
    import Glibc
#endif

func isInstalled(_ header: String) -> Bool {
    access("/usr/include/\(header)", R_OK) == 0
}

var targets: [Target] = []
var peers: [Target.Dependency] = []
var settings: [SwiftSetting] = [.swiftLanguageMode(.v6)]

if isInstalled("lmdb.h") {
    targets.append(.systemLibrary(name: "CLMDB", providers: [.apt(["liblmdb-dev"])]))
    peers.append("CLMDB")
    settings.append(.define("PEER_LMDB"))
}
if isInstalled("sqlite3.h") {
    targets.append(.systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]))
    peers.append("CSQLite")
    settings.append(.define("PEER_SQLITE"))
}
// SQLCipher has SQLite's names, so it takes SQLite's place in hornbeam-bench: HORNBEAM_BENCH_SQLCIPHER=1.
if Context.environment["HORNBEAM_BENCH_SQLCIPHER"] != nil, isInstalled("sqlcipher/sqlite3.h") {
    targets.append(.systemLibrary(name: "CSQLCipher", providers: [.apt(["libsqlcipher-dev"])]))
    peers.removeAll { "\($0)".contains("CSQLite") }
    peers.append("CSQLCipher")
    settings.append(.define("PEER_SQLCIPHER"))
}
if isInstalled("rocksdb/c.h") {
    targets.append(.systemLibrary(name: "CRocksDB", providers: [.apt(["librocksdb-dev"])]))
    peers.append("CRocksDB")
    settings.append(.define("PEER_ROCKSDB"))
}
// In C++, so a target of its own between Swift and the library.
if isInstalled("xapian.h") {
    targets.append(.target(name: "CXapian", linkerSettings: [.linkedLibrary("xapian")]))
    settings.append(.define("PEER_XAPIAN"))
}
// The library of its clients is a dependency of the mirror; the server is started by the benchmark.
let hasPostgres = isInstalled("postgresql/libpq-fe.h")
if hasPostgres {
    targets.append(.systemLibrary(name: "CLibpq", providers: [.apt(["libpq-dev"])]))
    settings.append(.define("PEER_POSTGRES"))
}
targets.append(.target(name: "CCounts"))
targets.append(
    .target(name: "BenchHarness", dependencies: ["CCounts"], path: "Sources/BenchHarness", swiftSettings: settings))
targets.append(
    .executableTarget(
        name: "hornbeam-bench",
        dependencies: ["BenchHarness", .product(name: "HornbeamC", package: "hornbeam")] + peers,
        path: "Sources/HornbeamBench", swiftSettings: settings))
targets.append(
    .executableTarget(
        name: "hornbeam-traced-reads", dependencies: [.product(name: "HornbeamC", package: "hornbeam")],
        path: "Sources/TracedReads"))
// A process can't have both the C library, which has the engine in it, and the Swift library: a program for each.
targets.append(
    .executableTarget(
        name: "hornbeam-bench-typed",
        dependencies: [
            "BenchHarness", .product(name: "Hornbeam", package: "hornbeam"),
            .product(name: "HornbeamMapReduce", package: "hornbeam"),
        ]
            + (hasPostgres ? ["CLibpq", .product(name: "HornbeamPostgres", package: "hornbeam")] : [])
            + (isInstalled("sqlite3.h") ? ["CSQLite"] : []) + (isInstalled("xapian.h") ? ["CXapian"] : []),
        path: "Sources/HornbeamBenchTyped", swiftSettings: settings))

let package = Package(
    name: "hornbeam-benchmarks",
    dependencies: [.package(name: "hornbeam", path: "..")],
    targets: targets,
    cxxLanguageStandard: .cxx17
)
