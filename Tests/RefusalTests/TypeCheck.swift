// SPDX-License-Identifier: Apache-2.0
// Has the compiler check files against the library that these tests are built with, and reads its errors.

import Foundation

/// An error of the compiler.
struct Refusal: Hashable, CustomStringConvertible {
    let file: String
    let line: Int
    let message: String

    var description: String { "\(file):\(line) \(message)" }
}

/// A run of the compiler over some files as one module. It stops before code is generated.
struct TypeCheck {
    let refusals: [Refusal]
    let isAccepted: Bool
    /// The compiler's whole output.
    let output: String

    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// - Parameter conditions: the conditions that `#if` finds defined.
    init(_ files: [URL], conditions: [String] = []) throws {
        let build = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let process = Process()
        process.executableURL = try Self.compiler()
        process.arguments =
            [
                // A single process for all files, because several stop when one of them finds an error.
                "-wmo", "-emit-sil", "-o", "/dev/null", "-diagnostic-style", "llvm", "-suppress-warnings",
                "-swift-version", "6", "-enable-upcoming-feature", "ExistentialAny", "-module-name", "Refused",
                "-module-cache-path", build.appendingPathComponent("ModuleCache").path,
                "-load-plugin-executable", "\(build.path)/HornbeamMacros-tool#HornbeamMacros",
            ] + Self.modules(in: build) + conditions.map { "-D\($0)" } + files.map(\.path)
        let pipe = Pipe()
        process.standardError = pipe
        process.standardOutput = pipe
        try process.run()
        let written = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        isAccepted = process.terminationStatus == 0
        output = String(decoding: written, as: UTF8.self)
        refusals = Self.refusals(in: output)
    }

    /// The compiler of the toolchain whose runtime this process has, so that it can read the modules.
    private static func compiler() throws -> URL {
        // By a handle, because the file says that its size is zero.
        let maps = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/maps")).readToEnd() ?? Data()
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n")
        where line.hasSuffix("/lib/swift/linux/libswiftCore.so") {
            guard let start = line.firstIndex(of: "/"), let end = line.range(of: "/lib/swift/linux/")?.lowerBound
            else { continue }
            return URL(fileURLWithPath: "\(line[start..<end])/bin/swiftc")
        }
        throw CocoaError(.fileNoSuchFile)
    }

    /// The options for finding the library's modules.
    private static func modules(in build: URL) -> [String] {
        let maps = ["CICU", "CLZ4", "CStemmer", "CXXHash"].map { "\(package.path)/Sources/\($0)/module.modulemap" }
        let shims = "\(build.path)/CHornbeamShims.build/module.modulemap"
        return ["-I", "\(build.path)/Modules"]
            + (maps + [shims]).flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
    }

    /// Errors, at their own places. Errors in a macro's code are at the declaration for which it was written, which the
    /// compiler names in the following note.
    private static func refusals(in output: String) -> [Refusal] {
        var refusals: [Refusal] = []
        var inMacro: [String] = []
        for text in output.split(separator: "\n") {
            guard let match = text.wholeMatch(of: #/(.+?):(\d+):\d+: (error|note): (.*)/#) else { continue }
            let (path, line, kind, message) = (match.1, Int(match.2) ?? 0, match.3, String(match.4))
            if kind == "error" {
                if path.hasSuffix(".swift"), !path.contains("@__swiftmacro"), !path.contains("macro expansion") {
                    refusals.append(Refusal(file: Self.name(path), line: line, message: message))
                } else {
                    inMacro.append(message)
                }
            } else if message.hasPrefix("in expansion of macro") {
                refusals += inMacro.map { Refusal(file: Self.name(path), line: line, message: $0) }
                inMacro = []
            }
        }
        return refusals + inMacro.map { Refusal(file: "macro", line: 0, message: $0) }
    }

    private static func name(_ path: Substring) -> String { path.split(separator: "/").last.map(String.init) ?? "" }
}
