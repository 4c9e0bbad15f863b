// SPDX-License-Identifier: Apache-2.0
// What reading a view means, in words.

extension View {
    /// What is read for all its groups: a line, for people.
    public func explain(in context: Context) throws -> String {
        try context.session.run { session in
            let scan = try ViewScan(self, session)
            return "all groups of view “\(registration.name)” of \(Entity.entityName): \(try scan.count()) entries"
        }
    }
}

extension ViewGroup {
    /// What is read for the group: a line, for people.
    public func explain(in context: Context) throws -> String {
        try context.session.run { session in
            let scan = try ViewScan(view, session)
            return "one group of view “\(view.registration.name)” of \(Entity.entityName): "
                + "\(try scan.places(of: group).count) of \(try scan.count()) entries"
        }
    }
}
