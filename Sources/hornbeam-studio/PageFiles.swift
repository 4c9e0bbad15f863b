// SPDX-License-Identifier: Apache-2.0
// The files of the page, which are embedded in the program.

enum PageFiles {
    private static let html = "text/html; charset=utf-8"
    private static let style = "text/css; charset=utf-8"
    private static let script = "text/javascript; charset=utf-8"

    static let all: [String: (type: String, bytes: [UInt8])] = [
        "index.html": (html, PackageResources.index_html),
        "style.css": (style, PackageResources.style_css),
        "app.js": (script, PackageResources.app_js),
        "page.js": (script, PackageResources.page_js),
        "overview.js": (script, PackageResources.overview_js),
        "grid.js": (script, PackageResources.grid_js),
        "entity.js": (script, PackageResources.entity_js),
        "search.js": (script, PackageResources.search_js),
        "statement.js": (script, PackageResources.statement_js),
        "file.js": (script, PackageResources.file_js),
        "edit.js": (script, PackageResources.edit_js),
        "complete.js": (script, PackageResources.complete_js),
    ]
}
