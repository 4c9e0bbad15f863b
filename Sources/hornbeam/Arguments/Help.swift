// SPDX-License-Identifier: Apache-2.0
// Help texts, made from the declarations. Pure functions from declarations to text, 80 columns wide.

enum Help {
    /// Width of help texts in columns.
    private static let width = 80

    /// All commands, or those of the group that `path` names.
    static func overview(_ commands: [CommandDeclaration], _ path: [String] = []) -> String {
        let shown = commands.filter { $0.path.starts(with: path) }
        var text =
            path.isEmpty
            ? "hornbeam: works on Hornbeam stores, with or without the program that made them\n\n"
            : ""
        text += "Usage: hornbeam \((path + ["COMMAND"]).joined(separator: " ")) [options] …\n\nCommands:\n"
        text += columns(shown.map { ($0.name, $0.summary) })
        text += "\n'hornbeam help COMMAND' explains a command. 'hornbeam --version' prints the version.\n"
        return text
    }

    /// One command.
    static func command(_ command: CommandDeclaration) -> String {
        var text = "\(command.invocation): \(command.summary)\n\n\(usage(command))\n"
        if !command.operands.isEmpty {
            text += "\n" + columns(command.operands.map { ($0.name, $0.help) })
        }
        if !command.discussion.isEmpty {
            text += "\n"
            for paragraph in command.discussion.split(separator: "\n") {
                text += wrap(String(paragraph), indent: 0) + "\n"
            }
        }
        text += "\nOptions:\n" + columns(command.allOptions.map { (spelling($0), $0.help) })
        if !command.examples.isEmpty {
            text += "\nExamples:\n" + command.examples.map { "  \($0)\n" }.joined()
        }
        return text
    }

    /// `Usage: hornbeam query [options] FILE TYPE`
    static func usage(_ command: CommandDeclaration) -> String {
        let operands = command.operands.map { $0.isOptional ? "[\($0.name)]" : $0.name }
        return (["Usage:", command.invocation, "[options]"] + operands).joined(separator: " ")
    }

    private static func spelling(_ option: OptionDeclaration) -> String {
        let short = option.short.map { "-\($0), " } ?? "    "
        return short + "--\(option.name)" + (option.placeholder.map { " \($0)" } ?? "")
    }

    /// Two columns; a left part that is too wide gets a line of its own.
    private static func columns(_ rows: [(left: String, right: String)]) -> String {
        let leftWidth = min(28, rows.map { $0.left.count }.max() ?? 0)
        var text = ""
        for row in rows {
            let indent = leftWidth + 4
            let wrapped = wrap(row.right, indent: indent)
            if row.left.count > leftWidth {
                text += "  \(row.left)\n" + String(repeating: " ", count: indent) + wrapped + "\n"
            } else {
                text += "  " + row.left + String(repeating: " ", count: leftWidth - row.left.count + 2) + wrapped + "\n"
            }
        }
        return text
    }

    /// Breaks a text at spaces. The caller has indented its first line already.
    private static func wrap(_ text: String, indent: Int) -> String {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, indent + line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        lines.append(line)
        return lines.joined(separator: "\n" + String(repeating: " ", count: indent))
    }
}
