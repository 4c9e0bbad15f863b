// SPDX-License-Identifier: Apache-2.0
// The command `hornbeam`: finds the subcommand, runs it, turns errors into one line on standard error and an exit code.
// Works on any store without the program that made it; commands that only read open it read-only.

import CHornbeam
import Glibc
import Hornbeam
import HornbeamPages

package enum Program {
    /// The version, from the header of the C interface. The C library reports it from there too.
    static let version = HB_VERSION

    /// The commands, in the order of help.
    static let commands: [CommandDeclaration] = [
        InfoCommand.declaration, CheckCommand.declaration, SchemaCommand.declaration, SchemaApplyCommand.declaration,
        ShellCommand.declaration, QueryCommand.declaration, SearchCommand.declaration, SQLCommand.declaration,
        ImportCommand.declaration,
        ExportCommand.declaration,
        TreeListCommand.declaration, TreeScanCommand.declaration, BackupCommand.declaration,
        CompactCommand.declaration, SalvageCommand.declaration, EncryptCommand.encrypt, EncryptCommand.decrypt,
        MirrorCommand.declaration, RestoreCommand.declaration, StudioCommand.declaration,
    ]

    package static func main() -> Never { main(Array(CommandLine.arguments.dropFirst()), commands) }

    static func main(_ words: [String], _ commands: [CommandDeclaration]) -> Never {
        // `hornbeam … | head` ends as quietly as cat does, even if the parent ignores the signal.
        signal(SIGPIPE, SIG_DFL)
        holdStandardDescriptors()
        let code = run(words, Console(), commands: commands)
        exit(code.rawValue)
    }

    /// Opens the standard descriptors that the parent has closed. Otherwise the store could get such a number, and be
    /// read as input or printed into.
    private static func holdStandardDescriptors() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // The access is the wrong one, so that using the descriptor stays an error. `open` takes the lowest free
            // number, which is this one.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Runs the command line and reports its failure.
    static func run(
        _ words: [String], _ console: Console, commands: [CommandDeclaration] = commands
    ) -> ExitCode {
        do {
            let code = try dispatch(words, console, commands)
            try console.flush()
            return code
        } catch {
            // Results before the failure are still of use, if they can be written.
            try? console.flush()
            if let usage = error as? UsageError {
                console.report(usage.message + (usage.hint.map { "\n  \($0)" } ?? ""))
                return .usage
            }
            console.report("\(error)")
            return .failure
        }
    }

    /// Returns the command line with `shell` before it if it begins with a file: `hornbeam FILE` opens a shell. The
    /// name of a command always means the command; a file with this name needs a path such as `./info`.
    static func opened(_ words: [String]) -> [String] {
        guard let first = words.first, !first.hasPrefix("-"), first != "help",
            !commands.contains(where: { $0.path.first == first })
        else { return words }
        let isFile = first.contains("/") || first.contains(".") || access(first, F_OK) == 0
        return isFile ? ["shell"] + words : words
    }

    private static func dispatch(
        _ words: [String], _ console: Console, _ commands: [CommandDeclaration]
    ) throws -> ExitCode {
        switch try ArgumentParser.parse(opened(words), commands: commands) {
        case .overview(let path):
            try console.write(Help.overview(commands, path))
            // Without a command there is nothing that could succeed.
            return words.isEmpty ? .usage : .ok
        case .version:
            try console.print("hornbeam \(version)")
            return .ok
        case .help(let command):
            try console.write(Help.command(command))
            return .ok
        case .run(let arguments):
            console.isQuiet = arguments.has("quiet")
            if arguments.command.opensStore { try StoreKeyFile.read(arguments) }
            return try arguments.command.run(arguments, console)
        }
    }
}
