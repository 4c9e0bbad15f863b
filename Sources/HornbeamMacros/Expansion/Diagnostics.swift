// SPDX-License-Identifier: Apache-2.0
// The errors of `@EntityModel`. Each message names the fault and the remedy.

import SwiftDiagnostics

enum ModelDiagnostic: DiagnosticMessage {
    case notAStruct
    case noId(String)
    case constantId
    case optionalId(type: String)
    case pattern
    case conditional
    case relationWithoutType(String)
    case relationNotOptional(String, type: String)
    case relationWithoutValue(String, type: String)
    case inverse(String)
    case emptyIndex(String)
    case indexWithoutType(String)
    case indexPath(String)
    case computedIndex(String)
    case relationIndex(String)
    case partialIndex(String)
    case unknownProperty(String, index: String)
    case duplicate(String)

    var severity: DiagnosticSeverity { .error }

    var diagnosticID: MessageID {
        MessageID(domain: "HornbeamMacros", id: "\(self)".prefix { $0 != "(" }.description)
    }

    var message: String {
        switch self {
        case .notAStruct:
            "@EntityModel needs a struct: entities are values"
        case .noId(let name):
            "'\(name)' has no 'id': add a property such as 'let id: String' to the struct itself, stored or computed"
        case .constantId:
            "'let id' with a value can't be set when an entity is read: write 'var id = …', give it no value "
                + "here, or an integer or text literal if the type has one entity"
        case .optionalId(let type):
            "'id' can't be optional: write 'let id: \(type)', and give each entity one, such as "
                + "'nextID(in: &context)', which counts up, or 'UUID()'"
        case .pattern:
            "@EntityModel needs one stored property in each declaration: declare each on its own"
        case .conditional:
            "a stored property inside '#if' would change the row format from build to build: move it out of the '#if'"
        case .relationWithoutType(let name):
            "relation '\(name)' needs a written type: 'T?' for to-one, '[T]?' for to-many"
        case .relationNotOptional(let name, let type):
            "relation '\(name)' must be optional, because it may not be loaded: write '\(type)?'"
        case .relationWithoutValue(let name, let type):
            "a one-way relation needs parentheses or a value: '@Relationship() var \(name): \(type)' "
                + "or '@Relationship var \(name): \(type) = nil'"
        case .inverse(let text):
            "'\(text)' is no inverse: write the related type's property, such as '\\.messages'"
        case .emptyIndex(let name):
            "index '\(name)' has no key path: write the properties it is over, such as '@Index<Self>(\\.name)'"
        case .indexWithoutType(let wrapper):
            "Swift can't tell the type that the key path begins at: write '@\(wrapper)<Self>(…)'"
        case .indexPath(let text):
            "'\(text)' can't be indexed: an index is over stored properties, each with or without '.asc' or '.desc'"
        case .computedIndex(let name):
            "'\(name)' is computed: an index is over stored properties"
        case .relationIndex(let name):
            "an index can be over the id that '\(name)' leads to, if it is a to-one relation: write '\\.$\(name).id', "
                + "in '@Index', '@HashIndex' or '@Unique'"
        case .partialIndex(let name):
            "index '\(name)' can't have 'where:', only '@FullTextIndex' can: register "
                + "'ValueIndex(\"\(name)\", …, where: …)' with the database instead"
        case .unknownProperty(let name, let index):
            "index '\(index)' names '\(name)', which is no stored property of this type"
        case .duplicate(let name):
            "'\(name)' is declared twice"
        }
    }
}
