// SPDX-License-Identifier: Apache-2.0
// The model of the service: the stored parcels, and their form for clients.

import Hornbeam

/// A parcel on its way. Clients send and receive its JSON.
@EntityModel
public struct Parcel: Codable, Sendable {
    @Index<Self>(\.state, \.id) private var byState

    public let id: Int
    public var state: String
    public var address: String
    public var grams: Int

    enum CodingKeys: String, CodingKey {
        case id, state, address, grams
    }
}
