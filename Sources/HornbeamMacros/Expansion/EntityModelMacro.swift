// SPDX-License-Identifier: Apache-2.0
// `@EntityModel`: reads the struct once into a `ModelDeclaration`, then writes one extension from it. A macro sees
// syntax, no types: the generated code calls overloads, among which the compiler chooses by type.

import SwiftDiagnostics
package import SwiftSyntax
import SwiftSyntaxBuilder
package import SwiftSyntaxMacros

package enum EntityModelMacro: ExtensionMacro {
    package static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard let structure = declaration.as(StructDeclSyntax.self) else {
            context.diagnose(Diagnostic(node: node, message: ModelDiagnostic.notAStruct))
            return []
        }
        var parser = ModelParser(enclosing: context.lexicalContext)
        let model = parser.parse(structure)
        for diagnostic in parser.diagnostics { context.diagnose(diagnostic) }
        // An incomplete extension would hide the real message among errors about missing members.
        guard let model else { return [] }
        let text = expandedText(model, type: type.trimmedDescription)
        return [DeclSyntax(stringLiteral: text)].compactMap { $0.as(ExtensionDeclSyntax.self) }
    }

    private static func expandedText(_ model: ModelDeclaration, type: String) -> String {
        let members =
            [nameMember(model), shapeMember(model)] + model.rowMembers + model.relationMembers + [model.patchMember]
        let body = members.joined(separator: "\n\n").split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? "" : "    \($0)" }.joined(separator: "\n")
        return "extension \(type): Hornbeam.EntityModelProtocol {\n\(body)\n}"
    }

    private static func nameMember(_ model: ModelDeclaration) -> String {
        "\(model.access)static var entityName: String {\n    \"\(model.storedName)\"\n}"
    }

    /// The description of the type for the library. A generic type can't have a stored static property, so the library
    /// keeps its shape.
    private static func shapeMember(_ model: ModelDeclaration) -> String {
        var parts = [
            list("columns", model.columnItems), list("indexes", model.indexItems),
            list("relations", model.relationItems),
        ]
        if !model.relations.isEmpty { parts.append(list("shown", model.shownItems)) }
        let lines = parts.joined(separator: ",\n").split(separator: "\n").map { "    \($0)" }
        let value = "Hornbeam.EntityShape<Self>(\n\(lines.joined(separator: "\n"))\n)"
        guard model.isGeneric else {
            return "\(model.access)static let entityShape = \(value)"
        }
        let indented = value.split(separator: "\n").map { "        \($0)" }.joined(separator: "\n")
        return """
            \(model.access)static var entityShape: Hornbeam.EntityShape<Self> {
                Hornbeam.GenericEntity.shape {
            \(indented)
                }
            }
            """
    }

    private static func list(_ label: String, _ items: [String]) -> String {
        items.isEmpty ? "\(label): []" : "\(label): [\n\(items.map { "    \($0),\n" }.joined())]"
    }
}
