// SPDX-License-Identifier: Apache-2.0
// One group of a view: the k-th entity, ranges, and the positions of values or entities. Positions count from 0 within
// the group; positions beyond its ends give nothing, and no error.

public import FoundationEssentials
import HornbeamKeys

/// The entities of one group of a view, in order. It is a value without a context; its methods read it in one.
public struct ViewGroup<Entity: EntityModelProtocol, Group: IndexKey & Hashable>: Sendable {
    let view: View<Entity, Group>
    public let group: Group

    private func scan<Result>(
        _ context: Context, _ body: (ViewScan<Entity, Group>, Range<Int>) throws -> Result
    ) throws -> Result {
        try context.session.run { session in
            let scan = try ViewScan(view, session)
            return try body(scan, try scan.places(of: group))
        }
    }

    /// Returns the number of entities of the group. O(log n).
    public func count(in context: Context) throws -> Int { try scan(context) { $1.count } }

    // MARK: By position

    /// Returns the id of the entity at an index, or nil if there is none. O(log n). Doesn't read the entity.
    public func id(at index: Int, in context: Context) throws -> Entity.ID? {
        try scan(context) { scan, places in try scan.ids(places.part(index..<index.successor)).first }
    }

    /// Returns the entity at an index, or nil if there is none. O(log n).
    public func entity(at index: Int, in context: Context) throws -> Entity? {
        try scan(context) { scan, places in try scan.entities(places.part(index..<index.successor)).first }
    }

    public func first(in context: Context) throws -> Entity? { try entity(at: 0, in: context) }

    public func last(in context: Context) throws -> Entity? {
        try scan(context) { scan, places in try scan.entities(places.suffix(1)).first }
    }

    /// Returns the ids of all entities, or of those at some indexes. O(log n), plus the number of ids.
    public func ids(_ indexes: Range<Int> = 0..<Int.max, in context: Context) throws -> [Entity.ID] {
        try scan(context) { scan, places in try scan.ids(places.part(indexes)) }
    }

    /// Returns all entities, or those at some indexes.
    public func entities(_ indexes: Range<Int> = 0..<Int.max, in context: Context) throws -> [Entity] {
        try scan(context) { scan, places in try scan.entities(places.part(indexes)) }
    }

    // MARK: By the first term of the order

    /// Returns the indexes of the entities whose first term of the order is in a range. If there are none, the result
    /// is an empty range at the position where they would be. Throws `.invalid` if the first term is of another type,
    /// and `.tooLarge` for a bound that is longer than an order can be. O(log n).
    public func indexes<Property: IndexKey & Comparable>(
        of range: Range<Property>, in context: Context
    ) throws -> Range<Int> {
        try indexes(range.lowerBound, range.upperBound, isHalfOpen: true, context)
    }

    public func indexes<Property: IndexKey & Comparable>(
        of range: ClosedRange<Property>, in context: Context
    ) throws -> Range<Int> {
        try indexes(range.lowerBound, range.upperBound, isHalfOpen: false, context)
    }

    public func indexes<Property: IndexKey & Comparable>(
        of range: PartialRangeFrom<Property>, in context: Context
    ) throws -> Range<Int> {
        try indexes(range.lowerBound, nil, isHalfOpen: false, context)
    }

    public func indexes<Property: IndexKey & Comparable>(
        of range: PartialRangeUpTo<Property>, in context: Context
    ) throws -> Range<Int> {
        try indexes(nil, range.upperBound, isHalfOpen: true, context)
    }

    public func indexes<Property: IndexKey & Comparable>(
        of range: PartialRangeThrough<Property>, in context: Context
    ) throws -> Range<Int> {
        try indexes(nil, range.upperBound, isHalfOpen: false, context)
    }

    private func indexes<Property: IndexKey>(
        _ lower: Property?, _ upper: Property?, isHalfOpen: Bool, _ context: Context
    ) throws -> Range<Int> {
        guard let order = view.definition.orders.first, order.type.unwrapped == Property.columnType.unwrapped else {
            throw HornbeamError(
                .invalid,
                "view “\(view.registration.name)” isn't sorted by \(String(describing: Property.self).withArticle) "
                    + "first: ask for the indexes by comparing entities")
        }
        let prefix = try ViewKey.prefix(of: group)
        func component(_ value: Property) throws -> [UInt8] {
            var key = KeyWriter()
            try order.append(value.columnValue, to: &key)
            guard key.bytes.count <= ViewKey.orderLimit else {
                throw HornbeamError(
                    .tooLarge,
                    "a bound has \(key.bytes.count) bytes, a view compares only \(ViewKey.orderLimit): ask for the "
                        + "indexes by comparing entities")
            }
            return prefix + key.bytes
        }
        var present = KeyWriter()
        present.appendPresent()
        if order.isDescending { present.invert(from: 0) }
        return try scan(context) { scan, places in
            // No range includes nil.
            let whole = try scan.places(prefix: prefix + present.bytes)
            let least = try lower.map { try scan.places(prefix: try component($0)) }
            let greatest = try upper.map { try scan.places(prefix: try component($0)) }
            let start: Int
            let end: Int
            if order.isDescending {
                start = greatest.map { isHalfOpen ? $0.upperBound : $0.lowerBound } ?? whole.lowerBound
                end = least?.upperBound ?? whole.upperBound
            } else {
                start = least?.lowerBound ?? whole.lowerBound
                end = greatest.map { isHalfOpen ? $0.lowerBound : $0.upperBound } ?? whole.upperBound
            }
            return start - places.lowerBound..<Swift.max(start, end) - places.lowerBound
        }
    }

    /// Describes in one line the work of reading the group.
    public func explain(in context: Context) throws -> String {
        try context.session.run { session in
            let scan = try ViewScan(view, session)
            return "one group of view “\(view.registration.name)” of \(Entity.entityName): "
                + "\(try scan.places(of: group).count) of \(try scan.count()) entries"
        }
    }

    // MARK: By comparing entities

    /// Returns the indexes of the entities for which a function returns `.orderedSame`, found by binary search. The
    /// function must return `.orderedAscending` for entities before those, `.orderedDescending` for entities after
    /// them. Reads O(log n) entities.
    public func indexes(
        in context: Context, comparing compare: (Entity) throws -> ComparisonResult
    ) throws -> Range<Int> {
        try scan(context) { scan, places in
            let start = try scan.firstPlace(places) { try compare($0) != .orderedAscending }
            let end = try scan.firstPlace(start..<places.upperBound) { try compare($0) == .orderedDescending }
            return start - places.lowerBound..<end - places.lowerBound
        }
    }
}

extension Range<Int> {
    /// The numbers of this range whose distances from its start are in `indexes`.
    func part(_ indexes: Range<Int>) -> Range<Int> {
        let start = Swift.min(Swift.max(0, indexes.lowerBound), count)
        let end = Swift.min(Swift.max(0, indexes.upperBound), count)
        return lowerBound + start..<lowerBound + end
    }

    fileprivate func suffix(_ count: Int) -> Range<Int> { Swift.max(lowerBound, upperBound - count)..<upperBound }
}

extension Int {
    fileprivate var successor: Int { self == .max ? self : self + 1 }
}
