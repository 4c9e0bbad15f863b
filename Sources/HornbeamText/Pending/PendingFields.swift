// SPDX-License-Identifier: Apache-2.0
// Per-field counts of pending postings. They follow from the positions and the documents' sections, and are computed
// for a whole term when first asked for.

import HornbeamPages

extension PendingPart {
    /// Returns the per-field counts of the posting with this source and these positions. Returns nil if its document
    /// has a single section.
    func fieldCounts(_ docno: UInt32, of source: UInt64, _ positions: [UInt32]) -> FieldCounts? {
        Self.fieldCounts(docno, of: source, segments, positions)
    }

    fileprivate static func fieldCounts(
        _ docno: UInt32, of source: UInt64, _ segments: [PendingSegment], _ positions: [UInt32]
    ) -> FieldCounts? {
        let segment = segments[Int(source >> 32)]
        // Without positions the fields are unknown.
        guard segment.hasSections, !positions.isEmpty, let document = segment.document(docno),
            !document.sections.isEmpty
        else { return nil }
        // They were checked before.
        return document.sections.withBytes { FieldEnds(sections: $0) }?.counts(positions)
    }
}

/// The fields of a term's pending postings. Unchecked: the memory is written before it is shared.
final class PendingFields: @unchecked Sendable {
    /// Bounds of each 128 postings.
    let blockBounds: [FieldBounds]
    let bounds: FieldBounds
    private let counts: [FieldCounts]

    init(_ postings: PendingPostings, _ sources: [UInt64], _ segments: [PendingSegment]) {
        var positions: [UInt32] = []
        var (counts, blocks, all): ([FieldCounts], [FieldBounds], FieldBounds) = ([], [], FieldBounds())
        counts.reserveCapacity(postings.count)
        for place in 0..<postings.count {
            positions.removeAll(keepingCapacity: true)
            GatheredPostings.appendPositions(sources[place], segments, to: &positions)
            let found =
                PendingPart.fieldCounts(postings.docnos[place], of: sources[place], segments, positions)
                ?? FieldCounts(postings.frequencies[place], 0, 0, 0)
            counts.append(found)
            if place % PendingPostings.blockSize == 0 { blocks.append(FieldBounds()) }
            blocks[blocks.count - 1].add(found, length: postings.lengths[place])
        }
        for block in blocks { all.formUnion(block) }
        (self.counts, blockBounds, bounds) = (counts, blocks, all)
    }

    subscript(place: Int) -> FieldCounts { counts[place] }
}
