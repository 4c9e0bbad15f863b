// SPDX-License-Identifier: Apache-2.0
// An array index as the planner sees it.

import HornbeamTree

final class ElementIndex: Sendable {
    let name: String
    let tree: TreeID

    init(name: String, tree: TreeID) {
        self.name = name
        self.tree = tree
    }
}
