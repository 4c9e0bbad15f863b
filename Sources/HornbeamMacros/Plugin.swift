// SPDX-License-Identifier: Apache-2.0
// The compiler plugin's main function. The SwiftCompilerPlugin module would provide it, but the toolchain does not ship
// that.

import HornbeamMacroExpansion
@_spi(PluginMessage) import SwiftCompilerPluginMessageHandling
import SwiftSyntax
import SwiftSyntaxMacros

struct Provider: PluginProvider {
    func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type {
        switch typeName {
        case "EntityModelMacro": EntityModelMacro.self
        default: throw UnknownMacro(name: "\(moduleName).\(typeName)")
        }
    }
}

struct UnknownMacro: Error {
    let name: String
}

@main
struct Plugin {
    static func main() throws {
        let connection = try StandardIOMessageConnection()
        try CompilerPluginMessageListener(connection: connection, provider: Provider()).main()
    }
}
