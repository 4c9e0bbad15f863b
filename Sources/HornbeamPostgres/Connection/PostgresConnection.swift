// SPDX-License-Identifier: Apache-2.0
// A connection to a server by libpq. Calls block their thread, but never forever: each waits for the socket in short
// slices, between which it checks whether the server has been silent for too long, or the call was cancelled.

private import CPostgres
import Glibc
import Hornbeam
import HornbeamTree

/// Belongs to one thread at a time. After an error other than a refused statement it is closed and can't be used again.
final class PostgresConnection {
    private var handle: OpaquePointer?
    /// Ends the running statement when it is set.
    var interruption: Interruption
    /// The time for which the server may be silent.
    var timeout: Duration

    /// Connects. The address is a libpq connection string or URL. Several hosts in it are tried one after the other.
    init(_ address: String, timeout: Duration, interruption: Interruption) throws(HornbeamError) {
        self.timeout = timeout
        self.interruption = interruption
        var failure = HornbeamError(.unreachable, "the address “\(address.shown())” names no host")
        for settings in try ServerAddress(address).hosts {
            do throws(HornbeamError) {
                try connect(settings)
                return
            } catch {
                close()
                // If there are several hosts, the error of one that was reached is the most useful.
                if failure.code == .unreachable || error.code != .unreachable { failure = error }
                if error.code == .cancelled { break }
            }
        }
        throw failure
    }

    deinit { close() }

    func close() {
        PQfinish(handle)
        handle = nil
    }

    /// Maximum time for which a host may be silent while the connection is made.
    private static let patience = Duration.seconds(10)

    private func connect(_ settings: [(keyword: String, value: String)]) throws(HornbeamError) {
        let keywords = settings.map { strdup($0.keyword) }
        let values = settings.map { strdup($0.value) }
        defer { for text in keywords + values { free(text) } }
        handle = PQconnectStartParams(
            keywords.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 0)
        // Verbose errors have the SQLSTATE.
        PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        let silence = timeout
        defer { timeout = silence }
        timeout = min(timeout, Self.patience)
        var state = PGRES_POLLING_WRITING
        while PQstatus(handle) != CONNECTION_BAD, state != PGRES_POLLING_OK, state != PGRES_POLLING_FAILED {
            try wait(for: state == PGRES_POLLING_READING ? POLLIN : POLLOUT)
            state = PQconnectPoll(handle)
        }
        guard PQstatus(handle) == CONNECTION_OK else { throw connectionError }
        PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
        PQsetnonblocking(handle, 1)
        // Notices would go to standard error.
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
        try prepare()
    }

    private var connectionError: HornbeamError {
        // Verbose errors end with the position in the server's sources.
        let words = message.replacing(#/; [^;]*\.c:\d+/#, with: "")
        if PQconnectionNeedsPassword(handle) == 1 {
            return HornbeamError(
                .authentication, "the server asks for a password: \(words); give it in the address or in ~/.pgpass")
        }
        guard let state = words.firstMatch(of: #/:  ([0-9A-Z]{5}): /#).map({ String($0.1) }) else {
            return HornbeamError(.unreachable, "the server can't be reached: \(words)")
        }
        let remedy = HornbeamError.remedy(ofState: state).map { ": \($0)" } ?? ""
        return HornbeamError(HornbeamError.code(ofState: state), "the server refuses the connection: \(words)\(remedy)")
    }

    /// Sets the session up so that the texts of values have the form of `ColumnForm`, whatever the server's settings
    /// are.
    private func prepare() throws(HornbeamError) {
        guard PQserverVersion(handle) >= 110_000 else {
            throw HornbeamError(.server, "the server is older than PostgreSQL 11: use a newer one")
        }
        let encoding = PQparameterStatus(handle, "server_encoding").map { String(cString: $0) } ?? ""
        guard encoding == "UTF8" else {
            throw HornbeamError(
                .server, "the database has the encoding \(encoding): make one with ENCODING 'UTF8' TEMPLATE template0")
        }
        try execute(
            "SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'; SET bytea_output = 'hex'; SET extra_float_digits = 3; "
                + "SET standard_conforming_strings = on; SET client_min_messages = 'warning'")
        // An acknowledged commit must survive a crash of the server.
        if let level = try execute("SHOW synchronous_commit").text(0, 0), ["off", "local"].contains(level) {
            try execute("SET synchronous_commit = on")
        }
    }

    /// Makes the server end statements, waits for locks and idle transactions of this connection by itself. It may not
    /// notice when this side is gone.
    func setLimits() throws(HornbeamError) {
        let milliseconds = timeout.components.seconds * 1000
        try execute(
            "SET statement_timeout = \(milliseconds); SET lock_timeout = \(milliseconds); "
                + "SET idle_in_transaction_session_timeout = \(milliseconds * 2)")
    }

    /// Whether the connection is open, judged without sending anything to the server.
    var isAlive: Bool { PQconsumeInput(handle) == 1 && PQstatus(handle) == CONNECTION_OK }

    // MARK: Statements

    /// Runs statements and returns the last result. With parameters there must be a single statement.
    @discardableResult
    func execute(_ sql: String, _ parameters: [String?] = []) throws(HornbeamError) -> PostgresResult {
        try send(sql, parameters)
        return try finish(sql)
    }

    private func send(_ sql: String, _ parameters: [String?]) throws(HornbeamError) {
        guard handle != nil else { throw HornbeamError(.unreachable, "the connection is closed") }
        let isSent: Int32
        if parameters.isEmpty {
            isSent = PQsendQuery(handle, sql)
        } else {
            let texts = parameters.map { $0.flatMap { strdup($0) } }
            defer { for text in texts { free(text) } }
            isSent = PQsendQueryParams(
                handle, sql, Int32(texts.count), nil, texts.map { UnsafePointer($0) }, nil, nil, 0)
        }
        guard isSent == 1 else { throw lost() }
        try flush()
    }

    /// Receives all results of the sent statements, and returns the last one. If one of them is an error, throws it
    /// after all have arrived, so that the connection is ready for the next statement.
    private func finish(_ sql: String) throws(HornbeamError) -> PostgresResult {
        var last: PostgresResult?
        var failure: HornbeamError?
        while let result = try next() {
            switch result.status {
            case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE:
                if failure == nil { failure = refusal(result, sql) }
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                close()
                throw HornbeamError(.server, "the server began a COPY that was not requested: \(sql.prefix(100))")
            default: last = result
            }
        }
        if let failure {
            if PQstatus(handle) != CONNECTION_OK { close() }
            throw failure
        }
        guard let last else { throw lost() }
        return last
    }

    /// Returns the next result, or nil if there are no more.
    private func next() throws(HornbeamError) -> PostgresResult? {
        while PQisBusy(handle) == 1 {
            try wait(for: POLLIN)
            guard PQconsumeInput(handle) == 1 else { throw lost() }
        }
        return PQgetResult(handle).map { PostgresResult($0) }
    }

    private func refusal(_ result: PostgresResult, _ sql: String) -> HornbeamError {
        guard let state = result.errorField(HB_PG_SQLSTATE) else { return lost() }
        var words = result.errorField(HB_PG_MESSAGE) ?? message
        for field in [HB_PG_DETAIL, HB_PG_CONTEXT] {
            if let text = result.errorField(field) { words += " (\(text))" }
        }
        if let remedy = HornbeamError.remedy(ofState: state) { words += ": \(remedy)" }
        return HornbeamError(HornbeamError.code(ofState: state), "the server says \(state), \(words)")
    }

    // MARK: COPY

    /// Sends the rows that `body` writes, by a `COPY … FROM STDIN`.
    func copy(into sql: String, _ body: (inout CopyRows) throws -> Void) throws {
        try send(sql, [])
        try expect(PGRES_COPY_IN, sql)
        var rows = CopyRows { [unowned self] (bytes) throws(HornbeamError) in try self.put(bytes) }
        do {
            try body(&rows)
            try rows.flush()
        } catch {
            // The server drops the statement with the connection; the transaction it is in fails in any case.
            close()
            throw error
        }
        while true {
            let isDone = PQputCopyEnd(handle, nil)
            if isDone == 1 { break }
            guard isDone == 0 else { throw lost() }
            try wait(for: POLLOUT)
        }
        try flush()
        _ = try finish(sql)
    }

    /// Number of bytes that are passed to libpq at once. It keeps the bytes in memory that it can't send yet.
    private static let slice = 1 << 20

    private func put(_ bytes: [UInt8]) throws(HornbeamError) {
        for start in stride(from: 0, to: bytes.count, by: Self.slice) {
            let end = min(start + Self.slice, bytes.count)
            while true {
                let isTaken = bytes[start..<end].withUnsafeBytes {
                    PQputCopyData(handle, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
                }
                if isTaken == 1 { break }
                guard isTaken == 0 else { throw lost() }
                try wait(for: POLLIN | POLLOUT)
                guard PQconsumeInput(handle) == 1 else { throw lost() }
            }
            try flush()
        }
    }

    /// Calls `body` with each row of a `COPY … TO STDOUT`.
    func copy(from sql: String, _ body: (borrowing CopiedRow) throws -> Void) throws {
        try send(sql, [])
        try expect(PGRES_COPY_OUT, sql)
        var row = CopiedRow()
        while true {
            try checkInterruption()
            var line: UnsafeMutablePointer<CChar>?
            let size = PQgetCopyData(handle, &line, 1)
            if size == -1 { break }
            guard size >= 0 else { throw lost() }
            guard size > 0, let line else {
                try wait(for: POLLIN)
                guard PQconsumeInput(handle) == 1 else { throw lost() }
                continue
            }
            defer { PQfreemem(line) }
            do {
                try row.read(UnsafeRawBufferPointer(start: line, count: Int(size)))
                try body(row)
            } catch {
                close()
                throw error
            }
        }
        _ = try finish(sql)
    }

    private func expect(_ status: ExecStatusType, _ sql: String) throws(HornbeamError) {
        let result = try next()
        guard let result, result.status == status else {
            if let result, result.status == PGRES_FATAL_ERROR {
                while try next() != nil {}
                throw refusal(result, sql)
            }
            throw lost()
        }
    }

    // MARK: Waiting

    private func flush() throws(HornbeamError) {
        try checkInterruption()
        while true {
            let left = PQflush(handle)
            if left == 0 { return }
            guard left == 1 else { throw lost() }
            // The server may have to send something before it accepts more.
            try wait(for: POLLIN | POLLOUT)
            guard PQconsumeInput(handle) == 1 else { throw lost() }
        }
    }

    private func checkInterruption() throws(HornbeamError) {
        guard interruption.isSet else { return }
        // The server finds out by the closed connection, or by its own limits: asking it to cancel could block.
        close()
        throw HornbeamError(.cancelled, "the work with the server was cancelled")
    }

    /// Waits until the socket is ready, for `timeout` at most.
    private func wait(for events: Int32) throws(HornbeamError) {
        let end = ContinuousClock.now + timeout
        var socket = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
        while true {
            try checkInterruption()
            let ready = poll(&socket, 1, 50)
            if ready > 0 { return }
            if ready < 0, errno != EINTR { throw lost() }
            guard ContinuousClock.now < end else {
                close()
                throw HornbeamError(
                    .timedOut,
                    "the server gave no answer for \(timeout.components.seconds) s: see what it does, or give it more "
                        + "time by the options' timeout and copyTimeout")
            }
        }
    }

    private func lost() -> HornbeamError {
        let words = message
        close()
        return HornbeamError(.unreachable, "the connection to the server was lost: \(words)")
    }

    private var message: String {
        guard let handle else { return "it is closed" }
        let text = String(cString: PQerrorMessage(handle))
        let lines = text.split(whereSeparator: \.isNewline).map { $0.drop(while: \.isWhitespace) }
        return lines.isEmpty ? "no reason is known" : lines.joined(separator: "; ")
    }
}

/// The result of a statement.
final class PostgresResult {
    private let handle: OpaquePointer

    fileprivate init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { PQclear(handle) }

    fileprivate var status: ExecStatusType { PQresultStatus(handle) }

    fileprivate func errorField(_ field: PostgresErrorField) -> String? {
        PQresultErrorField(handle, Int32(field.rawValue)).map { String(cString: $0) }
    }

    /// Number of rows that it has.
    var count: Int { Int(PQntuples(handle)) }

    /// Number of columns that it has.
    var width: Int { Int(PQnfields(handle)) }

    /// Number of rows that the statement has changed.
    var affected: Int { Int(String(cString: PQcmdTuples(handle))) ?? 0 }

    /// Returns the bytes of a value, or nil for NULL. They are valid as long as the result exists.
    func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
        guard row < count, column < width, PQgetisnull(handle, Int32(row), Int32(column)) == 0 else { return nil }
        return UnsafeRawBufferPointer(
            start: PQgetvalue(handle, Int32(row), Int32(column)),
            count: Int(PQgetlength(handle, Int32(row), Int32(column))))
    }

    func text(_ row: Int, _ column: Int) -> String? {
        bytes(row, column).map { String(decoding: $0, as: UTF8.self) }
    }
}
