// SPDX-License-Identifier: Apache-2.0
// `hornbeam mirror`: a store's live copy in PostgreSQL, from the command line.

import Hornbeam
import HornbeamPostgres

enum MirrorCommand {
    static let declaration = CommandDeclaration(
        path: ["mirror"],
        summary: "mirror a store into PostgreSQL",
        discussion: "Copies the entities into tables of a schema of the mirror's own, then follows each change until "
            + "Ctrl-C, over lost connections and restarts of the server. --once copies or follows up to now and ends. "
            + "--verify also compares everything, and names the rows that differ; --reconcile makes the tables the "
            + "store's again, after changes by hand or when the two have diverged.\nOne process writes a store: beside "
            + "a program that has it open, use the library's PostgresMirror in that program.\nURL is libpq's: "
            + "postgresql://USER@HOST/DATABASE. Keep passwords in ~/.pgpass.",
        operands: [.store, OperandDeclaration(name: "URL", help: "the PostgreSQL database")],
        options: [
            .value("schema", "s", "NAME", "the schema of the mirror in the server (hornbeam)"),
            .value("name", nil, "NAME", "the mirror's name in the store (that of the schema)"),
            .flag("indexes", nil, "make the declared indexes there too, full-text ones included"),
            .flag("once", "1", "bring what has changed, and end"),
            .flag("verify", nil, "compare everything, and end"),
            .flag("reconcile", nil, "make the tables the store's again, and end"),
        ],
        examples: [
            "hornbeam mirror packages.hornbeam postgresql://me@localhost/packages --schema debian",
            "hornbeam mirror packages.hornbeam service=packages --verify",
        ],
        run: run)

    private static func run(_ arguments: Arguments, _ console: Console) throws -> ExitCode {
        let chosen = ["once", "verify", "reconcile"].filter { arguments.has($0) }
        guard chosen.count < 2 else {
            throw UsageError("--\(chosen[0]) and --\(chosen[1]) exclude each other")
        }
        return try OpenStore.database(arguments.file) { database in
            let schema = arguments.value("schema") ?? "hornbeam"
            var options = PostgresMirror.Options()
            if arguments.has("indexes") { options.indexes = [.declared, .fullText] }
            let mirror = try PostgresMirror(
                of: database, named: arguments.value("name") ?? schema, to: arguments.operand("URL") ?? "",
                schema: schema, options: options)
            Interruption.watch()
            switch chosen.first {
            case "once": return try once(mirror, console) { try await mirror.update() }
            case "reconcile": return try once(mirror, console) { try await mirror.reconcile() }
            case "verify": return try verify(mirror, console)
            default: return try follow(mirror, console)
            }
        }
    }

    /// Starts work with a mirror, which reports the mirror's states.
    private static func work<Result: Sendable>(
        _ mirror: PostgresMirror, _ body: @escaping @Sendable () async throws -> Result
    ) -> CommandWork<PostgresMirror.State, Result> {
        CommandWork { tell in
            let states = mirror.states
            let listener = Task { for await state in states { tell(state) } }
            defer { listener.cancel() }
            return try await body()
        }
    }

    // MARK: Work that ends

    private static func once(
        _ mirror: PostgresMirror, _ console: Console, _ body: @escaping @Sendable () async throws -> UInt64
    ) throws -> ExitCode {
        let screen = MirrorScreen(console)
        guard let version = try work(mirror, body).finish({ screen.show($0) }) else { return .interrupted }
        screen.clear()
        try console.print("the mirror shows the store's state \(Spelling.grouped(version))")
        return .ok
    }

    private static func verify(_ mirror: PostgresMirror, _ console: Console) throws -> ExitCode {
        let screen = MirrorScreen(console)
        guard let found = try work(mirror, { try await mirror.differences() }).finish({ screen.show($0) }) else {
            return .interrupted
        }
        screen.clear()
        for difference in found { try console.print(difference.description) }
        if found.isEmpty {
            try console.print("the mirror is the store's")
            return .ok
        }
        console.report("\(Spelling.counted(found.count, "difference")); --reconcile makes the tables the store's again")
        return .failure
    }

    // MARK: Following

    private static func follow(_ mirror: PostgresMirror, _ console: Console) throws -> ExitCode {
        let screen = MirrorScreen(console)
        let done: Void? = try work(mirror) { try await mirror.run() }.finish { screen.show($0) }
        screen.clear()
        // Only a signal such as Ctrl-C ends it.
        return done == nil || Interruption.isRequested ? .interrupted : .ok
    }
}

/// Shows the states of a mirror on a terminal.
private final class MirrorScreen {
    private let console: Console
    private let progress: Progress
    private var lastRemark = ""

    init(_ console: Console) {
        self.console = console
        progress = Progress("copying", unit: "entities", console: console)
    }

    func clear() {
        progress.clear()
        if console.isErrorTerminal, !console.isQuiet { console.drawStatus("") }
    }

    func show(_ state: PostgresMirror.State) {
        switch state {
        case .copying(let copied):
            progress.update(
                count: UInt64(copied.done), fraction: Double(copied.done) / Double(max(1, copied.total)))
        case .following(let lag):
            progress.clear()
            lastRemark = ""
            guard console.isErrorTerminal, !console.isQuiet else { return }
            console.drawStatus(
                "following  state \(Spelling.grouped(lag.version))  \(Spelling.counted(lag.changes, "change")) "
                    + "\(Spelling.time(lag.time)) behind")
        case .waiting(let error): remark("waiting: \(error)")
        // The command ends with this error.
        case .diverged: clear()
        }
    }

    /// Prints a remark, unless it is equal to the one before it.
    private func remark(_ text: String) {
        clear()
        if text != lastRemark { console.remark(text) }
        lastRemark = text
    }
}
