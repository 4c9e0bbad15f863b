// SPDX-License-Identifier: Apache-2.0
// The shape of an annotated struct as the macro understands it, and the parser that takes it from the syntax tree. The
// parser collects all diagnostics of a declaration rather than stop at the first.

import SwiftDiagnostics
import SwiftSyntax

/// The input of the expansion.
struct ModelDeclaration {
    /// A stored property. The id comes first.
    struct Property {
        /// As written, with back-ticks where it needs them.
        var code: String
        var isVariable: Bool
        /// Whether the written type is optional: such properties are patched by fragments.
        var isOptional: Bool
        var hasWrapper: Bool
        var hasDefault: Bool
        /// Whether it is a computed or constant id: it is stored, and never read back.
        var isDerived = false
        /// As written, or nil if the compiler infers it.
        var type: String?
        /// The written type of an optional property without its optionality.
        var wrappedType = ""
        var name: String { code.filter { $0 != "`" } }
    }

    struct Index {
        enum Kind: String {
            case value, unique, hash, text
        }
        struct Component {
            /// A stored property, or metadata of the store.
            var property: String
            var descending: Bool
            var isMetadata = false
            /// Whether it is the id of the related entity of the relation with this name.
            var isLinkedID = false
        }
        var name: String
        var kind: Kind
        var components: [Component]
        /// The arguments with labels, as they are written.
        var options: [String] = []
    }

    struct Relation {
        /// As written, with back-ticks where it needs them.
        var code: String
        var name: String { code.filter { $0 != "`" } }
        /// The property of the target that follows `inverse:`.
        var inverse: String?
        /// The expression that follows `deleteRule:`.
        var deleteRule: String?
        /// Whether the declaration gives new entities a value. An entity that is read must not have it.
        var hasValue = false
    }

    /// Unique among types: the name of a nested type includes those of its outer types.
    var name: String
    /// The name in the store, in the form of a string literal. It includes the arguments of a generic type.
    var storedName = ""
    /// `public `, `package `, `fileprivate ` or nothing: the access of generated members.
    var access: String
    var isGeneric: Bool
    /// Whether it is nested in another type. Its extension doesn't see the names of that type.
    var isNested = false
    var properties: [Property] = []
    var indexes: [Index] = []
    var relations: [Relation] = []
}

/// Reads one struct declaration.
struct ModelParser {
    private(set) var diagnostics: [Diagnostic] = []
    private let enclosing: [Syntax]
    private var model = ModelDeclaration(name: "", access: "", isGeneric: false)
    private var computed: Set<String> = []
    /// Constants with a value in their declaration.
    private var constants: Set<String> = []
    /// Index key paths wait until all properties are known.
    private var pending: [(index: ModelDeclaration.Index, arguments: [LabeledExprSyntax])] = []

    init(enclosing: [Syntax]) {
        self.enclosing = enclosing
    }

    /// Returns the model, or nil if the declaration has errors. `diagnostics` then lists them.
    mutating func parse(_ structure: StructDeclSyntax) -> ModelDeclaration? {
        let outer = enclosing.reversed().compactMap { $0.asProtocol((any DeclGroupSyntax).self)?.typeName }
        model.name = (outer + [structure.name.text]).joined(separator: ".")
        let around = enclosing.reversed().compactMap { $0.asProtocol((any DeclGroupSyntax).self)?.storedName }
        model.storedName = (around + [structure.storedName ?? structure.name.text]).joined(separator: ".")
        model.isNested = !outer.isEmpty
        model.access = access(of: structure)
        model.isGeneric =
            structure.genericParameterClause != nil
            || enclosing.contains {
                $0.asProtocol((any WithGenericParametersSyntax).self)?.genericParameterClause != nil
            }
        for member in structure.memberBlock.members {
            if let variable = member.decl.as(VariableDeclSyntax.self) {
                read(variable)
            } else if let condition = member.decl.as(IfConfigDeclSyntax.self) {
                refuseStored(in: condition)
            }
        }
        resolveIndexes()
        moveIdFirst(of: structure)
        refuseDuplicates(in: structure)
        return diagnostics.isEmpty ? model : nil
    }

    /// The access level of the members. Inside a hidden type they have to be declared hidden too.
    private func access(of structure: StructDeclSyntax) -> String {
        let outer = enclosing.compactMap { $0.asProtocol((any DeclGroupSyntax).self)?.modifiers }
        if outer.joined().contains(where: { ["private", "fileprivate"].contains($0.name.text) }) {
            return "fileprivate "
        }
        return structure.modifiers.map(\.name.text).first { ["public", "package"].contains($0) }.map { "\($0) " } ?? ""
    }

    private mutating func report(_ message: ModelDiagnostic, at node: some SyntaxProtocol) {
        diagnostics.append(Diagnostic(node: node, message: message))
    }

    // MARK: - Members

    private mutating func read(_ variable: VariableDeclSyntax) {
        let attributes = variable.attributes.compactMap { $0.as(AttributeSyntax.self) }
        if let attribute = attributes.first(where: { IndexWrapper($0) != nil }), let wrapper = IndexWrapper(attribute) {
            readIndex(variable, attribute, wrapper.kind)
            return
        }
        let modifiers = Set(variable.modifiers.map(\.name.text))
        guard modifiers.isDisjoint(with: ["static", "class", "lazy"]) else { return }
        if let attribute = attributes.first(where: { $0.baseName == "Relationship" }) {
            readRelation(variable, attribute)
            return
        }
        readProperties(variable, hasWrapper: !attributes.isEmpty)
    }

    private mutating func readProperties(_ variable: VariableDeclSyntax, hasWrapper: Bool) {
        let isVariable = variable.bindingSpecifier.tokenKind == .keyword(.var)
        var annotation: TypeSyntax?
        var properties: [ModelDeclaration.Property] = []
        // In `var a, b: Int` a binding without a type has the type of the next one, so this loop goes backwards.
        for binding in variable.bindings.reversed() {
            guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text else {
                report(.pattern, at: binding.pattern)
                continue
            }
            annotation = binding.typeAnnotation?.type ?? (binding.initializer == nil ? annotation : nil)
            // A constant with a value is equal in every entity, so it isn't stored. An id is, because it is the row's
            // key: its value must be a literal, which is equal each time that an entity is made.
            let isConstant = !isVariable && binding.initializer != nil
            if isConstant { constants.insert(name) }
            if binding.isComputed { computed.insert(name) }
            if isConstant || binding.isComputed {
                guard name == "id", !isConstant || binding.initializer?.value.isConstantLiteral == true else {
                    continue
                }
                properties.append(
                    .init(
                        code: name, isVariable: false, isOptional: false, hasWrapper: false, hasDefault: false,
                        isDerived: true))
                continue
            }
            properties.append(
                .init(
                    code: name, isVariable: isVariable, isOptional: annotation?.isOptionalType ?? false,
                    hasWrapper: hasWrapper, hasDefault: binding.initializer != nil,
                    type: annotation?.trimmedDescription,
                    wrappedType: annotation?.wrappedOptional?.trimmedDescription ?? ""))
        }
        model.properties += properties.reversed()
    }

    private mutating func readRelation(_ variable: VariableDeclSyntax, _ attribute: AttributeSyntax) {
        guard variable.bindings.count == 1, let binding = variable.bindings.first,
            let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
        else {
            report(.pattern, at: variable)
            return
        }
        guard let type = binding.typeAnnotation?.type else {
            report(.relationWithoutType(name), at: binding)
            return
        }
        guard type.isOptionalType else {
            report(.relationNotOptional(name, type: type.trimmedDescription), at: type)
            return
        }
        if attribute.arguments == nil, attribute.leftParen == nil, binding.initializer == nil {
            report(.relationWithoutValue(name, type: type.trimmedDescription), at: attribute)
            return
        }
        var relation = ModelDeclaration.Relation(code: name)
        for argument in attribute.labeledArguments {
            switch argument.label?.text {
            case "inverse":
                guard let path = argument.expression.propertyPath, path.count == 1 else {
                    report(.inverse(argument.expression.trimmedDescription), at: argument.expression)
                    return
                }
                relation.inverse = path[0]
            case "deleteRule": relation.deleteRule = argument.expression.trimmedDescription
            default: break
            }
        }
        relation.hasValue = binding.initializer.map { !$0.value.saysNothing } ?? false
        model.relations.append(relation)
    }

    private mutating func readIndex(
        _ variable: VariableDeclSyntax, _ attribute: AttributeSyntax, _ kind: ModelDeclaration.Index.Kind
    ) {
        guard variable.bindings.count == 1,
            let name = variable.bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
        else {
            report(.pattern, at: variable)
            return
        }
        var index = ModelDeclaration.Index(name: name.filter { $0 != "`" }, kind: kind, components: [])
        let arguments = attribute.labeledArguments
        index.options = arguments.compactMap { argument in
            argument.label.map { "\($0.text): \(argument.expression.trimmedDescription)" }
        }
        if kind != .text, let condition = arguments.first(where: { $0.label?.text == "where" }) {
            report(.partialIndex(index.name), at: condition)
            return
        }
        let paths = arguments.filter { $0.label == nil }
        if paths.isEmpty {
            report(.emptyIndex(name), at: attribute)
        } else if !attribute.attributeName.isGeneric, paths.allSatisfy({ $0.expression.root == nil }) {
            report(.indexWithoutType(attribute.attributeName.trimmedDescription), at: attribute)
        }
        pending.append((index, paths))
    }

    // MARK: - Checks of the whole declaration

    private mutating func resolveIndexes() {
        let stored = Set(model.properties.map(\.name))
        for (index, arguments) in pending {
            var index = index
            for argument in arguments {
                if index.kind == .value, let metadata = argument.expression.metadata {
                    index.components.append(
                        .init(property: metadata.name, descending: metadata.descending, isMetadata: true))
                    continue
                }
                guard var path = argument.expression.propertyPath, let property = path.first else {
                    if let relation = argument.expression.firstProperty.flatMap({ relation(named: $0) }) {
                        report(.relationIndex(relation), at: argument.expression)
                        continue
                    }
                    report(.indexPath(argument.expression.trimmedDescription), at: argument.expression)
                    continue
                }
                let isOrdered = path.count > 1 && ["asc", "desc"].contains(path.last)
                let descending = isOrdered && path.last == "desc"
                if isOrdered { path.removeLast() }
                if let relation = relation(named: property) {
                    let isID = property.hasPrefix("$") && path.dropFirst() == ["id"]
                    if !isID || index.kind == .text { report(.relationIndex(relation), at: argument.expression) }
                    index.components.append(.init(property: relation, descending: descending, isLinkedID: true))
                    continue
                }
                if !stored.contains(property) {
                    let message: ModelDiagnostic =
                        computed.contains(property)
                        ? .computedIndex(property) : .unknownProperty(property, index: index.name)
                    report(message, at: argument.expression)
                } else if path.count > 1 || (isOrdered && index.kind == .text) {
                    report(.indexPath(argument.expression.trimmedDescription), at: argument.expression)
                }
                index.components.append(.init(property: property, descending: descending))
            }
            model.indexes.append(index)
        }
    }

    /// The relation that a key path begins with, with or without `$`.
    private func relation(named property: String) -> String? {
        let name = property.hasPrefix("$") ? String(property.dropFirst()) : property
        return model.relations.contains { $0.name == name } ? name : nil
    }

    private mutating func moveIdFirst(of structure: StructDeclSyntax) {
        guard let place = model.properties.firstIndex(where: { $0.name == "id" }) else {
            report(constants.contains("id") ? .constantId : .noId(model.name), at: structure.name)
            return
        }
        let id = model.properties.remove(at: place)
        if id.isOptional { report(.optionalId(type: id.wrappedType), at: structure.name) }
        model.properties.insert(id, at: 0)
    }

    private mutating func refuseDuplicates(in structure: StructDeclSyntax) {
        var seen: Set<String> = []
        let names = model.properties.map(\.name) + model.relations.map(\.name) + model.indexes.map(\.name)
        for name in names where !seen.insert(name).inserted {
            report(.duplicate(name), at: structure.name)
        }
    }

    private mutating func refuseStored(in condition: IfConfigDeclSyntax) {
        for clause in condition.clauses {
            guard case .decls(let members) = clause.elements else { continue }
            for variable in members.compactMap({ $0.decl.as(VariableDeclSyntax.self) }) {
                let isStatic = variable.modifiers.contains { $0.name.text == "static" }
                if !isStatic, variable.bindings.contains(where: { !$0.isComputed }) {
                    report(.conditional, at: variable)
                }
            }
        }
    }
}
