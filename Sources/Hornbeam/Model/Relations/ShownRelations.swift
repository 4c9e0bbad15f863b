// SPDX-License-Identifier: Apache-2.0
// Key paths that begin with a relation, `\.podcast?.id` or `\.$podcast.isNone`. Swift has no way to look into a key
// path, but its description is that of its beginning, followed by the rest.

import Synchronization

/// The properties of an entity type that show its relations, in the order of declaration.
final class ShownRelations: Sendable {
    private struct Texts: Sendable {
        /// The descriptions of the key paths that begin at relations.
        var beginnings: [String] = []
        /// The places of relations by key paths to ids, which are made once a look at their description has told.
        var ids: [PathKey: Int] = [:]
    }

    /// `@unchecked Sendable`: paths of properties, which hold nothing.
    private struct PathKey: Hashable, @unchecked Sendable {
        let keyPath: AnyKeyPath
    }

    private let paths: [PathKey]
    /// Those of the relations' values: `\.$podcast`.
    private let values: [PathKey]
    private let texts = Mutex(Texts())

    /// - Parameter values: the key paths of the relations themselves.
    init(_ paths: [AnyKeyPath], values: [AnyKeyPath]) {
        self.paths = paths.map { PathKey(keyPath: $0) }
        self.values = paths.isEmpty ? [] : values.map { PathKey(keyPath: $0) }
    }

    /// The place of the relation that the property shows; nil for any other.
    func place(of keyPath: AnyKeyPath) -> Int? { paths.firstIndex(of: PathKey(keyPath: keyPath)) }

    /// The place of the relation whose one entity's id this is: `\.podcast?.id` or `\.podcast!.id`.
    func place(ofIDAt keyPath: AnyKeyPath) -> Int? {
        if paths.isEmpty { return nil }
        let key = PathKey(keyPath: keyPath)
        if let known = texts.withLock({ $0.ids[key] }) { return known }
        let text = "\(keyPath)"
        guard let (place, rest) = beginning(of: text), rest == "?.id?" || rest == "!.id" else { return nil }
        texts.withLock { $0.ids[key] = place }
        return place
    }

    /// The place of the relation that the key path leads through or ends at.
    func place(on keyPath: AnyKeyPath) -> Int? { paths.isEmpty ? nil : beginning(of: "\(keyPath)")?.place }

    private func beginning(of text: String) -> (place: Int, rest: Substring)? {
        let beginnings = texts.withLock { texts in
            if texts.beginnings.isEmpty { texts.beginnings = (paths + values).map { "\($0.keyPath)" } }
            return texts.beginnings
        }
        for (number, beginning) in beginnings.enumerated() where text.hasPrefix(beginning) {
            let rest = text.dropFirst(beginning.count)
            // `\.podcast` is no beginning of `\.podcasts`.
            if rest.isEmpty || "?!.".contains(rest.first ?? " ") { return (number % paths.count, rest) }
        }
        return nil
    }
}
