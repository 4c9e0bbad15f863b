// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as the body of a request of the studio's page. It is read or refused with a typed error; a
// change becomes a statement that can be read, whatever the names and values in it are.

import Hornbeam
import HornbeamCommand

/// Types with columns of all kinds, and names that must be quoted.
private let types: [EntityDescription] = [
    EntityDescription(
        name: "Item",
        columns: [
            .init(name: "id", type: .int64), .init(name: "name", type: .string),
            .init(name: "size", type: .optional(.double)), .init(name: "day", type: .optional(.date)),
            .init(name: "key", type: .optional(.uuid)), .init(name: "page", type: .optional(.url)),
            .init(name: "price", type: .optional(.decimal)), .init(name: "bytes", type: .optional(.data)),
            .init(name: "more", type: .optional(.json)), .init(name: "tags", type: .array(.string)),
            .init(name: "isNew", type: .bool), .init(name: "ratio", type: .optional(.float)),
        ],
        relations: [
            .init(name: "parent", target: "Item", toMany: false), .init(name: "children", target: "Item", toMany: true),
        ]),
    EntityDescription(
        name: "a`\"\n?", columns: [.init(name: "select", type: .string), .init(name: "\"}\n--", type: .string)]),
]

/// The first byte chooses the kind of the request.
public func fuzzRequests(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    let body = UnsafeRawBufferPointer(rebasing: input.dropFirst())
    do {
        switch choice % 3 {
        case 0: _ = try StatementRequest(json: body)
        case 1:
            let request = try CompletionRequest(json: body)
            let found = StatementCompletion(types).completions(of: request.before, followedBy: request.after)
            precondition(found.replaced <= request.before.count && found.words == found.words.sorted())
        default: try change(try EntityChange(json: body), choice)
        }
    } catch let error as HornbeamError {
        precondition(error.code == .invalid || error.code == .tooLarge, "\(error.code): \(error.message)")
    } catch is FieldErrors {
    } catch {
        preconditionFailure("\(error)")
    }
}

private func change(_ change: EntityChange, _ choice: UInt8) throws {
    let type = types[choice < 128 ? 0 : 1]
    let id: Value? = change.kind == .insert ? nil : type.columns[0].type == .string ? .string("\u{0}") : .int(-1)
    let made = try ChangeStatement(change, of: type, id: id) { name in
        types.first { $0.name == name }?.columns[0].type
    }
    do {
        let statement = try Statement(made.text)
        precondition(statement.changesData, made.text)
    } catch let error as HornbeamError {
        precondition(error.code == .tooLarge, "\(error.message)")
    }
    precondition(made.swift.hasPrefix("try database.write { context in\n") && made.swift.hasSuffix("\n}"))
}
