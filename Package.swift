// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// Hornbeam: an embedded, typed database for Swift programs on Linux.

import CompilerPluginSupport
import PackageDescription

#if canImport(Glibc)
    import Glibc
#endif

// `make test` builds the layers below the typed API and the kinds of indexes above it optimized, with their assertions,
// because tests go through them a hundred million times. A package with such flags can't be depended on, so only the
// environment switches them on.
let isOptimized = Context.environment["HORNBEAM_OPTIMIZED_TESTS"] != nil
// Costly self-checks, such as the validation of a whole node after each edit. Only this repository's tests switch them
// on: the debug build of a program that uses Hornbeam goes without.
let isChecked = isOptimized || Context.environment["HORNBEAM_CHECKS"] != nil

// Settings of every target. The upcoming features are those of the next language mode.
let engineSettings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ] + (isChecked ? [.define("HORNBEAM_CHECKS", .when(configuration: .debug))] : [])

// The macro is written with the SwiftSyntax that the toolchain ships. The manifest runs with
// libPackageDescription.so mapped, so the process map names the toolchain: its `host` folder lies beside `pm`.
let hostModules: String? = {
    guard let file = fopen("/proc/self/maps", "r") else { return nil }
    defer { fclose(file) }
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(line) }
    while getline(&line, &capacity, file) > 0, let text = line.map({ String(cString: $0) }) {
        guard text.contains("libPackageDescription.so"), let start = text.firstIndex(of: "/"),
            let end = text.firstRange(of: "/pm/")?.lowerBound
        else { continue }
        return String(text[start..<end]) + "/host"
    }
    return nil
}()

let macroSettings: [SwiftSetting] =
    engineSettings + (hostModules.map { [.unsafeFlags(["-I", $0])] } ?? [])
let macroLinker: [LinkerSetting] =
    hostModules.map {
        [.unsafeFlags(["-L", $0, "-Xlinker", "-rpath", "-Xlinker", $0])]
    } ?? []

// The C library exports hb_* alone, and stays mapped once loaded (the Swift runtime can't be unloaded).
let sharedLibraryLinker: [LinkerSetting] = [
    .unsafeFlags(
        [
            "-z", "nodelete",
            "--version-script=\(Context.packageDirectory)/Sources/HornbeamC/libhornbeam.map",
        ].flatMap { ["-Xlinker", $0] })
]

// The fuzzers' build gives every executable libFuzzer's `main`, the macro's plugin too, which then can't be one. What
// is fuzzed does without it.
let isFuzzing = Context.environment["HORNBEAM_FUZZING"] != nil

// The files of the studio's page, which lie within its program.
let studioPage = [
    "index.html", "style.css", "app.js", "page.js", "overview.js", "grid.js", "entity.js", "search.js", "statement.js",
    "file.js", "edit.js", "complete.js",
]

let optimizedSettings =
    engineSettings
    + (isOptimized ? [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))] : [])

let package = Package(
    name: "hornbeam",
    products: [
        .library(name: "Hornbeam", targets: ["Hornbeam"]),
        // Kinds of indexes that only some programs need. Each brings Hornbeam with it.
        .library(name: "HornbeamMapReduce", targets: ["HornbeamMapReduce"]),
        .library(name: "HornbeamSecondaryIndexes", targets: ["HornbeamSecondaryIndexes"]),
        .library(name: "HornbeamHandKept", targets: ["HornbeamHandKept"]),
        // What needs all of Foundation.
        .library(name: "HornbeamFoundation", targets: ["HornbeamFoundation"]),
        // Encrypted files. Building it needs the headers of OpenSSL 3, using it libcrypto.
        .library(name: "HornbeamEncryption", targets: ["HornbeamEncryption"]),
        // A live mirror in PostgreSQL, which needs libpq.
        .library(name: "HornbeamPostgres", targets: ["HornbeamPostgres"]),
        .executable(name: "hornbeam", targets: ["hornbeam"]),
        // The page of a store, for browsers: `hornbeam studio`. It needs libmicrohttpd.
        .executable(name: "hornbeam-studio", targets: ["hornbeam-studio"]),
        // libhornbeam.so, the C interface; `Scripts/install.sh` gives it that name.
        .library(name: "HornbeamC", type: .dynamic, targets: ["HornbeamC"]),
        // For the fuzzers in fuzz/; carries no promise.
        .library(name: "_HornbeamFuzzing", targets: ["HornbeamFuzzing"]),
    ],
    targets: [
        .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
        .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"])]),
        // libstemmer has no pkg-config file.
        .systemLibrary(name: "CStemmer", providers: [.apt(["libstemmer-dev"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        // libcsv has no pkg-config file.
        .systemLibrary(name: "CCSV", providers: [.apt(["libcsv-dev"])]),
        .systemLibrary(name: "CEdit", pkgConfig: "libedit", providers: [.apt(["libedit-dev"])]),
        .systemLibrary(name: "CICU", pkgConfig: "icu-i18n", providers: [.apt(["libicu-dev"])]),
        .systemLibrary(
            name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .target(name: "CHornbeamShims"),
        // OpenSSL's libcrypto, loaded when first asked for. Built with its headers: libssl-dev.
        .target(name: "CCrypto"),

        .target(
            name: "HornbeamPages", dependencies: ["CHornbeamShims", "CLZ4", "CXXHash"], swiftSettings: optimizedSettings
        ),
        // Ciphers and keys of encrypted stores.
        .target(
            name: "HornbeamCipher", dependencies: ["CCrypto", "HornbeamPages"], swiftSettings: optimizedSettings),
        .target(name: "HornbeamTree", dependencies: ["HornbeamPages"], swiftSettings: optimizedSettings),
        .target(name: "HornbeamKeys", dependencies: ["CICU"], swiftSettings: optimizedSettings),
        .target(
            name: "HornbeamText", dependencies: ["CStemmer", "HornbeamTree", "HornbeamKeys"],
            swiftSettings: optimizedSettings),
        .target(
            name: "HornbeamEngine", dependencies: ["HornbeamText", "HornbeamTree", "HornbeamPages", "HornbeamKeys"],
            swiftSettings: optimizedSettings),
        .target(
            name: "HornbeamStatements",
            dependencies: ["HornbeamEngine", "HornbeamText", "HornbeamTree", "HornbeamPages", "HornbeamKeys"],
            swiftSettings: optimizedSettings),
        // The macro: a library, and the file that makes a plugin of it, in one folder. Tests of the plugin itself would
        // have all tests, and every module below them, built a second time: for the host, as plugins are.
        .target(
            name: "HornbeamMacroExpansion", path: "Sources/HornbeamMacros", exclude: ["Plugin.swift"],
            swiftSettings: macroSettings, linkerSettings: macroLinker),
        .macro(
            name: "HornbeamMacros", dependencies: ["HornbeamMacroExpansion"], path: "Sources/HornbeamMacros",
            exclude: ["Expansion"], sources: ["Plugin.swift"], swiftSettings: macroSettings, linkerSettings: macroLinker
        ),
        .target(
            name: "Hornbeam",
            dependencies: [
                "HornbeamStatements", "HornbeamEngine", "HornbeamText", "HornbeamTree", "HornbeamPages", "HornbeamKeys",
            ] + (isFuzzing ? [] : ["HornbeamMacros"]),
            swiftSettings: engineSettings),
        .target(
            name: "HornbeamMapReduce", dependencies: ["Hornbeam", "HornbeamTree", "HornbeamPages", "HornbeamKeys"],
            swiftSettings: optimizedSettings),
        .target(
            name: "HornbeamSecondaryIndexes",
            dependencies: ["Hornbeam", "HornbeamTree", "HornbeamPages", "HornbeamKeys"],
            swiftSettings: optimizedSettings),
        .target(
            name: "HornbeamHandKept", dependencies: ["Hornbeam", "HornbeamTree", "HornbeamPages", "HornbeamKeys"],
            swiftSettings: optimizedSettings),
        .target(
            name: "HornbeamEncryption", dependencies: ["HornbeamCipher", "Hornbeam"], swiftSettings: engineSettings),
        .target(
            name: "HornbeamPostgres",
            dependencies: ["CPostgres", "Hornbeam", "HornbeamTree", "HornbeamPages", "HornbeamKeys"],
            swiftSettings: optimizedSettings),
        .target(name: "HornbeamFoundation", dependencies: ["Hornbeam"], swiftSettings: engineSettings),
        .target(name: "CHornbeam"),
        .target(
            name: "HornbeamC", dependencies: ["HornbeamTree", "HornbeamCipher", "HornbeamPages", "CHornbeam"],
            exclude: ["libhornbeam.map"], swiftSettings: engineSettings, linkerSettings: sharedLibraryLinker),

        // The command: a library, so that tests can import it, and the file that starts it, in one folder.
        .target(
            name: "HornbeamCommand",
            dependencies: [
                "HornbeamPostgres", "HornbeamCipher", "Hornbeam", "HornbeamText", "HornbeamTree", "HornbeamKeys",
                "HornbeamPages", "CHornbeam", "CCSV", "CEdit",
            ],
            path: "Sources/hornbeam", exclude: ["main.swift"], swiftSettings: engineSettings),
        .executableTarget(
            name: "hornbeam", dependencies: ["HornbeamCommand"], path: "Sources/hornbeam",
            exclude: ["Arguments", "Commands", "Input", "Results", "Schema", "Statements", "Terminal"],
            sources: ["main.swift"],
            swiftSettings: engineSettings),

        .executableTarget(
            name: "hornbeam-studio",
            dependencies: [
                "HornbeamCommand", "CMicroHTTPD", "Hornbeam", "HornbeamText", "HornbeamTree", "HornbeamPages",
            ],
            resources: studioPage.map { .embedInCode("Page/\($0)") }, swiftSettings: engineSettings),

        .executableTarget(
            name: "debian-catalogue", dependencies: ["HornbeamPostgres", "Hornbeam"], path: "Examples/DebianCatalogue",
            swiftSettings: engineSettings),

        // A service that embeds Hornbeam: a package of its own in its folder, and here for `make test`.
        .systemLibrary(
            name: "CMicroHTTP", path: "Examples/ParcelService/Sources/CMicroHTTP", pkgConfig: "libmicrohttpd",
            providers: [.apt(["libmicrohttpd-dev"])]),
        .target(
            name: "ParcelService", dependencies: ["CMicroHTTP", "Hornbeam"],
            path: "Examples/ParcelService/Sources/ParcelService", swiftSettings: [.swiftLanguageMode(.v6)]),
        .executableTarget(
            name: "parcel-service", dependencies: ["ParcelService"],
            path: "Examples/ParcelService/Sources/parcel-service", swiftSettings: [.swiftLanguageMode(.v6)]),
        .testTarget(
            name: "ParcelServiceTests", dependencies: ["ParcelService", "parcel-service", "Hornbeam"],
            path: "Examples/ParcelService/Tests/ParcelServiceTests", swiftSettings: [.swiftLanguageMode(.v6)]),

        .target(
            name: "HornbeamTestSupport", dependencies: ["CHornbeamShims", "HornbeamPages", "HornbeamTree"],
            path: "Tests/HornbeamTestSupport", swiftSettings: optimizedSettings),
        // Another process for tests to talk to, to look at and to kill.
        .executableTarget(
            name: "store-worker", dependencies: ["HornbeamMapReduce", "Hornbeam", "HornbeamTree", "HornbeamPages"],
            path: "Tests/StoreWorker",
            swiftSettings: engineSettings),
        // Crash states, faults, hostile files, models and soaks: shared by short tests and the command for long runs.
        .target(
            name: "HornbeamProof",
            dependencies: ["HornbeamTree", "HornbeamCipher", "HornbeamPages", "HornbeamTestSupport", "CXXHash"],
            path: "Tests/HornbeamProof", swiftSettings: optimizedSettings),
        .testTarget(
            name: "ProofTests", dependencies: ["HornbeamProof", "HornbeamTree", "HornbeamTestSupport"],
            swiftSettings: engineSettings),
        .executableTarget(
            name: "hornbeam-proof", dependencies: ["HornbeamProof"], path: "Tests/hornbeam-proof",
            swiftSettings: engineSettings),
        .testTarget(
            name: "HornbeamCipherTests", dependencies: ["HornbeamCipher", "HornbeamPages", "HornbeamTestSupport"],
            swiftSettings: engineSettings),
        .testTarget(
            name: "HornbeamEncryptionTests", dependencies: ["HornbeamEncryption", "Hornbeam", "HornbeamTestSupport"],
            exclude: ["StoredFiles"], swiftSettings: engineSettings),
        .testTarget(
            name: "HornbeamPagesTests",
            dependencies: ["HornbeamPages", "CHornbeamShims", "CXXHash", "HornbeamTestSupport"],
            swiftSettings: engineSettings),
        .testTarget(
            name: "HornbeamTreeTests",
            dependencies: [
                "HornbeamTree", "HornbeamCipher", "HornbeamPages", "HornbeamTestSupport", "store-worker",
            ],
            swiftSettings: engineSettings),
        .testTarget(
            name: "HornbeamKeysTests", dependencies: ["HornbeamKeys", "HornbeamTestSupport"],
            swiftSettings: engineSettings),
        .testTarget(
            name: "HornbeamTextTests", dependencies: ["CICU", "HornbeamText", "HornbeamKeys", "HornbeamTestSupport"],
            swiftSettings: engineSettings),
        // Entities as another module of a program declares them.
        .target(
            name: "PublicModels", dependencies: ["Hornbeam"], path: "Tests/PublicModels",
            swiftSettings: [.swiftLanguageMode(.v6)]),
        .testTarget(
            name: "HornbeamTests",
            dependencies: [
                "HornbeamMapReduce", "HornbeamSecondaryIndexes", "HornbeamHandKept", "Hornbeam", "HornbeamFoundation",
                "HornbeamTestSupport", "PublicModels", "store-worker",
            ],
            exclude: ["StoredFiles"], swiftSettings: engineSettings),
        // PostgreSQL servers of the tests' own, and lives of a mirror beside them: for short tests and for long runs.
        .target(
            name: "PostgresTestSupport",
            dependencies: ["HornbeamPostgres", "Hornbeam", "HornbeamTree", "HornbeamTestSupport"],
            path: "Tests/PostgresTestSupport", swiftSettings: engineSettings),
        .executableTarget(
            name: "mirror-worker",
            dependencies: ["PostgresTestSupport", "HornbeamPostgres", "Hornbeam", "HornbeamTestSupport"],
            path: "Tests/MirrorWorker", swiftSettings: engineSettings),
        .testTarget(
            name: "HornbeamPostgresTests",
            dependencies: [
                "PostgresTestSupport", "HornbeamPostgres", "HornbeamEncryption", "Hornbeam", "HornbeamTree",
                "HornbeamTestSupport", "mirror-worker",
            ],
            swiftSettings: engineSettings),
        // Static index properties compile in Swift 5 mode alone; this target shows that they work there.
        .testTarget(
            name: "HornbeamSwift5Tests", dependencies: ["Hornbeam"], swiftSettings: [.swiftLanguageMode(.v5)]),
        .testTarget(
            name: "HornbeamCommandTests",
            dependencies: [
                "HornbeamCommand", "hornbeam", "Hornbeam", "HornbeamTree", "HornbeamPages", "HornbeamTestSupport",
            ],
            swiftSettings: engineSettings),
        .testTarget(
            name: "HornbeamStudioTests",
            dependencies: ["hornbeam", "hornbeam-studio", "HornbeamTestSupport", "store-worker"],
            swiftSettings: engineSettings),
        .target(
            name: "HornbeamFuzzing",
            dependencies: [
                "HornbeamCommand", "HornbeamMapReduce", "Hornbeam", "HornbeamText", "HornbeamKeys", "HornbeamTree",
                "HornbeamCipher", "HornbeamPages", "HornbeamProof", "HornbeamTestSupport",
            ],
            path: "Tests/HornbeamFuzzing", swiftSettings: engineSettings),
        .testTarget(
            name: "FuzzRegressionTests", dependencies: ["HornbeamFuzzing", "HornbeamTestSupport"],
            swiftSettings: engineSettings),
        // The examples of README.md and of the articles in Hornbeam.docc, compiled and run.
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "HornbeamMapReduce", "HornbeamSecondaryIndexes", "HornbeamHandKept", "Hornbeam", "HornbeamTestSupport",
            ],
            swiftSettings: engineSettings
        ),
        // Programs that must not compile, checked by the compiler as a user's would be.
        .testTarget(
            name: "RefusalTests", dependencies: ["HornbeamHandKept", "Hornbeam"], exclude: ["Refused"],
            swiftSettings: engineSettings),
        .testTarget(name: "TidyTests", swiftSettings: engineSettings),
        .testTarget(
            name: "HornbeamMacrosTests", dependencies: ["HornbeamMacroExpansion"],
            swiftSettings: macroSettings, linkerSettings: macroLinker),
    ]
)
