// SPDX-License-Identifier: Apache-2.0
// `hornbeam studio`: a page that shows a store. It is a program of its own, `hornbeam-studio`, so that this command
// needs no HTTP server; both understand the same command line, which is declared here.

import Foundation
import Glibc
import Hornbeam
package import HornbeamPages
package import HornbeamTree

enum StudioCommand {
    static let declaration: CommandDeclaration = {
        var own = StudioCommand.declaration(run: launch)
        own.opensStore = false
        return own
    }()

    static func declaration(
        run: @escaping @Sendable (Arguments, Console) throws -> ExitCode
    ) -> CommandDeclaration {
        CommandDeclaration(
            path: ["studio"],
            summary: "show a store in a browser",
            discussion: "Serves a page at an address of this machine that no other machine reaches, and prints the "
                + "address with a token, without which nothing is answered. The store is opened without the right to "
                + "write, also beside a program that writes to it: the page shows new states as they come. With "
                + "--write the page changes entities too, and no other program can write to the store meanwhile. "
                + "Ctrl-C ends it. Docs/studio.md says all.",
            operands: [.store],
            options: [
                .value("port", nil, "NUMBER", "listen at this port, not at any free one"),
                .flag("write", "w", "let the page change entities"),
            ],
            examples: [
                "hornbeam studio packages.hornbeam", "hornbeam studio --port 8080 packages.hornbeam",
                "hornbeam studio --write packages.hornbeam",
            ],
            run: run)
    }

    private static let program = "hornbeam-studio"

    /// Replaces this process by the program, with the words after `studio`.
    private static func launch(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let words = [program] + CommandLine.arguments.dropFirst(1 + declaration.path.count)
        var pointers = words.map { strdup($0) } + [nil]
        defer { pointers.forEach { free($0) } }
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        execv(own.deletingLastPathComponent().appendingPathComponent(program).path, &pointers)
        if errno == ENOENT { execvp(program, &pointers) }
        let reason = String(cString: strerror(errno))
        throw CommandError(
            "can't run \(program) (\(reason)): it belongs beside the command or into a folder of PATH; 'swift build "
                + "-c release --product \(program)' makes it, with Debian's libmicrohttpd-dev")
    }
}

/// The command line of `hornbeam-studio`, for the program that serves the page.
package struct StudioOptions: Sendable {
    /// The store's path.
    package let file: String
    /// The port to listen at; 0 for any free one.
    package let port: UInt16
    /// Whether the page may change entities.
    package let isWritable: Bool

    /// Prints the address of the page.
    package func announce(_ address: String) throws {
        let console = Console()
        try console.print(address)
        try console.flush()
        console.remark("\(file): open this address in a browser; Ctrl-C ends the studio")
    }

    /// The content and the sizes of the store as `hornbeam info --json` prints them.
    package func summary(_ transaction: Transaction, _ figures: () -> PageStatistics) throws -> String {
        String(decoding: try JSONEncoder().encode(try StoreSummary(file, transaction, figures: figures)), as: UTF8.self)
    }

    /// The entity types as `hornbeam schema --json` prints them.
    package func schema(_ transaction: Transaction) throws -> String {
        try SchemaFile.text(try SchemaCatalogue.load(transaction).descriptions)
    }
}

package enum StudioProgram {
    /// Reads the command line, opens the store, and calls `serve`, which returns when the studio is to end.
    package static func main(_ serve: @escaping @Sendable (StudioOptions, TreeStore) throws -> Void) -> Never {
        let command = StudioCommand.declaration { arguments, console in
            let port = try arguments.number("port", 0...Int(UInt16.max)) ?? 0
            let options = StudioOptions(
                file: arguments.file, port: UInt16(port), isWritable: arguments.has("write"))
            if options.isWritable {
                try writing(options, serve)
                return .ok
            }
            // Recovering a store after a killed program opens it for writing. Closing it and opening it again lets
            // other programs write while the page is shown.
            try OpenStore.reading(options.file) { _ in }
            try OpenStore.reading(options.file) { store in try serve(options, store) }
            return .ok
        }
        Program.main(command.path + CommandLine.arguments.dropFirst(), [command])
    }

    private static func writing(
        _ options: StudioOptions, _ serve: (StudioOptions, TreeStore) throws -> Void
    ) throws {
        var isOpen = false
        do {
            try OpenStore.writing(options.file, create: false) { store in
                isOpen = true
                try serve(options, store)
            }
        } catch StorageError.busy(let reason) where !isOpen {
            throw CommandError(
                "\(options.file) can't be opened with --write: \(reason); end that program, or look at the store "
                    + "without --write")
        }
    }

    /// Waits for Ctrl-C or another signal to end. A second Ctrl-C kills the process.
    package static func waitForEnd() {
        Interruption.watch()
        while !Interruption.isRequested { usleep(50_000) }
    }
}
