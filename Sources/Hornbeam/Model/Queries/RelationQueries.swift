// SPDX-License-Identifier: Apache-2.0
// Queries along relations: `with` and `id` load relations into the entities that are read, and `related` continues with
// the related entities.

extension QueryList {
    /// Loads a to-one relation.
    public func with<Target, D, K>(
        _ keyPath: WritableKeyPath<Entity, ToOneRelation<Target, D, K>>,
        nested: (Query<Target>) -> Query<Target> = { $0 }
    ) -> Self {
        loading(keyPath, nested(Query(QueryList<Target>())).list)
    }

    /// Loads a to-many relation. The nested query selects and orders the entities. The result is a slice if linked
    /// entities may be missing, because of a filter, a limit or another step, or because they aren't stored: saving a
    /// slice adds links and removes none.
    public func with<Target, D, K>(
        _ keyPath: WritableKeyPath<Entity, ToManyRelation<Target, D, K>>,
        nested: (QueryList<Target>) -> QueryList<Target> = { $0 }
    ) -> Self {
        loading(keyPath, nested(QueryList<Target>()))
    }

    /// Loads a to-many relation as a slice, even if the nested query leaves nothing out: saving the result adds links
    /// instead of replacing them.
    public func with<Target, D, K>(
        slice keyPath: WritableKeyPath<Entity, ToManyRelation<Target, D, K>>,
        nested: (QueryList<Target>) -> QueryList<Target> = { $0 }
    ) -> Self {
        loading(keyPath, nested(QueryList<Target>()), isSlice: true)
    }

    /// Loads a to-one relation as a fragment: saving the result merges the entity.
    public func fragment<Target, D, K>(
        _ keyPath: WritableKeyPath<Entity, ToOneRelation<Target, D, K>>,
        nested: (Query<Target>) -> Query<Target> = { $0 }
    ) -> Self {
        loading(keyPath, nested(Query(QueryList<Target>())).list, isFragment: true)
    }

    /// Loads a to-many relation as a fragment: saving the result merges its entities.
    public func fragment<Target, D, K>(
        _ keyPath: WritableKeyPath<Entity, ToManyRelation<Target, D, K>>,
        nested: (QueryList<Target>) -> QueryList<Target> = { $0 }
    ) -> Self {
        loading(keyPath, nested(QueryList<Target>()), isFragment: true)
    }

    /// Loads a to-many relation as a fragment and a slice: saving the result merges its entities and adds links.
    public func fragment<Target, D, K>(
        slice keyPath: WritableKeyPath<Entity, ToManyRelation<Target, D, K>>,
        nested: (QueryList<Target>) -> QueryList<Target> = { $0 }
    ) -> Self {
        loading(keyPath, nested(QueryList<Target>()), isSlice: true, isFragment: true)
    }

    /// Loads the ids of a relation, including those of entities that aren't stored.
    public func id<Target, D, C, K>(_ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>) -> Self {
        adding(NestedStep(ids: RelationPath(keyPath), isSlice: false))
    }

    /// Loads the ids of a to-many relation as a slice: saving the result adds links instead of replacing them.
    public func id<Target, D, K>(slice keyPath: WritableKeyPath<Entity, ToManyRelation<Target, D, K>>) -> Self {
        adding(NestedStep(ids: RelationPath(keyPath), isSlice: true))
    }

    /// Loads several relations: `with(\.$author, \.$comments)`.
    public func with<
        First, FirstD, FirstC, FirstK, Second, SecondD, SecondC, SecondK, each Target, each D, each C, each K
    >(
        _ first: WritableKeyPath<Entity, Relation<First, FirstD, FirstC, FirstK>>,
        _ second: WritableKeyPath<Entity, Relation<Second, SecondD, SecondC, SecondK>>,
        _ more: repeat WritableKeyPath<Entity, Relation<each Target, each D, each C, each K>>
    ) -> Self {
        var list = loading(first, QueryList<First>()).loading(second, QueryList<Second>())
        for (path, query) in repeat (each more, QueryList<each Target>()) { list = list.loading(path, query) }
        return list
    }

    /// Loads several relations as fragments: saving the result merges their entities.
    public func fragment<
        First, FirstD, FirstC, FirstK, Second, SecondD, SecondC, SecondK, each Target, each D, each C, each K
    >(
        _ first: WritableKeyPath<Entity, Relation<First, FirstD, FirstC, FirstK>>,
        _ second: WritableKeyPath<Entity, Relation<Second, SecondD, SecondC, SecondK>>,
        _ more: repeat WritableKeyPath<Entity, Relation<each Target, each D, each C, each K>>
    ) -> Self {
        var list = loading(first, QueryList<First>(), isFragment: true)
            .loading(second, QueryList<Second>(), isFragment: true)
        for (path, query) in repeat (each more, QueryList<each Target>()) {
            list = list.loading(path, query, isFragment: true)
        }
        return list
    }

    /// Loads the ids of several relations.
    public func id<
        First, FirstD, FirstC, FirstK, Second, SecondD, SecondC, SecondK, each Target, each D, each C, each K
    >(
        _ first: WritableKeyPath<Entity, Relation<First, FirstD, FirstC, FirstK>>,
        _ second: WritableKeyPath<Entity, Relation<Second, SecondD, SecondC, SecondK>>,
        _ more: repeat WritableKeyPath<Entity, Relation<each Target, each D, each C, each K>>
    ) -> Self {
        var list = id(first).id(second)
        for path in repeat each more { list = list.id(path) }
        return list
    }

    /// Loads all relations, with one element for each level: `with(.entities, .ids)`.
    public func with(_ nested: Nested...) -> Self {
        with(nested)
    }

    public func with(_ levels: [Nested]) -> Self {
        guard let level = levels.first else { return self }
        var list = self
        for relation in Entity.entityShape.relations {
            list = list.adding(relation.access.step(level, Array(levels.dropFirst())))
        }
        if level != .ids { list.parts.hold(levels.count - 1) }
        return list
    }

    /// Returns the targets of a to-one relation, one for each entity that has one.
    public func related<Target, D, K>(_ keyPath: WritableKeyPath<Entity, ToOneRelation<Target, D, K>>)
        -> QueryList<Target>
    {
        let path = RelationPath(keyPath)
        return QueryList<Target>(context: context, within: parts.depth) { try linked(path, $0, $1).flatMap { $0 } }
    }

    /// Returns the targets of a to-many relation, a list for each entity.
    public func related<Target, D, K>(_ keyPath: WritableKeyPath<Entity, ToManyRelation<Target, D, K>>)
        -> QueryGroup<Target>
    {
        let path = RelationPath(keyPath)
        var owners = parts
        owners.context = nil
        owners.nested = nil
        return QueryGroup(
            context: context, groups: { try linked(path, $0, $1) }, depth: parts.depth, owners: { try rows($0) },
            path: path.name.map { GroupPath(model: Entity.self, owners: owners, relation: $0) })
    }

    fileprivate func linked<Target, D, C, K>(
        _ path: RelationPath<Entity, Target, D, C, K>, _ session: TypedTransaction, _ level: NestedLevel?
    ) throws -> [[RowID]] {
        let relation = try Entity.entityShape.relation(path.keyPath)
        let rows = try rows(session, in: level)
        return try session.core.edges.links(session.side(relation), ofEach: rows).lists
    }

    private func loading<Target, D, C, K>(
        _ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>, _ query: QueryList<Target>,
        isSlice: Bool = false, isFragment: Bool = false
    ) -> Self {
        let path = RelationPath(keyPath)
        var list = adding(NestedStep(entities: path, query, isSlice: isSlice, isFragment: isFragment))
        list.parts.hold(query.parts.depth)
        return list
    }

    private func adding(_ step: NestedStep<Entity>) -> Self {
        var list = self
        list.nested = NestedSteps((nested?.steps ?? []) + [step])
        return list
    }
}

extension Query {
    /// Loads a to-one relation.
    public func with<Target, D, K>(
        _ keyPath: WritableKeyPath<Entity, ToOneRelation<Target, D, K>>,
        nested: (Query<Target>) -> Query<Target> = { $0 }
    ) -> Self {
        Self(list.with(keyPath, nested: nested))
    }

    /// Loads a to-many relation. The nested query selects and orders the entities.
    public func with<Target, D, K>(
        _ keyPath: WritableKeyPath<Entity, ToManyRelation<Target, D, K>>,
        nested: (QueryList<Target>) -> QueryList<Target> = { $0 }
    ) -> Self {
        Self(list.with(keyPath, nested: nested))
    }

    /// Loads a to-many relation as a slice: saving the result adds links instead of replacing them.
    public func with<Target, D, K>(
        slice keyPath: WritableKeyPath<Entity, ToManyRelation<Target, D, K>>,
        nested: (QueryList<Target>) -> QueryList<Target> = { $0 }
    ) -> Self {
        Self(list.with(slice: keyPath, nested: nested))
    }

    /// Loads a to-one relation as a fragment: saving the result merges the entity.
    public func fragment<Target, D, K>(
        _ keyPath: WritableKeyPath<Entity, ToOneRelation<Target, D, K>>,
        nested: (Query<Target>) -> Query<Target> = { $0 }
    ) -> Self {
        Self(list.fragment(keyPath, nested: nested))
    }

    /// Loads a to-many relation as a fragment: saving the result merges its entities.
    public func fragment<Target, D, K>(
        _ keyPath: WritableKeyPath<Entity, ToManyRelation<Target, D, K>>,
        nested: (QueryList<Target>) -> QueryList<Target> = { $0 }
    ) -> Self {
        Self(list.fragment(keyPath, nested: nested))
    }

    /// Loads a to-many relation as a fragment and a slice: saving the result merges its entities and adds links.
    public func fragment<Target, D, K>(
        slice keyPath: WritableKeyPath<Entity, ToManyRelation<Target, D, K>>,
        nested: (QueryList<Target>) -> QueryList<Target> = { $0 }
    ) -> Self {
        Self(list.fragment(slice: keyPath, nested: nested))
    }

    /// Loads the ids of a relation, including those of entities that aren't stored.
    public func id<Target, D, C, K>(_ keyPath: WritableKeyPath<Entity, Relation<Target, D, C, K>>) -> Self {
        Self(list.id(keyPath))
    }

    /// Loads the ids of a to-many relation as a slice: saving the result adds links instead of replacing them.
    public func id<Target, D, K>(slice keyPath: WritableKeyPath<Entity, ToManyRelation<Target, D, K>>) -> Self {
        Self(list.id(slice: keyPath))
    }

    /// Loads several relations: `with(\.$author, \.$comments)`.
    public func with<
        First, FirstD, FirstC, FirstK, Second, SecondD, SecondC, SecondK, each Target, each D, each C, each K
    >(
        _ first: WritableKeyPath<Entity, Relation<First, FirstD, FirstC, FirstK>>,
        _ second: WritableKeyPath<Entity, Relation<Second, SecondD, SecondC, SecondK>>,
        _ more: repeat WritableKeyPath<Entity, Relation<each Target, each D, each C, each K>>
    ) -> Self {
        Self(list.with(first, second, repeat each more))
    }

    /// Loads several relations as fragments: saving the result merges their entities.
    public func fragment<
        First, FirstD, FirstC, FirstK, Second, SecondD, SecondC, SecondK, each Target, each D, each C, each K
    >(
        _ first: WritableKeyPath<Entity, Relation<First, FirstD, FirstC, FirstK>>,
        _ second: WritableKeyPath<Entity, Relation<Second, SecondD, SecondC, SecondK>>,
        _ more: repeat WritableKeyPath<Entity, Relation<each Target, each D, each C, each K>>
    ) -> Self {
        Self(list.fragment(first, second, repeat each more))
    }

    /// Loads the ids of several relations.
    public func id<
        First, FirstD, FirstC, FirstK, Second, SecondD, SecondC, SecondK, each Target, each D, each C, each K
    >(
        _ first: WritableKeyPath<Entity, Relation<First, FirstD, FirstC, FirstK>>,
        _ second: WritableKeyPath<Entity, Relation<Second, SecondD, SecondC, SecondK>>,
        _ more: repeat WritableKeyPath<Entity, Relation<each Target, each D, each C, each K>>
    ) -> Self {
        Self(list.id(first, second, repeat each more))
    }

    /// Loads all relations, with one element for each level: `with(.entities, .ids)`.
    public func with(_ nested: Nested...) -> Self {
        Self(list.with(nested))
    }

    /// Returns a query for the target of a to-one relation.
    public func related<Target, D, K>(_ keyPath: WritableKeyPath<Entity, ToOneRelation<Target, D, K>>) -> Query<Target>
    {
        Query<Target>(list.related(keyPath))
    }

    /// Returns the targets of a to-many relation, in the order of linking.
    public func related<Target, D, K>(_ keyPath: WritableKeyPath<Entity, ToManyRelation<Target, D, K>>)
        -> QueryList<Target>
    {
        let path = RelationPath(keyPath)
        if list.isWhole, let id = list.singleID, let relation = try? Entity.entityShape.relation(keyPath) {
            let name = relation.description.name
            return QueryList<Target>(
                context: list.context, linked: RelationSource(type: Entity.entityName, relation: name, source: id))
        }
        return QueryList<Target>(context: list.context, within: list.parts.depth) {
            try list.linked(path, $0, $1).flatMap { $0 }
        }
    }
}
