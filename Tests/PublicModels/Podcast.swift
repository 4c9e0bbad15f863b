// SPDX-License-Identifier: Apache-2.0
// Entities in a module of their own, like an app's model in a package. All that other modules use is public.

import Foundation
import Hornbeam

@EntityModel
public struct Podcast: Codable, Sendable {
    public let id: TypedID<Podcast, Int>
    public var title: String

    @Relationship(deleteRule: .cascade, inverse: \.podcast) public var episodes: [Episode]?
    @Relationship() public var cover: Cover?

    public init(
        id: ID, title: String, episodes: ToMany<Episode> = .none, cover: OneWayToOne<Cover> = .none
    ) {
        self.id = id
        self.title = title
        $episodes = episodes
        $cover = cover
    }
}

@EntityModel
public struct Episode: Codable, Sendable {
    @Index<Self>(\.$podcast.id, \.published.desc) private var byPodcast
    @Unique<Self>(\.$podcast.id, \.number, collisions: .throw) private var byNumber

    public let id: TypedID<Episode, Int>
    public var number: Int
    public var published: Date

    @Relationship(.required, inverse: \.episodes) public var podcast: Podcast?
    @Relationship(inverse: \.episodes) public var guests: [Guest]?

    public init(
        id: ID, number: Int, published: Date, podcast: RequiredToOne<Podcast>, guests: ToMany<Guest> = .none
    ) {
        self.id = id
        self.number = number
        self.published = published
        $podcast = podcast
        $guests = guests
    }
}

@EntityModel
public struct Guest: Codable, Sendable {
    public let id: String

    @Relationship(inverse: \.guests) public var episodes: [Episode]?
    @Relationship(inverse: \.guest) public var portrait: Cover?

    public init(id: String, episodes: ToMany<Episode> = .none, portrait: ToOne<Cover> = .none) {
        self.id = id
        $episodes = episodes
        $portrait = portrait
    }
}

@EntityModel
public struct Cover: Codable, Sendable {
    public let id: UUID

    @Relationship(inverse: \.portrait) public var guest: Guest?
    @Relationship() public var places: [Place]?
    @Relationship(.required) public var origin: Place?

    public init(
        id: UUID, origin: OneWayRequiredToOne<Place>, places: OneWayToMany<Place> = .none, guest: ToOne<Guest> = .none
    ) {
        self.id = id
        $origin = origin
        $places = places
        $guest = guest
    }
}

@EntityModel
public struct Place: Codable, Sendable {
    public let id: Int

    public init(id: Int) { self.id = id }
}
