// SPDX-License-Identifier: Apache-2.0
// A PostgreSQL server for tests: its files are in a temporary folder, and it listens on a Unix socket in that folder.
// PostgreSQL refuses to run as root, so a test that runs as root runs the server as the user `postgres`.

import Glibc
import Synchronization

package struct PostgresServerError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// A running server. It stops, and its files are deleted, when the test releases it or the process ends.
package final class PostgresServer: Sendable {
    /// The folder of the socket. The data and the log are there too.
    package let socketFolder: String
    package let port = 5432
    private let state = Mutex(State())

    private struct State {
        var postmaster: pid_t?
        var paused: [pid_t] = []
    }

    /// Number of databases made by all servers together, because a standby begins with its primary's databases.
    private static let databases = Atomic(0)

    private static let sharedServer = Result { try PostgresServer(settings: ["fsync": "off"]) }

    /// Returns the server that all tests of the process share. It runs without fsync.
    package static func shared() throws -> PostgresServer { try sharedServer.get() }

    /// Creates and starts a server. `settings` are added to its postgresql.conf.
    package init(settings: [String: String] = [:]) throws {
        let servers = try Servers.shared.get()
        socketFolder = try servers.makeFolder()
        try Command.run(["/bin/cp", "-a", servers.template, data], asServer: true)
        try configure(Self.settings.merging(settings) { $1 }, in: "postgresql.conf")
        try start()
    }

    private init(standbyOf primary: PostgresServer, named name: String) throws {
        let servers = try Servers.shared.get()
        socketFolder = try servers.makeFolder()
        let source = "\(primary.url)&application_name=\(percentEncoded(name))"
        try Command.run(
            ["\(servers.binaries)/pg_basebackup", "-D", data, "-d", source, "-R", "-c", "fast", "--no-sync"],
            asServer: true)
        // Without this, a promoted standby of a synchronous primary would wait for itself.
        try configure(["synchronous_standby_names": ""], in: "postgresql.auto.conf")
        try start()
    }

    deinit {
        end()
        _ = try? Command.run(["/bin/rm", "-rf", socketFolder], asServer: true)
    }

    /// Keeps the server alive up to this call.
    package func keep() {}

    /// The folder of the server's files, as in PGDATA.
    package var data: String { "\(socketFolder)/data" }

    /// All that the server has logged.
    package var log: String { contents(of: logPath) ?? "" }

    private var logPath: String { "\(socketFolder)/log" }

    /// Creates a folder for a socket, which is deleted at the end of the process at the latest.
    package static func makeFolder() throws -> String { try Servers.shared.get().makeFolder() }

    // MARK: Databases

    /// The URL of the database `postgres`.
    package var url: String { url(database: "postgres") }

    package func url(database: String) -> String { postgresURL(folder: socketFolder, database: database) }

    /// Creates an empty database and returns its URL.
    /// - Parameter disk: the disk of its tables, nil for the server's own folder.
    package func makeDatabase(on disk: SmallDisk? = nil) throws -> String {
        let number = Self.databases.add(1, ordering: .relaxed).newValue
        var place = ""
        if let disk {
            try psql("CREATE TABLESPACE small\(number) LOCATION '\(disk.path)'")
            place = " TABLESPACE small\(number)"
        }
        try psql("CREATE DATABASE test\(number) TEMPLATE template0\(place)")
        return url(database: "test\(number)")
    }

    /// Runs statements and returns the rows: a line for each, its columns separated by `|`.
    @discardableResult
    package func psql(_ sql: String, database: String = "postgres") throws -> String {
        try Self.psql(sql, url: url(database: database))
    }

    @discardableResult
    package static func psql(_ sql: String, url: String) throws -> String {
        let psql = try "\(Servers.shared.get().binaries)/psql"
        let options = ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", url]
        let output = try Command.run([psql] + options, input: sql)
        return output.last == "\n" ? String(output.dropLast()) : output
    }

    // MARK: Replication

    /// Creates and starts a standby, and waits until it streams. It begins with a copy of this server's settings.
    package func standby(named name: String) throws -> PostgresServer {
        let standby = try PostgresServer(standbyOf: self, named: name)
        let quoted = name.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
        let streaming =
            "SELECT count(*) FROM pg_stat_replication WHERE application_name = '\(quoted)' AND state = 'streaming'"
        let deadline = Deadline(seconds: 30)
        while try psql(streaming) == "0" {
            guard deadline.sleep() else { throw PostgresServerError("no streaming:\n\(standby.log)") }
        }
        return standby
    }

    /// Makes a standby a primary, and waits until it is one.
    package func promote() throws {
        guard try psql("SELECT pg_promote()") == "t" else { throw PostgresServerError("no promotion:\n\(log)") }
    }
}

// MARK: - Its processes

extension PostgresServer {
    /// Starts a server that was stopped or killed, and waits until it accepts connections.
    package func start() throws {
        let postgres = try "\(Servers.shared.get().binaries)/postgres"
        try state.withLock { state in
            if let postmaster = state.postmaster, !hasEnded(postmaster) { return }
            let file = open(logPath, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
            guard file >= 0 else { throw PostgresServerError("no log at \(logPath)") }
            defer { close(file) }
            let words = [postgres, "-D", data, "-k", socketFolder, "-p", "\(port)"]
            let postmaster = try Command.spawn(words, asServer: true, output: file, errors: file)
            state = State(postmaster: postmaster)
            let deadline = Deadline(seconds: 60)
            while !isReady(postmaster) {
                if hasEnded(postmaster) { state.postmaster = nil }
                guard state.postmaster != nil, deadline.sleep() else {
                    throw PostgresServerError("the server does not start:\n\(log)")
                }
            }
        }
    }

    /// Ends all the server's processes by SIGKILL. None of them runs when this returns.
    package func kill() { state.withLock { kill(&$0) } }

    /// Stops all the server's processes by SIGSTOP: it keeps its connections and answers nothing.
    package func pause() {
        state.withLock { state in
            guard let postmaster = state.postmaster, state.paused.isEmpty else { return }
            state.paused = freeze(postmaster)
        }
    }

    /// Continues after `pause()`.
    package func resume() { state.withLock { resume(&$0) } }

    private func resume(_ state: inout State) {
        for process in state.paused { Glibc.kill(process, SIGCONT) }
        state.paused = []
    }

    private func kill(_ state: inout State) {
        guard let postmaster = state.postmaster else { return }
        let processes = freeze(postmaster)
        for process in processes { Glibc.kill(process, SIGKILL) }
        waitpid(postmaster, nil, 0)
        let deadline = Deadline(seconds: 60)
        for process in processes {
            while isRunning(process), deadline.sleep() {}
        }
        state = State()
    }

    /// Stops the postmaster and its children by SIGSTOP and returns them.
    private func freeze(_ postmaster: pid_t) -> [pid_t] {
        // The postmaster first: once it has stopped it starts no more children.
        Glibc.kill(postmaster, SIGSTOP)
        let deadline = Deadline(seconds: 60)
        while let status = processStatus(postmaster), !"TZX".contains(status.state), deadline.sleep() {}
        let children = children(of: postmaster)
        for child in children { Glibc.kill(child, SIGSTOP) }
        return [postmaster] + children
    }

    /// Stops the server at once, without a checkpoint ("immediate" mode).
    private func end() {
        state.withLock { state in
            resume(&state)
            if let postmaster = state.postmaster {
                Glibc.kill(postmaster, SIGQUIT)
                if waitForEnd(of: postmaster, seconds: 10) { state.postmaster = nil } else { kill(&state) }
            }
        }
        // A killed server leaves its System V shared memory behind, which outlives the folder.
        let words = pidFile.count > 6 ? pidFile[6].split(separator: " ") : []
        if words.count == 2, let memory = Int32(words[1]) { shmctl(memory, IPC_RMID, nil) }
    }

    private func isReady(_ postmaster: pid_t) -> Bool {
        let lines = pidFile
        return lines.count > 7 && lines[0] == "\(postmaster)" && lines[7].hasPrefix("ready")
    }

    /// The lines of postmaster.pid: the 1st is the process, the 7th the shared memory, the 8th the status.
    private var pidFile: [Substring] {
        (contents(of: "\(data)/postmaster.pid") ?? "").split(separator: "\n", omittingEmptySubsequences: false)
    }
}

// MARK: - Its settings

extension PostgresServer {
    private static let settings = [
        "listen_addresses": "", "fsync": "on", "autovacuum": "on", "max_connections": "40",
        "shared_buffers": "64MB", "huge_pages": "off",
        // Enough for a standby that was paused for a while.
        "max_wal_size": "64MB", "wal_keep_size": "128MB",
        // One call instead of a sync of each file at the start after a kill (on a disk 0.1 s instead of 2 s).
        "recovery_init_sync_method": "syncfs",
        // The time after which a standby looks for its primary again; 5 s by default.
        "wal_retrieve_retry_interval": "100ms",
        // In files of the data folder, so that a killed server leaves nothing in /dev/shm.
        "dynamic_shared_memory_type": "mmap",
        "log_line_prefix": "%m [%p] %a ",
    ]

    private func configure(_ settings: [String: String], in name: String) throws {
        var text = "\n"
        for (key, value) in settings.sorted(by: { $0.key < $1.key }) {
            let quoted = value.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
            text += "\(key) = '\(quoted)'\n"
        }
        let file = open("\(data)/\(name)", O_WRONLY | O_APPEND | O_CLOEXEC)
        defer { close(file) }
        guard write(file, text, text.utf8.count) == text.utf8.count else {
            throw PostgresServerError("cannot write \(name)")
        }
    }
}

/// Returns the libpq URL of a database of the server whose socket is in `folder`.
package func postgresURL(folder: String, database: String) -> String {
    "postgresql://hornbeam@/\(percentEncoded(database))?host=\(percentEncoded(folder))"
}

private func percentEncoded(_ text: String) -> String {
    text.utf8.reduce(into: "") { result, byte in
        let character = Character(Unicode.Scalar(byte))
        let isPlain = character.isASCII && (character.isLetter || character.isNumber || "-._~".contains(character))
        result += isPlain ? String(character) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
}

// MARK: - All servers of the process

/// The folder of all servers of this process. A shell watches the process: when the process ends, even by a signal, the
/// shell stops the servers and deletes the folder.
private struct Servers: Sendable {
    static let shared = Result { try Servers() }

    /// PostgreSQL's programs.
    let binaries: String
    /// A data folder from initdb. Each server gets a copy, which takes a fraction of initdb's time.
    var template: String { "\(folder)/template" }

    private let folder: String
    private let watcher: pid_t
    private let watcherInput: Int32
    private let owner = getpid()

    private init() throws {
        binaries = try Self.newestBinaries()
        folder = try Self.makeFolder("\(Self.place)/hornbeam-postgres-XXXXXX")
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw PostgresServerError("no sockets for the watcher")
        }
        defer { close(ends[0]) }
        watcherInput = ends[1]
        watcher = try Command.spawn(["/bin/sh", "-c", Self.watching, folder], asServer: true, input: ends[0])
        atexit { try? Servers.shared.get().end() }
        let options = ["--no-sync", "-A", "trust", "-E", "UTF8", "--locale=C", "-U", "hornbeam", "--wal-segsize=1"]
        try Command.run(["\(binaries)/initdb"] + options + ["-D", template], asServer: true)
    }

    /// Creates the folder of a server or a proxy.
    func makeFolder() throws -> String { try Self.makeFolder("\(folder)/XXXXXX") }

    private static func makeFolder(_ pattern: String) throws -> String {
        var name = Array(pattern.utf8CString)
        guard mkdtemp(&name) != nil else { throw PostgresServerError("cannot create the folder \(pattern)") }
        let path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        try handOver(path)
        return path
    }

    /// In memory if there is room: initdb takes a third of the time there. Not in TMPDIR, because the user `postgres`
    /// may have no access there, and the path of a socket has at most 107 bytes.
    private static var place: String {
        var room = statvfs()
        let isRoomy = statvfs("/dev/shm", &room) == 0 && UInt64(room.f_bavail) * UInt64(room.f_frsize) > 4 << 30
        return isRoomy ? "/dev/shm" : "/tmp"
    }

    /// Gives the folder to the server's user, and lets others reach the sockets in it.
    private static func handOver(_ path: String) throws {
        guard chmod(path, 0o711) == 0 else { throw PostgresServerError("cannot open \(path)") }
        guard geteuid() == 0 else { return }
        guard let user = getpwnam("postgres"), chown(path, user.pointee.pw_uid, user.pointee.pw_gid) == 0 else {
            throw PostgresServerError("root needs the user postgres, as Debian's package creates it")
        }
    }

    private static func newestBinaries() throws -> String {
        let versions = names(in: "/usr/lib/postgresql").compactMap { Int($0) }.sorted(by: >)
        let paths = versions.map { "/usr/lib/postgresql/\($0)/bin" }
        guard let path = paths.first(where: { access("\($0)/initdb", X_OK) == 0 }) else {
            throw PostgresServerError("PostgreSQL is not installed in /usr/lib/postgresql")
        }
        return path
    }

    /// `read` returns when the process sends a line or ends. postmaster.pid may be stale: a process is the server only
    /// if the data folder is its current folder.
    private static let watching = """
        trap '' INT TERM HUP
        read -r word
        running() {
            for data in "$0"/*/data; do
                read -r process < "$data/postmaster.pid" && [ "/proc/$process/cwd" -ef "$data" ] && echo "$process"
            done
        }
        for process in $(running); do kill -QUIT "$process"; kill -CONT "$process"; done
        turns=0
        while [ -n "$(running)" ] && [ $turns -lt 500 ]; do sleep 0.02; turns=$((turns + 1)); done
        for process in $(running); do kill -KILL "$process"; done
        rm -rf "$0"
        """

    /// Stops all servers and deletes their files.
    private func end() {
        // A forked child runs the handlers of its parent too.
        guard getpid() == owner else { return }
        _ = send(watcherInput, "\n", 1, Int32(MSG_NOSIGNAL))
        waitpid(watcher, nil, 0)
    }
}

// MARK: - Commands

private enum Command {
    /// Runs a program to its end and returns its output. Throws its error output if it fails.
    @discardableResult
    static func run(_ words: [String], asServer: Bool = false, input: String = "") throws -> String {
        // Unlike pipes, files in memory don't fill up while nobody reads them.
        let files = (0..<3).map { _ in memoryFile() }
        defer { for file in files { close(file) } }
        guard write(files[0], input, input.utf8.count) == input.utf8.count, lseek(files[0], 0, SEEK_SET) == 0 else {
            throw PostgresServerError("no memory for input")
        }
        let process = try spawn(words, asServer: asServer, input: files[0], output: files[1], errors: files[2])
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else {
            let errors = contents(of: files[2])
            throw PostgresServerError(errors.isEmpty ? "\(words[0]): status \(status)" : errors)
        }
        return contents(of: files[1])
    }

    /// Starts a program that inherits only the given files; -1 stands for /dev/null. With `asServer` it runs as the
    /// user that owns the server.
    static func spawn(
        _ words: [String], asServer: Bool, input: Int32 = -1, output: Int32 = -1, errors: Int32 = -1
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (target, file) in [input, output, errors].enumerated() {
            if file < 0 {
                posix_spawn_file_actions_addopen(&actions, Int32(target), "/dev/null", O_RDWR, 0)
            } else {
                posix_spawn_file_actions_adddup2(&actions, file, Int32(target))
            }
        }
        // A server that inherited one end of a pipe would keep the pipe's reader waiting.
        for file in names(in: "/proc/self/fd").compactMap({ Int32($0) }) where file > 2 {
            posix_spawn_file_actions_addclose(&actions, file)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Ctrl-C ends the tests; the watcher then ends the servers. Dispatch's threads block signals.
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        var mask = sigset_t()
        sigemptyset(&mask)
        posix_spawnattr_setsigmask(&attributes, &mask)

        // In the root folder: the other user may have no access to the current one.
        let user = [
            "/usr/bin/env", "-C", "/", "/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups",
        ]
        let all = (asServer && geteuid() == 0 ? user : []) + words
        // With TZ set, initdb doesn't search for the system's time zone.
        let environment = ["PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=/"]
        var process: pid_t = 0
        let error = withCStrings(all) { arguments in
            withCStrings(environment) { posix_spawn(&process, all[0], &actions, &attributes, arguments, $0) }
        }
        guard error == 0 else { throw PostgresServerError("cannot start \(all[0]): error \(error)") }
        return process
    }

    private static let memoryFiles = Atomic(0)

    private static func memoryFile() -> Int32 {
        let name = "/hornbeam-\(getpid())-\(memoryFiles.add(1, ordering: .relaxed).newValue)"
        defer { shm_unlink(name) }
        return shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0o600)
    }

    private static func withCStrings(
        _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Int32
    ) -> Int32 {
        let pointers = texts.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }
}

// MARK: - Processes and files

private struct Deadline {
    private let end: ContinuousClock.Instant

    init(seconds: Int) { end = .now + .seconds(seconds) }

    /// Sleeps for a moment. Returns false when the time is over.
    func sleep() -> Bool {
        usleep(2000)
        return .now < end
    }
}

/// Returns whether a child of this process has ended, and reaps it.
private func hasEnded(_ child: pid_t) -> Bool { waitpid(child, nil, WNOHANG) != 0 }

private func waitForEnd(of child: pid_t, seconds: Int) -> Bool {
    let deadline = Deadline(seconds: seconds)
    while !hasEnded(child) {
        guard deadline.sleep() else { return false }
    }
    return true
}

/// Returns whether a process runs. A zombie doesn't.
private func isRunning(_ process: pid_t) -> Bool {
    processStatus(process).map { !"ZX".contains($0.state) } ?? false
}

/// Returns the children of a process. The file /proc/PID/task/PID/children isn't used: it can miss some while others
/// end.
private func children(of parent: pid_t) -> [pid_t] {
    names(in: "/proc").compactMap { pid_t($0) }.filter { processStatus($0)?.parent == parent }
}

private func processStatus(_ process: pid_t) -> (state: Character, parent: pid_t)? {
    // The fields follow the name, which is in parentheses and may contain parentheses.
    guard let text = contents(of: "/proc/\(process)/stat"), let name = text.lastIndex(of: ")") else { return nil }
    let fields = text[name...].dropFirst().split(separator: " ")
    guard fields.count > 1, let state = fields[0].first, let parent = pid_t(fields[1]) else { return nil }
    return (state, parent)
}

private func names(in folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        names.append(
            withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }
    return names
}

private func contents(of path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    return contents(of: file)
}

/// Returns the text of a file from its beginning.
private func contents(of file: Int32) -> String {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = pread(file, &chunk, chunk.count, off_t(bytes.count))
        guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
        bytes += chunk[..<count]
    }
}
