// SPDX-License-Identifier: Apache-2.0
// The random numbers of all tests, which depend only on the seed. Without HORNBEAM_SEED the seeds are fixed; a number
// there is the only seed, and `random` draws new ones. Nothing is printed: a failure names its seed, in the test's
// argument or through the trait `seeded`.

import Glibc
package import Testing

/// SplitMix64.
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    /// Generates the numbers of `seed`, by default of this run's seed; a test that uses the default has the trait
    /// `seeded`.
    package init(seed: UInt64 = SeededGenerator.seed) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    package mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    /// Returns true with a probability of one in `count`.
    package mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        var word: UInt64 = 0
        for index in 0..<count {
            if index % 8 == 0 { word = next() }
            bytes.append(UInt8(truncatingIfNeeded: word))
            word >>= 8
        }
        return bytes
    }
}

// MARK: - Seeds

extension SeededGenerator {
    private enum Choice {
        case fixed
        case drawn
        case given(UInt64)
    }

    private static let choice: Choice = {
        guard let text = getenv("HORNBEAM_SEED").map({ String(cString: $0) }), !text.isEmpty else { return .fixed }
        if text == "random" { return .drawn }
        guard let seed = UInt64(text) else { preconditionFailure("HORNBEAM_SEED is a number or “random”, not \(text)") }
        return .given(seed)
    }()

    /// Returns the number of commits in a random run of change-sets: HORNBEAM_COMMITS, or so few that a test takes
    /// seconds.
    package static func commits(_ usual: Int) -> Int {
        guard let text = getenv("HORNBEAM_COMMITS").map({ String(cString: $0) }), !text.isEmpty else { return usual }
        guard let number = Int(text), number > 0 else {
            preconditionFailure("HORNBEAM_COMMITS is a number of commits, not \(text)")
        }
        return number
    }

    /// The seed of this run, for tests with a single seed.
    package static let seed: UInt64 = {
        switch choice {
        case .fixed: 1
        case .drawn: UInt64.random(in: 1...999_999_999)
        case .given(let seed): seed
        }
    }()

    /// Returns the seeds of a test that takes them as its argument: 1, 2 … `count`, as many new ones, or the given
    /// one.
    package static func seeds(_ count: Int) -> [UInt64] {
        switch choice {
        case .fixed: (0..<count).map { UInt64($0) + 1 }
        case .drawn: (0..<count).map { _ in UInt64.random(in: 1...999_999_999) }
        case .given(let seed): [seed]
        }
    }
}

extension Trait where Self == IssueHandlingTrait {
    /// For a test that uses this run's seed: every failure in it, also a thrown error, says how to replay it.
    package static var seeded: Self {
        .compactMapIssues { issue in
            var issue = issue
            issue.comments.append("HORNBEAM_SEED=\(SeededGenerator.seed)")
            return issue
        }
    }
}
