// SPDX-License-Identifier: Apache-2.0
// Chains of steps, nested in a query and along one entity's relation, compared with those steps on arrays.

import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Thread {
    let id: Int
    @Relationship(inverse: \.thread) var posts: [Post]?
    @Relationship() var pinned: [Post]?
}

@EntityModel
private struct Post {
    @Index<Self>(\.date) private var byDate

    let id: Int
    var date: Int
    var likes: Int
    @Relationship(inverse: \.posts) var thread: Thread?
}

/// A step of a list, and its effect on an array.
private enum Step: CustomStringConvertible {
    case filter(likes: Int)
    case limit(Int, offset: Int)
    case sortedByDate(descending: Bool)
    case sortedByLikes
    case after(Post)
    case distinct
    case and(likes: Int)
    /// The first entities of the list without steps, in addition.
    case andFirst(Int)
    case or(likes: Int)
    case orLast(Int)
    case andIDs([Int])

    init(_ random: inout SeededGenerator, _ posts: [Post]) {
        switch random.below(13) {
        case 0, 1: self = .filter(likes: random.below(5))
        case 2, 3, 4: self = .limit(random.below(6), offset: random.below(3))
        case 5, 6: self = .sortedByDate(descending: Bool.random(using: &random))
        case 7: self = .sortedByLikes
        case 8: self = .and(likes: random.below(5))
        case 9: self = .andFirst(random.below(8))
        case 10: self = .or(likes: random.below(5))
        case 11: self = .orLast(random.below(4))
        default:
            self =
                random.below(2) == 0
                ? .distinct : .andIDs(posts.map(\.id).shuffled(using: &random).prefix(40).map { $0 })
        }
    }

    /// - Parameter all: the list without any steps.
    func callAsFunction(_ list: QueryList<Post>, of all: QueryList<Post>) -> QueryList<Post> {
        switch self {
        case .filter(let likes): list.filter(\.likes >= likes)
        case .limit(let limit, let offset): list.limit(limit, offset: offset)
        case .sortedByDate(true): list.sorted(by: \.date.desc)
        case .sortedByDate(false): list.sorted(by: \.date)
        case .sortedByLikes: list.sorted(by: \.likes)
        case .after(let post): list.after(post)
        case .distinct: list.distinct()
        case .and(let likes): list.and(all.filter(\.likes <= likes))
        case .andFirst(let count): list.and(all.limit(count))
        // Two plain conditions joined by `or` have another order than a list followed by the rest.
        case .or(let likes): list.or(all.filter(\.likes == likes)).sorted(by: \.id)
        case .orLast(let count): list.or(all.sorted(by: \.date.desc).limit(count)).sorted(by: \.id)
        case .andIDs(let ids): list.and(Post.query(ids))
        }
    }

    func callAsFunction(_ list: [Post], of all: [Post]) -> [Post] {
        switch self {
        case .filter(let likes): list.filter { $0.likes >= likes }
        case .limit(let limit, let offset): Array(list.dropFirst(offset).prefix(limit))
        case .sortedByDate(true): list.sorted { ($1.date, $0.id) < ($0.date, $1.id) }
        case .sortedByDate(false): list.sorted { ($0.date, $0.id) < ($1.date, $1.id) }
        case .sortedByLikes: list.sorted { ($0.likes, $0.id) < ($1.likes, $1.id) }
        // Only after a sort by date.
        case .after(let post): list.filter { (post.date, post.id) < ($0.date, $0.id) }
        case .distinct: list
        case .and(let likes): list.filter { $0.likes <= likes }
        case .andFirst(let count): list.filter { post in all.prefix(count).contains { $0.id == post.id } }
        case .or(let likes): joined(list, all.filter { $0.likes == likes })
        case .orLast(let count):
            joined(list, Array(all.sorted { ($1.date, $0.id) < ($0.date, $1.id) }.prefix(count)))
        case .andIDs(let ids): list.filter { ids.contains($0.id) }
        }
    }

    private func joined(_ left: [Post], _ right: [Post]) -> [Post] {
        (left + right.filter { post in !left.contains { $0.id == post.id } }).sorted { $0.id < $1.id }
    }

    var description: String {
        switch self {
        case .filter(let likes): "filter(\(likes))"
        case .limit(let limit, let offset): "limit(\(limit), \(offset))"
        case .sortedByDate(let descending): "sorted(date\(descending ? ".desc" : ""))"
        case .sortedByLikes: "sorted(likes)"
        case .after(let post): "after(\(post.id))"
        case .distinct: "distinct"
        case .and(let likes): "and(\(likes))"
        case .andFirst(let count): "andFirst(\(count))"
        case .or(let likes): "or(\(likes))"
        case .orLast(let count): "orLast(\(count))"
        case .andIDs(let ids): "and(\(ids))"
        }
    }
}

@Suite("Steps of nested lists")
struct NestedStepsTests {
    /// Threads 1 to 6 divide the posts among them; each has pinned some posts of any thread.
    private func forum(
        _ random: inout SeededGenerator
    ) throws -> (Context, posts: [Int: [Post]], pinned: [Int: [Post]], all: [Post]) {
        var context = Context()
        var all: [Post] = []
        for id in 1...60 {
            all.append(Post(id: id, date: random.below(25), likes: random.below(6)))
            try all[id - 1].save(to: &context)
        }
        var rest = all.shuffled(using: &random)
        var posts: [Int: [Post]] = [:]
        var pinned: [Int: [Post]] = [:]
        for thread in 1...6 {
            posts[thread] = Array(rest.prefix(random.below(16)))
            rest.removeFirst(posts[thread]?.count ?? 0)
            pinned[thread] = Array(all.shuffled(using: &random).prefix(random.below(12)))
            try Thread(
                id: thread, posts: .ids(posts[thread]?.map(\.id) ?? []), pinned: .ids(pinned[thread]?.map(\.id) ?? [])
            ).save(to: &context)
        }
        return (context, posts, pinned, all)
    }

    @Test("any chain gives the result along each entity's own relation", .seeded)
    func chains() throws {
        var random = SeededGenerator()
        for _ in 0..<4 {
            let (context, posts, pinned, all) = try forum(&random)
            for _ in 0..<60 {
                var steps: [Step] = []
                for _ in 0...random.below(5) {
                    steps.append(Step(&random, all))
                    if case .sortedByDate(false)? = steps.last, random.below(2) == 0,
                        let post = all.randomElement(using: &random)
                    {
                        steps.append(.after(post))
                    }
                }
                let isPinned = Bool.random(using: &random)
                func nested(_ all: QueryList<Post>) -> QueryList<Post> { steps.reduce(all) { $1($0, of: all) } }
                let threads =
                    try isPinned
                    ? Thread.query().with(\.$pinned) { nested($0) }.resolve(in: context)
                    : Thread.query().with(\.$posts) { nested($0) }.resolve(in: context)
                for thread in threads {
                    let linked = (isPinned ? pinned : posts)[thread.id] ?? []
                    let expected = steps.reduce(linked) { $1($0, of: linked) }.map(\.id)
                    let found = (isPinned ? thread.pinned : thread.posts)?.map(\.id)
                    #expect(found == expected, "\(steps) nested in \(thread.id): \(linked.map(\.id))")
                    let query = Thread.query(thread.id)
                    let own = isPinned ? query.related(\.$pinned) : query.related(\.$posts)
                    let related = try nested(own).ids(in: context)
                    #expect(related == expected, "\(steps) along \(thread.id)")
                }
            }
        }
    }

    @Test("a limit after another step counts linked entities, not all of the type")
    func limits() throws {
        var context = Context()
        for date in 1...6 { try Post(id: date, date: date, likes: 0).save(to: &context) }
        try Thread(id: 1, posts: .ids([1, 2])).save(to: &context)
        try Thread(id: 2, posts: .ids([3, 4, 5, 6])).save(to: &context)
        func lists(_ nested: (QueryList<Post>) -> QueryList<Post>) throws -> [[Int]] {
            try Thread.query().with(\.$posts, nested: nested).resolve(in: context).map { $0.posts?.map(\.id) ?? [] }
        }
        #expect(try lists { $0.sorted(by: \.date.desc).limit(2).sorted(by: \.date) } == [[1, 2], [5, 6]])
        #expect(try lists { $0.limit(2).filter(\.date > 3) } == [[], [4]])
        #expect(try lists { $0.limit(5).limit(2) } == [[1, 2], [3, 4]])
        #expect(try lists { $0.limit(2, offset: 1).limit(5, offset: 1) } == [[], [5]])
        #expect(try lists { $0.sorted(by: \.date.desc).or(.filter(\.date == 1).limit(1)) } == [[2, 1], [6, 5, 4, 3]])
        // Unlinked entities don't count either.
        #expect(try lists { _ in Post.query([6, 1, 5, 2, 3]).limit(2) } == [[1, 2], [6, 5]])
        #expect(try lists { $0.schemaQuery().limit(1) } == [[1], [1]])
    }

    @Test("a part of a part has the right entities, for any numbers")
    func parts() throws {
        var context = Context()
        for id in 1...9 { try Post(id: id, date: id, likes: 0).save(to: &context) }
        let some = Post.query().limit(5, offset: 2)
        #expect(try some.limit(3, offset: 3).ids(in: context) == [6, 7])
        #expect(try some.limit(.max, offset: .max).ids(in: context).isEmpty)
        #expect(try Post.query().limit(.max, offset: .max).limit(2, offset: .max).count(in: context) == 0)
        #expect(try some.first(in: context)?.id == 3)
        #expect(try some.last().resolve(in: context)?.id == 7)
        #expect(try some.limit(-1).limit(2).ids(in: context).isEmpty)
    }

    @Test("continuing after an entity uses the present order")
    func position() throws {
        var context = Context()
        let posts = (1...6).map { Post(id: $0, date: $0, likes: 10 - $0) }
        for post in posts { try post.save(to: &context) }
        let behind = Post.query().sorted(by: \.date).after(posts[2])
        #expect(try behind.ids(in: context) == [4, 5, 6])
        #expect(try behind.sorted(by: \.likes).ids(in: context) == [6, 5, 4])
        #expect(try behind.sorted(by: \.likes).limit(1).ids(in: context) == [6])
        #expect(try behind.filter(\.likes < 6).ids(in: context) == [5, 6])
        #expect(try behind.after(posts[4]).ids(in: context) == [6])
        // A page's limit counts from its position on, and only the page is ordered.
        #expect(try behind.limit(2).sorted(by: \.likes).ids(in: context) == [5, 4])
        #expect(try behind.sorted(by: \.likes).count(in: context) == 3)
    }
}
