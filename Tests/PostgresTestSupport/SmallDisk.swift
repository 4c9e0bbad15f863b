// SPDX-License-Identifier: Apache-2.0
// A small disk for a server, which is soon full: a file system of some megabytes in memory.

import Glibc

/// A mounted file system, until the test releases it.
package final class SmallDisk: Sendable {
    package let path: String

    /// Returns nil if this process may not mount file systems.
    package init?(megabytes: Int) throws {
        path = try PostgresServer.makeFolder()
        var information = stat()
        guard stat(path, &information) == 0 else { throw PostgresServerError("cannot find \(path)") }
        // The server's user owns it, like the folder.
        let options = "size=\(megabytes)m,mode=0700,uid=\(information.st_uid),gid=\(information.st_gid)"
        guard mount("tmpfs", path, "tmpfs", 0, options) == 0 else { return nil }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    private var filler: String { "\(path)/filler" }

    /// Fills the disk completely.
    package func fill() throws {
        let file = open(filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw PostgresServerError("cannot create \(filler)") }
        defer { close(file) }
        let zeros = [UInt8](repeating: 0, count: 4096)
        while write(file, zeros, zeros.count) > 0 {}
        guard errno == ENOSPC else { throw PostgresServerError("cannot fill \(path)") }
    }

    /// Frees the space that `fill` has taken.
    package func makeRoom() { unlink(filler) }

    /// Keeps the disk alive up to this call.
    package func keep() {}
}
