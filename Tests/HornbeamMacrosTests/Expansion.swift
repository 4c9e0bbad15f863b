// SPDX-License-Identifier: Apache-2.0
// Expands `@EntityModel` in a source text, as the compiler would, and keeps the diagnostics.

import HornbeamMacroExpansion
import SwiftBasicFormat
import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros

struct Expansion {
    /// The whole source after expansion.
    let text: String
    /// The diagnostics, each as `line:column message`.
    let diagnostics: [String]

    init(_ source: String) {
        let file = Parser.parse(source: source)
        let context = BasicMacroExpansionContext(
            sourceFiles: [file: .init(moduleName: "Models", fullFilePath: "Models.swift")])
        let spec = MacroSpec(type: EntityModelMacro.self, conformances: ["EntityModelProtocol"])
        let expanded = file.expand(
            macroSpecs: ["EntityModel": spec],
            contextGenerator: { node in
                BasicMacroExpansionContext(sharingWith: context, lexicalContext: node.allMacroLexicalContexts())
            })
        text = expanded.formatted().description
        diagnostics = context.diagnostics.map { diagnostic in
            let place = context.location(
                for: diagnostic.position, anchoredAt: diagnostic.node, fileName: "Models.swift")
            return "\(place.line):\(place.column) \(diagnostic.message)"
        }
    }

    /// Only the generated extension.
    var generated: String {
        guard let start = text.range(of: "\nextension ")?.lowerBound ?? text.range(of: "extension ")?.lowerBound else {
            return ""
        }
        return String(text[start...]).trimmed
    }
}

extension String {
    var trimmed: String {
        let lines = split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        return lines.drop { $0.isEmpty }.reversed().drop { $0.isEmpty }.reversed().joined(separator: "\n")
    }

    fileprivate func range(of text: String) -> Range<String.Index>? { firstRange(of: text) }
}
