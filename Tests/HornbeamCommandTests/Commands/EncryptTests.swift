// SPDX-License-Identifier: Apache-2.0
// `encrypt`, `decrypt`, and the keys of all other commands.

import HornbeamTestSupport
import Testing

@Suite("The command on encrypted stores")
struct EncryptTests {
    private let digits = String(repeating: "0f", count: 32)

    @Test("encrypts a store, works on it with its key, and decrypts it with all that it holds")
    func roundTrip() throws {
        let library = try Library()
        let folder = library.folder
        let key = try folder.write("key", digits + "\n")
        let (secret, plain) = (folder.path("secret"), folder.path("plain"))
        let made = try CommandRun("encrypt", "--key-file", key, library.file, secret)
        #expect(made.code == 0, "\(made)")
        #expect(made.output.contains(" copied and compared, encrypted\n"), "\(made)")
        let without = try CommandRun("query", secret, "Book", "--count")
        #expect(without.code == 1)
        #expect(without.errors.contains("is encrypted: open it with its key"), "\(without)")
        let count = try CommandRun("query", "--key-file", key, secret, "Book", "--count")
        #expect(count.output == "5\n", "\(count)")
        #expect(try CommandRun("check", "--key-file=\(key)", secret).code == 0)
        let byVariable = try CommandRun(
            shell: "HORNBEAM_KEY_FILE=key hornbeam search secret Book solaris", in: folder.path)
        #expect(byVariable.output.contains("Solaris"), "\(byVariable)")
        let told = try CommandRun("info", "--key-file", key, secret)
        #expect(told.output.hasPrefix("file         \(secret), encrypted\n"), "\(told)")
        #expect(try CommandRun("info", library.file).output.hasPrefix("file         \(library.file)\n"))
        let copied = try CommandRun("backup", "--key-file", key, secret, folder.path("copy"))
        #expect(copied.code == 0, "\(copied)")
        #expect(try CommandRun("salvage", "--key-file", key, secret, folder.path("saved")).code == 0)
        #expect(try CommandRun("info", folder.path("saved")).code == 1, "what is salvaged is encrypted too")
        let back = try CommandRun("decrypt", "--key-file", key, secret, plain)
        #expect(back.output.hasSuffix(" copied and compared, not encrypted\n"), "\(back)")
        #expect(try CommandRun("export", plain, "Book").output == CommandRun("export", library.file, "Book").output)
        #expect(try CommandRun("check", plain).code == 0)
    }

    @Test("takes passphrases, and says what is wrong with a key")
    func keys() throws {
        let library = try Library()
        let folder = library.folder
        let words = try folder.write("words", "open sesame\n")
        let secret = folder.path("secret")
        #expect(try CommandRun("encrypt", "--passphrase-file", words, library.file, secret).code == 0)
        #expect(try CommandRun("query", "--passphrase-file", words, secret, "Book", "--count").output == "5\n")
        let other = try folder.write("other", "open barley\n")
        for (options, code, text) in [
            (["--passphrase-file", other], 1, "doesn't open"),
            (["--key-file", words], 1, "64 hexadecimal digits"),
            (["--key-file", folder.path("none")], 1, "can't read the key file"),
            (["--key-file", words, "--passphrase-file", words], 2, "one of them"),
        ] as [([String], Int32, String)] {
            let run = try CommandRun(["info"] + options + [secret])
            #expect(run.code == code && run.errors.contains(text), "\(run)")
        }
        let unneeded = try CommandRun("info", "--passphrase-file", words, library.file)
        #expect(unneeded.errors.contains("is not encrypted"), "\(unneeded)")
        #expect(try CommandRun("encrypt", library.file, folder.path("new")).code == 2, "without a key")
    }
}
