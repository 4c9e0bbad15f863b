// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// A small service that embeds Hornbeam, as a package of its own.

import PackageDescription

let package = Package(
    name: "parcel-service",
    dependencies: [.package(name: "hornbeam", path: "../..")],
    targets: [
        .systemLibrary(
            name: "CMicroHTTP", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .target(
            name: "ParcelService", dependencies: ["CMicroHTTP", .product(name: "Hornbeam", package: "hornbeam")]),
        .executableTarget(name: "parcel-service", dependencies: ["ParcelService"]),
        .testTarget(name: "ParcelServiceTests", dependencies: ["ParcelService", "parcel-service"]),
    ]
)
