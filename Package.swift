// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// Hornbeam: an embedded, typed database for Swift programs on Linux.

import CompilerPluginSupport
import PackageDescription

#if canImport(Glibc)
    import Glibc
#endif

// Settings of every target. The upcoming features are those of the next language mode.
let engineSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    // Costly self-checks (whole-node validation after each edit); debug builds only.
    .define("HORNBEAM_CHECKS", .when(configuration: .debug)),
]

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

let package = Package(
    name: "hornbeam",
    products: [
        .library(name: "Hornbeam", targets: ["Hornbeam"]),
        .executable(name: "hornbeam", targets: ["hornbeam"]),
        // For this repository's own benchmarks and fuzzers; carries no promise.
        .library(
            name: "_HornbeamEngine", targets: ["HornbeamPages", "HornbeamTree", "HornbeamKeys", "HornbeamText"]),
    ],
    targets: [
        .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
        .systemLibrary(name: "CICU", pkgConfig: "icu-i18n", providers: [.apt(["libicu-dev"])]),
        .target(name: "CHornbeamShims"),

        .target(
            name: "HornbeamPages", dependencies: ["CHornbeamShims", "CXXHash"], swiftSettings: engineSettings),
        .target(name: "HornbeamTree", dependencies: ["HornbeamPages"], swiftSettings: engineSettings),
        .target(name: "HornbeamKeys", dependencies: ["CICU"], swiftSettings: engineSettings),
        .target(
            name: "HornbeamText", dependencies: ["HornbeamTree", "HornbeamKeys"], swiftSettings: engineSettings),
        .macro(name: "HornbeamMacros", swiftSettings: macroSettings, linkerSettings: macroLinker),
        .target(
            name: "Hornbeam", dependencies: ["HornbeamText", "HornbeamTree", "HornbeamKeys", "HornbeamMacros"],
            swiftSettings: engineSettings),
        .executableTarget(name: "hornbeam", dependencies: ["Hornbeam"], swiftSettings: engineSettings),

        .target(
            name: "HornbeamTestSupport", dependencies: ["HornbeamPages", "HornbeamTree"], path: "Tests/HornbeamTestSupport",
            swiftSettings: engineSettings),
        .testTarget(
            name: "HornbeamPagesTests", dependencies: ["HornbeamPages", "HornbeamTestSupport"],
            swiftSettings: engineSettings),
        .testTarget(
            name: "HornbeamTreeTests", dependencies: ["HornbeamTree", "HornbeamPages", "HornbeamTestSupport"],
            swiftSettings: engineSettings),
        .testTarget(
            name: "HornbeamKeysTests", dependencies: ["HornbeamKeys", "HornbeamTestSupport"],
            swiftSettings: engineSettings),
        .testTarget(
            name: "HornbeamTextTests", dependencies: ["HornbeamText", "HornbeamTestSupport"],
            swiftSettings: engineSettings),
        .testTarget(
            name: "HornbeamTests", dependencies: ["Hornbeam", "HornbeamTestSupport"],
            swiftSettings: engineSettings),
        .testTarget(
            name: "HornbeamMacrosTests", dependencies: ["HornbeamMacros"],
            swiftSettings: macroSettings, linkerSettings: macroLinker),
    ]
)
