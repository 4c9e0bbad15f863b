// SPDX-License-Identifier: Apache-2.0
// Questions about syntax nodes, for the parser of models.

import SwiftSyntax

/// The index attributes.
struct IndexWrapper {
    let kind: ModelDeclaration.Index.Kind

    init?(_ attribute: AttributeSyntax) {
        switch attribute.baseName {
        case "Index": kind = .value
        case "HashIndex": kind = .hash
        case "Unique": kind = .unique
        case "FullTextIndex": kind = .text
        default: return nil
        }
    }
}

extension AttributeSyntax {
    /// The attribute's name without module and generic arguments.
    var baseName: String {
        if let member = attributeName.as(MemberTypeSyntax.self) { return member.name.text }
        return attributeName.as(IdentifierTypeSyntax.self)?.name.text ?? ""
    }

    var labeledArguments: [LabeledExprSyntax] {
        guard case .argumentList(let list) = arguments else { return [] }
        return Array(list)
    }
}

extension PatternBindingSyntax {
    /// Whether it has a getter: observers alone leave a property stored.
    var isComputed: Bool {
        guard let accessorBlock else { return false }
        guard case .accessors(let list) = accessorBlock.accessors else { return true }
        return !list.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
    }
}

extension TypeSyntax {
    var isOptionalType: Bool { wrappedOptional != nil }

    /// `T` of `T?`, `T!` and `Optional<T>`.
    var wrappedOptional: TypeSyntax? {
        if let optional = self.as(OptionalTypeSyntax.self) { return optional.wrappedType.trimmed }
        if let implicit = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return implicit.wrappedType.trimmed }
        return genericArgument(of: "Optional")
    }

    /// Whether it has generic arguments.
    var isGeneric: Bool {
        self.as(IdentifierTypeSyntax.self)?.genericArgumentClause != nil
            || self.as(MemberTypeSyntax.self)?.genericArgumentClause != nil
    }

    private func genericArgument(of name: String) -> TypeSyntax? {
        let clause: GenericArgumentClauseSyntax?
        if let plain = self.as(IdentifierTypeSyntax.self), plain.name.text == name {
            clause = plain.genericArgumentClause
        } else if let member = self.as(MemberTypeSyntax.self), member.name.text == name {
            clause = member.genericArgumentClause
        } else {
            clause = nil
        }
        guard let clause, clause.arguments.count == 1, let first = clause.arguments.first,
            case .type(let type) = first.argument
        else { return nil }
        return type.trimmed
    }
}

extension ExprSyntax {
    /// The names along a key path of properties; nil for anything else.
    var propertyPath: [String]? {
        guard let path = self.as(KeyPathExprSyntax.self), !path.components.isEmpty else { return nil }
        var names: [String] = []
        for component in path.components {
            guard let property = component.component.as(KeyPathPropertyComponentSyntax.self) else { return nil }
            names.append(property.declName.baseName.text.filter { $0 != "`" })
        }
        return names
    }
}

extension ExprSyntax {
    /// Whether it is an integer or a text without interpolation.
    var isConstantLiteral: Bool {
        if let text = self.as(StringLiteralExprSyntax.self) {
            return text.segments.allSatisfy { $0.is(StringSegmentSyntax.self) }
        }
        return self.is(IntegerLiteralExprSyntax.self)
    }

    /// Whether it says nothing about a relation: `nil` or `.none`.
    var saysNothing: Bool {
        self.is(NilLiteralExprSyntax.self) || self.as(MemberAccessExprSyntax.self)?.declName.baseName.text == "none"
    }

    /// The type that a key path begins at, if it names one.
    var root: TypeSyntax? { self.as(KeyPathExprSyntax.self)?.root }

    /// The first name along a key path.
    var firstProperty: String? {
        let first = self.as(KeyPathExprSyntax.self)?.components.first?.component
        return first?.as(KeyPathPropertyComponentSyntax.self)?.declName.baseName.text.filter { $0 != "`" }
    }

    /// Metadata of the store, as a member with or without its type: `.updatedAt`, `Metadata.updatedAt.desc`.
    var metadata: (name: String, descending: Bool)? {
        var names: [String] = []
        var rest: ExprSyntax? = self
        while let member = rest?.as(MemberAccessExprSyntax.self) {
            names.insert(member.declName.baseName.text, at: 0)
            rest = member.base
        }
        if let rest {
            guard let base = rest.as(DeclReferenceExprSyntax.self) else { return nil }
            names.insert(base.baseName.text, at: 0)
            guard let type = names.firstIndex(of: "Metadata") else { return nil }
            names.removeSubrange(...type)
        }
        guard let name = names.first, ["updatedAt", "createdAt", "version"].contains(name),
            names.count == 1 || names.count == 2 && ["asc", "desc"].contains(names[1])
        else { return nil }
        return (name, names.last == "desc")
    }
}

extension DeclGroupSyntax {
    /// The name of a type declaration, or of the type that an extension extends.
    var typeName: String? {
        if let named = self.asProtocol((any NamedDeclSyntax).self) { return named.name.text }
        return self.as(ExtensionDeclSyntax.self)?.extendedType.trimmedDescription
    }

    /// The type's name with the arguments of its generic parameters, in the form of a string literal. Returns nil for a
    /// parameter pack.
    var storedName: String? {
        guard let typeName else { return nil }
        let parameters = asProtocol((any WithGenericParametersSyntax).self)?.genericParameterClause?.parameters ?? []
        let names = parameters.compactMap { parameter -> String? in
            let name = parameter.name.text
            switch parameter.specifier?.text {
            case nil: return "\\(Hornbeam.GenericEntity.name(of: \(name).self))"
            case "let": return "\\(\(name))"
            default: return nil
            }
        }
        return names.isEmpty ? typeName : "\(typeName)<\(names.joined(separator: ","))>"
    }
}
