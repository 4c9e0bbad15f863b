// SPDX-License-Identifier: Apache-2.0
// Maps a view to a list on a screen: which groups are sections, in which order and direction, and which part of each is
// shown. A mapping has one state. Moving it to another one gives the changes of the list.

import HornbeamPages
import HornbeamTree

/// Sections and rows of a view as a list shows them.
///
///     var list = ViewMappings(folders, groups: ["inbox", "drafts"])
///     list.setWindow(.growing(limit: 50), of: "inbox")
///     let reader = try database.longLivedRead()
///     try reader.read { try list.load(in: $0) }
///     …
///     let changes = try reader.moveForward { try list.move($0) }
///
/// It is a value: copies are independent.
public struct ViewMappings<Entity: EntityModelProtocol, Group: IndexKey & Hashable>: Sendable {
    private enum Selection: Sendable {
        case listed([Group])
        case chosen(@Sendable (Group) -> Bool, order: (@Sendable (Group, Group) -> Bool)?)
    }

    /// A section in a state.
    private struct Section: Sendable {
        let group: Group
        let identity: GroupIdentity
        let total: Int
        /// The indexes of the group that are shown.
        let range: Range<Int>
        let isReversed: Bool

        func row(_ index: Int) -> Int? {
            guard range.contains(index) else { return nil }
            return isReversed ? range.upperBound - 1 - index : index - range.lowerBound
        }

        func index(_ row: Int) -> Int? {
            guard row >= 0, row < range.count else { return nil }
            return isReversed ? range.upperBound - 1 - row : range.lowerBound + row
        }
    }

    public let view: View<Entity, Group>
    /// Whether listed groups without entities, or with an empty window, are left out of the sections. Takes effect with
    /// the next state.
    public var hidesEmptySections = false
    private let selection: Selection
    private var windows: [GroupIdentity: ViewWindow] = [:]
    /// Groups whose windows were set since the present state was taken. These windows start anew.
    private var renewed: Set<GroupIdentity> = []
    private var reversed: Set<GroupIdentity> = []
    /// All non-empty groups of the state, in the order of their identities. Kept, so that a move reads nothing of
    /// unchanged groups.
    private var groupCounts: [(identity: GroupIdentity, group: Group, count: Int)] = []
    private var sections: [Section] = []
    /// The number of the state that the sections belong to. Nil before the first, and for a filtered view.
    private var version: UInt64?

    /// Makes a mapping of these groups, in this order, even if they have no entities. Repeated groups are ignored.
    public init(_ view: View<Entity, Group>, groups: [Group]) {
        self.view = view
        var seen: Set<GroupIdentity> = []
        selection = .listed(groups.filter { seen.insert(GroupIdentity($0)).inserted })
    }

    /// Makes a mapping of all non-empty groups, or of those that are accepted, in the order of their values or in
    /// another order.
    public init(
        _ view: View<Entity, Group>, sortedBy order: (@Sendable (Group, Group) -> Bool)? = nil,
        where accepts: @escaping @Sendable (Group) -> Bool = { _ in true }
    ) {
        self.view = view
        selection = .chosen(accepts, order: order)
    }

    /// Sets the part of a group that is shown. Nil, the default, shows all of it. Takes effect with the next state: see
    /// `refresh`.
    public mutating func setWindow(_ window: ViewWindow?, of group: Group) {
        windows[GroupIdentity(group)] = window
        renewed.insert(GroupIdentity(group))
    }

    /// Sets whether a group is shown from its end to its beginning. Takes effect with the next state: see `refresh`.
    public mutating func setReversed(_ isReversed: Bool, of group: Group) {
        if isReversed { reversed.insert(GroupIdentity(group)) } else { reversed.remove(GroupIdentity(group)) }
    }

    // MARK: - The state at hand

    public var sectionCount: Int { sections.count }
    /// The groups of the sections, in order.
    public var groups: [Group] { sections.map(\.group) }
    /// Returns the number of rows of a section; 0 beyond the last one.
    public func count(ofSection section: Int) -> Int {
        sections.indices.contains(section) ? sections[section].range.count : 0
    }
    /// Returns the number of entities of the section's group, shown or not.
    public func total(ofSection section: Int) -> Int {
        sections.indices.contains(section) ? sections[section].total : 0
    }
    public var rowCount: Int { sections.reduce(0) { $0 + $1.range.count } }

    /// Returns the position of a row in the view, or nil if there is no such row.
    public func position(of path: ListPath) -> ViewPosition<Group>? {
        guard sections.indices.contains(path.section), let index = sections[path.section].index(path.row) else {
            return nil
        }
        return ViewPosition(group: sections[path.section].group, index: index)
    }

    /// Returns the path of a position of the view, or nil if it isn't shown.
    public func path(of position: ViewPosition<Group>) -> ListPath? {
        let group = GroupIdentity(position.group)
        guard let section = sections.firstIndex(where: { $0.identity == group }) else { return nil }
        return sections[section].row(position.index).map { ListPath(section, $0) }
    }

    /// Returns the path of an entity, or nil if it isn't shown. Throws `.invalid` if the context sees another state.
    public func path(of id: Entity.ID, in context: Context) throws -> ListPath? {
        try check(context)
        return try view.position(of: id, in: context).flatMap { path(of: $0) }
    }

    /// Returns the entity of a row, or nil if there is no such row. Throws `.invalid` if the context sees another
    /// state.
    public func entity(at path: ListPath, in context: Context) throws -> Entity? {
        try check(context)
        return try position(of: path).flatMap { try view.entity(at: $0, in: context) }
    }

    /// Returns the entities of a section's rows. Throws `.invalid` if the context sees another state.
    public func entities(ofSection section: Int, in context: Context) throws -> [Entity] {
        try check(context)
        guard sections.indices.contains(section) else { return [] }
        let section = sections[section]
        let entities = try view[section.group].entities(section.range, in: context)
        return section.isReversed ? entities.reversed() : entities
    }

    private func check(_ context: Context) throws {
        guard let version, try version == context.stateNumber() else {
            throw HornbeamError(
                .invalid,
                "the mapping has \(version.map { "state \($0)" } ?? "no state, or is of a filtered view"), the context "
                    + "another one: load the mapping in it, or move it there")
        }
    }

    // MARK: - Other states

    /// Loads the state of a context, whatever state was loaded before. Throws `.invalid` for the context of a write. If
    /// it throws, nothing has changed.
    public mutating func load(in context: Context) throws {
        let (number, groups) = (try context.stateNumber(), try view.sections(in: context))
        take(groups)
        version = number
    }

    private mutating func take(_ counts: [ViewSection<Group>]) {
        sections = []
        setCounts(counts)
        _ = transition(ViewChanges())
    }

    private mutating func setCounts(_ counts: [ViewSection<Group>]) {
        groupCounts = counts.map { (GroupIdentity($0.group), $0.group, $0.count) }
    }

    /// Moves from the state of one context, which must be the state of the mapping, to the state of another. Returns
    /// the changes.
    public mutating func move(from old: Context, to new: Context) throws -> SectionChanges {
        try check(old)
        let changes = try view.changes(from: old, to: new)
        version = try new.stateNumber()
        count(changes)
        return transition(changes)
    }

    /// Takes the number of another state in which the view is the same.
    mutating func renumber(_ version: UInt64) { self.version = version }

    /// Moves from the state before a step of a long-lived read to the state after it. Returns the changes.
    public mutating func move(_ step: LongLivedRead.Step) throws -> SectionChanges {
        try move(from: step.before, to: step.after)
    }

    /// Loads the state of a filtered view. From now on the mapping belongs to that view: read the rows from it.
    public mutating func load(_ filtered: FilteredView<Entity, Group>) {
        take(filtered.sections)
        version = nil
    }

    /// Applies changes of a filtered view, from a move or from another filter. The mapping must be in the filtered
    /// view's former state.
    public mutating func move(
        _ changes: ViewChanges<Entity, Group>, to filtered: FilteredView<Entity, Group>
    ) -> SectionChanges {
        count(changes)
        // A mapping that was in another state still shows the present rows.
        if groupCounts.reduce(0, { $0 + $1.count }) != filtered.count { setCounts(filtered.sections) }
        return transition(changes)
    }

    /// Applies windows and directions that were set, in the same state. Returns the changes. If a section's direction
    /// changes, all of its rows are deleted and inserted. Throws `.invalid` if the context sees another state.
    public mutating func refresh(in context: Context) throws -> SectionChanges {
        try check(context)
        return transition(ViewChanges())
    }

    /// Returns the first index in the counts that isn't before a group.
    private func place(of group: GroupIdentity) -> Int {
        var (low, high) = (0, groupCounts.count)
        while low < high {
            let middle = (low + high) / 2
            if groupCounts[middle].identity < group { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Updates the counts of groups.
    private mutating func count(_ changes: ViewChanges<Entity, Group>) {
        var deltas: [GroupIdentity: (group: Group, change: Int)] = [:]
        func add(_ group: Group, _ change: Int) { deltas[GroupIdentity(group), default: (group, 0)].change += change }
        for row in changes.deletions { add(row.position.group, -1) }
        for row in changes.insertions { add(row.position.group, 1) }
        for move in changes.moves {
            add(move.from.group, -1)
            add(move.to.group, 1)
        }
        for (identity, (group, change)) in deltas where change != 0 {
            let place = place(of: identity)
            let isThere = place < groupCounts.count && groupCounts[place].identity == identity
            let count = (isThere ? groupCounts[place].count : 0) + change
            switch (isThere, count > 0) {
            case (true, true): groupCounts[place].count = count
            case (true, false): groupCounts.remove(at: place)
            case (false, true): groupCounts.insert((identity, group, count), at: place)
            case (false, false): break
            }
        }
    }

    /// The present sections, with their identities and totals.
    private func shownGroups() -> [(identity: GroupIdentity, group: Group, count: Int)] {
        switch selection {
        case .listed(let groups):
            return groups.compactMap { group in
                let identity = GroupIdentity(group)
                let place = place(of: identity)
                let isThere = place < groupCounts.count && groupCounts[place].identity == identity
                return isThere || !hidesEmptySections ? (identity, group, isThere ? groupCounts[place].count : 0) : nil
            }
        case .chosen(let accepts, let order):
            let groups = groupCounts.filter { accepts($0.group) }
            guard let order else { return groups }
            return groups.sorted { order($0.group, $1.group) }
        }
    }

    private mutating func transition(_ changes: ViewChanges<Entity, Group>) -> SectionChanges {
        // No two sections have the same identity.
        let former = Dictionary(sections.enumerated().map { ($1.identity, (number: $0, section: $1)) }) { first, _ in
            first
        }
        let (taken, put) = changes.indexes()
        var new: [Section] = []
        var kept: [GroupIdentity: MappedGroup] = [:]
        for (group, value, total) in shownGroups() {
            let window = windows[group]
            var range = window?.range(of: total) ?? 0..<total
            let isReversed = reversed.contains(group)
            if let (number, old) = former[group], old.isReversed == isReversed {
                let change = GroupChange(
                    oldCount: old.total, newCount: total, taken: taken[group] ?? [],
                    put: put[group] ?? [])
                if let window, !renewed.contains(group) { range = window.range(after: change, from: old.range) }
                guard !hidesEmptySections || !range.isEmpty else { continue }
                kept[group] = MappedGroup(number: number, newNumber: new.count, old: old, change: change)
            }
            guard !hidesEmptySections || !range.isEmpty else { continue }
            new.append(Section(group: value, identity: group, total: total, range: range, isReversed: isReversed))
        }
        let result = Self.translate(changes, sections, new, kept)
        sections = new
        renewed = []
        return result
    }

    /// A group that is a section before and after.
    private struct MappedGroup {
        let number: Int
        let newNumber: Int
        let old: Section
        let change: GroupChange
    }

    private static func translate(
        _ changes: ViewChanges<Entity, Group>, _ old: [Section], _ new: [Section],
        _ kept: [GroupIdentity: MappedGroup]
    ) -> SectionChanges {
        func oldPath(_ position: ViewPosition<Group>) -> ListPath? {
            guard let group = kept[GroupIdentity(position.group)] else { return nil }
            return old[group.number].row(position.index).map { ListPath(group.number, $0) }
        }
        func newPath(_ position: ViewPosition<Group>) -> ListPath? {
            guard let group = kept[GroupIdentity(position.group)] else { return nil }
            return new[group.newNumber].row(position.index).map { ListPath(group.newNumber, $0) }
        }
        var result = SectionChanges()
        result.counts = new.map(\.range.count)
        result.deletedSections = old.indices.filter { kept[old[$0].identity] == nil }
        result.insertedSections = new.indices.filter { kept[new[$0].identity] == nil }
        result.deletions = changes.deletions.compactMap { oldPath($0.position) }
        result.insertions = changes.insertions.compactMap { newPath($0.position) }
        for move in changes.moves {
            switch (oldPath(move.from), newPath(move.to)) {
            case (let from?, let to?): result.moves.append(.init(from: from, to: to))
            case (let from?, nil): result.deletions.append(from)
            case (nil, let to?): result.insertions.append(to)
            case (nil, nil): break
            }
        }
        // Rows shown before and after, moved or not. A row that a window has left is a deletion or an insertion.
        for update in changes.updates {
            guard oldPath(update.from) != nil, let path = newPath(update.to) else { continue }
            result.updates.append(path)
        }
        for group in kept.values { addEdges(group, new[group.newNumber], &result) }
        result.deletions.sort()
        result.insertions.sort()
        result.moves.sort { $0.to < $1.to }
        result.updates.sort()
        return result
    }

    /// Adds the entities that stay where they are in the group, but that a window's edge has passed.
    private static func addEdges(_ group: MappedGroup, _ new: Section, _ result: inout SectionChanges) {
        let change = group.change
        let before =
            change.staying(before: group.old.range.lowerBound)..<change.staying(before: group.old.range.upperBound)
        let after = change.stayingNow(before: new.range.lowerBound)..<change.stayingNow(before: new.range.upperBound)
        for number in before where !after.contains(number) {
            if let row = group.old.row(change.oldIndex(of: number)) {
                result.deletions.append(ListPath(group.number, row))
            }
        }
        for number in after where !before.contains(number) {
            if let row = new.row(change.newIndex(of: number)) {
                result.insertions.append(ListPath(group.newNumber, row))
            }
        }
    }
}
