// SPDX-License-Identifier: Apache-2.0
// Key paths that begin with a relation, `\.podcast?.id` or `\.$podcast.isNone`. Swift can't split a key path, but its
// description begins with the description of the path's first part.

import Synchronization

/// The properties of an entity type that show its relations, in the order of declaration.
final class ShownRelations: Sendable {
    private struct Found {
        /// The relation's number.
        let place: Int
        /// Whether the key path is the id of the related entity.
        let isID: Bool
    }

    private static let mostKnown = 1000

    private struct Texts: Sendable {
        /// The descriptions of the key paths that begin at relations.
        var beginnings: [String] = []
        /// The relations that key paths begin with, or nil for key paths without a relation.
        var known: [PathKey: Found?] = [:]
    }

    /// `@unchecked Sendable`: paths of properties capture nothing.
    private struct PathKey: Hashable, @unchecked Sendable {
        let keyPath: AnyKeyPath
    }

    private let paths: [PathKey]
    /// The key paths of the relations' values: `\.$podcast`.
    private let values: [PathKey]
    private let texts = Mutex(Texts())

    /// For each relation: see `RelationAccess`. Closures, because types may be related in circles.
    private let idTexts: [@Sendable () -> Substring?]

    /// - Parameter values: the key paths of the relations themselves.
    init(_ paths: [AnyKeyPath], values: [AnyKeyPath], idTexts: [@Sendable () -> Substring?]) {
        self.idTexts = idTexts
        self.paths = paths.map { PathKey(keyPath: $0) }
        self.values = paths.isEmpty ? [] : values.map { PathKey(keyPath: $0) }
    }

    /// Returns the number of the relation that the property shows, or nil for other properties.
    func place(of keyPath: AnyKeyPath) -> Int? { paths.firstIndex(of: PathKey(keyPath: keyPath)) }

    /// Returns the number of the relation if the key path is its entity's id, otherwise nil: `\.podcast?.id` or
    /// `\.podcast!.id`.
    func place(ofIDAt keyPath: AnyKeyPath) -> Int? { found(keyPath).flatMap { $0.isID ? $0.place : nil } }

    /// Returns the number of the relation that the key path leads through or ends at, or nil if there is none.
    func place(on keyPath: AnyKeyPath) -> Int? { found(keyPath)?.place }

    /// Looks up the result for the key path, because making its description takes time.
    private func found(_ keyPath: AnyKeyPath) -> Found? {
        if paths.isEmpty { return nil }
        let key = PathKey(keyPath: keyPath)
        if let known = texts.withLock({ $0.known[key] }) { return known }
        let found = beginning(of: "\(keyPath)")
            .map { Found(place: $0.place, isID: isID($0.rest, of: $0.place)) }
        texts.withLock { texts in
            // There may be any number of key paths with arguments.
            if texts.known.count >= Self.mostKnown { texts.known = [:] }
            texts.known[key] = .some(found)
        }
        return found
    }

    private func isID(_ rest: Substring, of place: Int) -> Bool {
        guard let id = idTexts[place]() else { return false }
        return rest == "?\(id)?" || rest == "!\(id)"
    }

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
