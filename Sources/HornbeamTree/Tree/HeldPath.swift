// SPDX-License-Identifier: Apache-2.0
// The pages of the cache that a cursor is on: one for each level of its path, and one for a long value. Only cursors
// over pages that aren't mapped have one.

import HornbeamPages

/// Belongs to one cursor. Its end releases all pages.
final class HeldPath {
    private let view: PageView
    /// The pins by level; the last is for a long value.
    private var pins: [PagePin?]

    private static let longValue = NodeLayout.maximumLevels

    init(_ view: PageView) {
        self.view = view
        pins = [PagePin?](repeating: nil, count: NodeLayout.maximumLevels + 1)
    }

    deinit {
        for pin in pins {
            if let pin { view.release(pin) }
        }
    }

    /// Takes over the page read last as the path's node of that level. Releases the former one.
    func take(level: Int) {
        replace(level)
        if level == 0, let pin = pins[Self.longValue] {
            view.release(pin)
            pins[Self.longValue] = nil
        }
    }

    /// Takes over the page read last as the entry's long value.
    func takeLongValue() { replace(Self.longValue) }

    private func replace(_ index: Int) {
        let former = pins[index]
        pins[index] = view.takeHeld()
        if let former { view.release(former) }
    }
}
