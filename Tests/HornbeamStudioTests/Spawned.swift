// SPDX-License-Identifier: Apache-2.0
// A process that inherits no descriptor and no blocked signal. Foundation's processes inherit the pipes by which tests
// notice the end of other processes, so a test would wait for a studio that runs as long as the tests do.

import Foundation
import Glibc
import Testing

struct Spawned {
    let pid: pid_t

    /// Starts a program. The first word is its path, the others are its arguments. `output` receives its output.
    init(_ words: [String], output: Int32) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        // Closing one that isn't open any more is no error.
        for number in files where number > STDERR_FILENO { posix_spawn_file_actions_addclose(&actions, number) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, usual) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&usual)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &usual)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var arguments = words.map { strdup($0) } + [nil]
        var environment = ProcessInfo.processInfo.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (arguments + environment).forEach { free($0) } }
        var pid: pid_t = 0
        try #require(posix_spawn(&pid, words[0], &actions, &attributes, &arguments, &environment) == 0)
        self.pid = pid
    }

    /// Runs a program to its end, without its output. Returns its exit code, or -1 if a signal ended it.
    static func run(_ words: [String]) throws -> Int32 {
        let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(nowhere) }
        let process = try Spawned(words, output: nowhere)
        var status: Int32 = 0
        while waitpid(process.pid, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? status >> 8 & 0xFF : -1
    }

    /// Returns whether the process has ended. Must not be called again once it has returned true.
    func hasEnded() -> Bool { waitpid(pid, nil, WNOHANG) == pid }
}
