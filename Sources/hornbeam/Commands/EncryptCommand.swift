// SPDX-License-Identifier: Apache-2.0
// `hornbeam encrypt`, `hornbeam decrypt`: a verified copy of a store under a key, or without one.

import Hornbeam
import HornbeamPages
import HornbeamTree

enum EncryptCommand {
    static let encrypt = CommandDeclaration(
        path: ["encrypt"],
        summary: "copy a store into an encrypted one",
        discussion: "Copies all entries of a store that is not encrypted to a new, encrypted file, and compares them. "
            + "The key is that of --key-file ('openssl rand -hex 32 > FILE' makes one) or --passphrase-file. The "
            + "store is not changed: remove it once the copy serves. A removed file may stay readable on the disk.",
        operands: [.store, OperandDeclaration(name: "COPY", help: "the new file")],
        examples: ["hornbeam encrypt --key-file packages.key packages.hornbeam packages-encrypted.hornbeam"],
        run: { (arguments, console) in
            guard let key = StoreKeyFile.current else {
                throw UsageError("the copy needs a key", hint: "give --key-file FILE or --passphrase-file FILE")
            }
            return try copy(arguments, console, from: nil, to: key)
        })

    static let decrypt = CommandDeclaration(
        path: ["decrypt"],
        summary: "copy an encrypted store into one that is not",
        discussion: "Copies all entries of an encrypted store to a new file without encryption, and compares them. The "
            + "store itself is not changed.",
        operands: [.store, OperandDeclaration(name: "COPY", help: "the new file")],
        examples: ["hornbeam decrypt --key-file packages.key packages-encrypted.hornbeam packages.hornbeam"],
        run: { (arguments, console) in
            guard let key = StoreKeyFile.current else {
                throw UsageError("the store needs its key", hint: "give --key-file FILE or --passphrase-file FILE")
            }
            return try copy(arguments, console, from: key, to: nil)
        })

    private static func copy(
        _ arguments: Arguments, _ console: Console, from key: (any StoreEncryption)?,
        to otherKey: (any StoreEncryption)?
    ) throws -> ExitCode {
        let path = arguments.operand("COPY") ?? ""
        let progress = Progress("copying", unit: "entries", console: console)
        let report = try OpenStore.reading(arguments.file, key: key) { store in
            try store.convert(to: path, encryption: otherKey) { progress.update(count: $0, fraction: nil) }
        }
        progress.clear()
        let state = otherKey == nil ? "not encrypted" : "encrypted"
        try console.print(
            "\(path): \(Spelling.counted(report.entries, "entry", "entries")) copied and compared, \(state)")
        for name in report.lostReductions {
            try console.print(
                "tree \(DisplayWidth.printable(name)): its reduced values are built anew by the program that "
                    + "registers its index")
        }
        return .ok
    }
}
