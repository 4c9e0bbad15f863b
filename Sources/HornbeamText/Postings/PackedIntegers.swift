// SPDX-License-Identifier: Apache-2.0
// Up to 128 integers in as many bits as most of them need. A full group of 128 is packed in four lanes, integer i in
// lane i mod 4, so that shifts and masks of one vector unpack four of them (the layout of SIMD-BP128: Lemire, Boytsov,
// “Decoding billions of integers per second through vectorization”, 2015). The few that need more bits are patched in
// afterwards (PFOR: Zukowski, Héman, Nes, Boncz, “Super-scalar RAM-CPU cache compression”, 2006).
//
//   size  content
//      1  bits of an integer, 0 to 32; 0x40 is added if exceptions follow
//    0-…  128 integers: 16 · bits bytes, four lanes of u32; fewer: one behind the other from the lowest bit on, the
//         last byte filled up with zeros
//    1-…  exceptions, if any: their number u8, then for each, ascending, its index u8 and its higher bits, varint
//
// Reading returns nil for bytes that this code can't have written, and never reads beyond the bytes it is given.

import HornbeamPages

/// The coding of a group.
enum PackedIntegers {
    /// Integers in a full group.
    static let capacity = 128
    /// Maximum size of a group in bytes.
    static let sizeLimit = 1 + 16 * 32 + 1 + capacity * (1 + 5)

    private static let exceptionMark: UInt8 = 0x40

    /// Returns the size in bytes of `count` integers of `bits` bits.
    @inline(__always)
    static func payloadSize(count: Int, bits: Int) -> Int {
        count == capacity ? 16 * bits : (count * bits + 7) / 8
    }

    @inline(__always)
    private static func width(_ value: UInt32) -> Int { 32 &- value.leadingZeroBitCount }
}

// Writing.
extension PackedIntegers {
    /// A choice of bits, with the size it leads to.
    struct Plan {
        var bits: Int
        var exceptions: Int
        var size: Int
    }

    /// Returns the smallest coding of the values.
    static func plan(_ values: UnsafePointer<UInt32>, count: Int) -> Plan {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 33) { widths in
            // Never nil: it isn't empty.
            guard let widths = widths.baseAddress else { return Plan(bits: 32, exceptions: 0, size: 0) }
            widths.initialize(repeating: 0, count: 33)
            for place in 0..<count { widths[width(values[place])] &+= 1 }
            var widest = 32
            while widest > 0, widths[widest] == 0 { widest -= 1 }
            var best = Plan(bits: widest, exceptions: 0, size: 1 + payloadSize(count: count, bits: widest))
            var exceptions = 0
            for bits in stride(from: widest - 1, through: 0, by: -1) {
                exceptions += Int(widths[bits + 1])
                // An exception takes at least two bytes; one more bit for all integers of a full group takes 16.
                guard exceptions * 2 < 16 * (widest - bits) else { continue }
                var size = 2 + payloadSize(count: count, bits: bits)
                for width in bits + 1...widest { size += Int(widths[width]) * (1 + (width - bits + 6) / 7) }
                if size < best.size { best = Plan(bits: bits, exceptions: exceptions, size: size) }
            }
            return best
        }
    }

    /// Writes the group. Returns the address of its end. There must be room for `sizeLimit` bytes.
    static func encode(
        _ values: UnsafePointer<UInt32>, count: Int, _ plan: Plan, to target: UnsafeMutableRawPointer
    ) -> UnsafeMutableRawPointer {
        precondition(count > 0 && count <= capacity)
        let bits = plan.bits
        let mark = plan.exceptions > 0 ? exceptionMark : 0
        target.storeBytes(of: UInt8(truncatingIfNeeded: bits) | mark, as: UInt8.self)
        var end = target + 1
        pack(values, count: count, bits: bits, to: end)
        end += payloadSize(count: count, bits: bits)
        guard plan.exceptions > 0 else { return end }
        end.storeBytes(of: UInt8(truncatingIfNeeded: plan.exceptions), as: UInt8.self)
        end += 1
        for place in 0..<count where width(values[place]) > bits {
            end.storeBytes(of: UInt8(truncatingIfNeeded: place), as: UInt8.self)
            end = (end + 1).storeVarint(UInt64(values[place] >> UInt32(bits)))
        }
        return end
    }

    /// Writes only the integers: `payloadSize` bytes.
    static func pack(_ values: UnsafePointer<UInt32>, count: Int, bits: Int, to target: UnsafeMutableRawPointer) {
        if count == capacity { packLanes(values, bits, target) } else { packBits(values, count, bits, target) }
    }

    @inline(__always)
    private static func mask(_ bits: Int) -> UInt32 { bits == 32 ? .max : 1 &<< UInt32(bits) &- 1 }

    private static func packLanes(_ values: UnsafePointer<UInt32>, _ bits: Int, _ target: UnsafeMutableRawPointer) {
        guard bits > 0 else { return }
        let source = UnsafeRawPointer(values)
        let mask = SIMD4<UInt32>(repeating: mask(bits))
        var word = SIMD4<UInt32>()
        var (used, offset) = (0, 0)
        for row in 0..<32 {
            let value = source.loadUnaligned(fromByteOffset: 16 * row, as: SIMD4<UInt32>.self) & mask
            word |= value &<< SIMD4<UInt32>(repeating: UInt32(truncatingIfNeeded: used))
            used &+= bits
            if used >= 32 {
                target.storeBytes(of: word, toByteOffset: offset, as: SIMD4<UInt32>.self)
                offset &+= 16
                used &-= 32
                // The bits that didn't fit. None if the word ended with the value.
                let rest = UInt32(truncatingIfNeeded: bits &- used)
                word = used == 0 ? SIMD4<UInt32>() : value &>> SIMD4<UInt32>(repeating: rest)
            }
        }
    }

    private static func packBits(
        _ values: UnsafePointer<UInt32>, _ count: Int, _ bits: Int, _ target: UnsafeMutableRawPointer
    ) {
        guard bits > 0 else { return }
        let mask = UInt64(mask(bits))
        var (waiting, used, offset): (UInt64, Int, Int) = (0, 0, 0)
        for place in 0..<count {
            waiting |= (UInt64(values[place]) & mask) &<< UInt64(used)
            used &+= bits
            while used >= 8 {
                target.storeBytes(of: UInt8(truncatingIfNeeded: waiting), toByteOffset: offset, as: UInt8.self)
                offset &+= 1
                waiting &>>= 8
                used &-= 8
            }
        }
        if used > 0 {
            target.storeBytes(of: UInt8(truncatingIfNeeded: waiting), toByteOffset: offset, as: UInt8.self)
        }
    }
}

// Reading.
extension PackedIntegers {
    /// Reads a group of `count` integers into `target`, which has room for them. Returns an upper bound of all of them
    /// (a number that has all their bits), or nil if the bytes don't begin with such a group.
    @inline(__always)
    static func decode(
        _ reader: inout ByteReader, count: Int, to target: UnsafeMutablePointer<UInt32>
    ) -> UInt32? {
        guard let head = reader.byte(), head & 0x80 == 0 else { return nil }
        let bits = Int(head & 0x3F)
        guard bits <= 32, let payload = reader.slice(UInt64(payloadSize(count: count, bits: bits))) else { return nil }
        guard unpack(payload, count: count, bits: bits, to: target) else { return nil }
        guard head & exceptionMark != 0 else { return mask(bits) }
        return patch(&reader, count, bits, target)
    }

    /// Reads integers that `pack` wrote; `payload` has `payloadSize` bytes. Returns false if there are bits behind the
    /// last one.
    @inline(__always)
    static func unpack(
        _ payload: Bytes, count: Int, bits: Int, to target: UnsafeMutablePointer<UInt32>
    ) -> Bool {
        guard count == capacity else { return unpackBits(payload, count, bits, target) }
        unpackLanes(payload, bits, target)
        return true
    }

    /// Unpacks a full group. Nearly all groups have few bits. With that number and all offsets known at compile time, a
    /// row takes two to five instructions.
    private static func unpackLanes(_ payload: Bytes, _ bits: Int, _ target: UnsafeMutablePointer<UInt32>) {
        guard bits > 0, let source = payload.baseAddress else {
            return target.update(repeating: 0, count: capacity)
        }
        let target = UnsafeMutableRawPointer(target)
        switch bits {
        case 1: unpackRows(source, 1, target)
        case 2: unpackRows(source, 2, target)
        case 3: unpackRows(source, 3, target)
        case 4: unpackRows(source, 4, target)
        case 5: unpackRows(source, 5, target)
        case 6: unpackRows(source, 6, target)
        case 7: unpackRows(source, 7, target)
        case 8: unpackRows(source, 8, target)
        case 9: unpackRows(source, 9, target)
        case 10: unpackRows(source, 10, target)
        default: for row in 0..<rows { unpackRow(row, source, bits, target) }
        }
    }

    /// Number of rows of four lanes in a full group.
    private static let rows = capacity / 4

    @inline(__always)
    private static func unpackRows(_ source: UnsafeRawPointer, _ bits: Int, _ target: UnsafeMutableRawPointer) {
        unpackEightRows(0, source, bits, target)
        unpackEightRows(8, source, bits, target)
        unpackEightRows(16, source, bits, target)
        unpackEightRows(24, source, bits, target)
    }

    @inline(__always)
    private static func unpackEightRows(
        _ first: Int, _ source: UnsafeRawPointer, _ bits: Int, _ target: UnsafeMutableRawPointer
    ) {
        unpackRow(first, source, bits, target)
        unpackRow(first &+ 1, source, bits, target)
        unpackRow(first &+ 2, source, bits, target)
        unpackRow(first &+ 3, source, bits, target)
        unpackRow(first &+ 4, source, bits, target)
        unpackRow(first &+ 5, source, bits, target)
        unpackRow(first &+ 6, source, bits, target)
        unpackRow(first &+ 7, source, bits, target)
    }

    @inline(__always)
    private static func unpackRow(
        _ row: Int, _ source: UnsafeRawPointer, _ bits: Int, _ target: UnsafeMutableRawPointer
    ) {
        let (offset, shift) = ((row &* bits) &>> 5 &* 16, (row &* bits) & 31)
        let low = source.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt32>.self)
        var value = low &>> SIMD4<UInt32>(repeating: UInt32(truncatingIfNeeded: shift))
        if shift &+ bits > 32 {
            let high = source.loadUnaligned(fromByteOffset: offset &+ 16, as: SIMD4<UInt32>.self)
            value |= high &<< SIMD4<UInt32>(repeating: UInt32(truncatingIfNeeded: 32 &- shift))
        }
        if shift &+ bits != 32 { value &= SIMD4<UInt32>(repeating: mask(bits)) }
        target.storeBytes(of: value, toByteOffset: 16 &* row, as: SIMD4<UInt32>.self)
    }

    private static func unpackBits(
        _ payload: Bytes, _ count: Int, _ bits: Int, _ target: UnsafeMutablePointer<UInt32>
    ) -> Bool {
        guard bits > 0, let source = payload.baseAddress else {
            target.update(repeating: 0, count: count)
            return true
        }
        // Number of integers for which eight bytes can be loaded from the byte in which they begin.
        let whole = payload.count < 8 ? 0 : min(count, (8 &* (payload.count &- 8) &+ 7) / bits &+ 1)
        // Eight integers always begin at a byte boundary.
        switch bits {
        case 1: unpackEights(source, whole, 1, target)
        case 2: unpackEights(source, whole, 2, target)
        case 3: unpackEights(source, whole, 3, target)
        case 4: unpackEights(source, whole, 4, target)
        case 5: unpackEights(source, whole, 5, target)
        case 6: unpackEights(source, whole, 6, target)
        case 7: unpackEights(source, whole, 7, target)
        case 8: unpackEights(source, whole, 8, target)
        case 9: unpackEights(source, whole, 9, target)
        case 10: unpackEights(source, whole, 10, target)
        default: for place in 0..<whole { target[place] = unpackOne(source, place &* bits, bits) }
        }
        // The other integers lie in the last eight bytes.
        let word = lastWord(source, payload.count)
        let skipped = 8 &* max(payload.count &- 8, 0)
        for place in whole..<count {
            let shift = UInt64(truncatingIfNeeded: place &* bits &- skipped)
            target[place] = UInt32(truncatingIfNeeded: word &>> shift) & mask(bits)
        }
        let used = (count &* bits) & 7
        return used == 0 || payload[payload.count &- 1] &>> UInt8(truncatingIfNeeded: used) == 0
    }

    /// Returns the last eight bytes, or all if there are fewer.
    @inline(__always)
    private static func lastWord(_ source: UnsafeRawPointer, _ size: Int) -> UInt64 {
        if size >= 8 { return source.loadUnaligned(fromByteOffset: size &- 8, as: UInt64.self) }
        var word: UInt64 = 0
        for offset in 0..<size {
            word |= UInt64(source.load(fromByteOffset: offset, as: UInt8.self)) &<< UInt64(8 &* offset)
        }
        return word
    }

    /// Unpacks the first `count` integers. For each, eight bytes can be loaded from the byte in which it begins. With
    /// the number of bits known at compile time, the offsets within eight integers are constants.
    @inline(__always)
    private static func unpackEights(
        _ source: UnsafeRawPointer, _ count: Int, _ bits: Int, _ target: UnsafeMutablePointer<UInt32>
    ) {
        var place = 0
        var start = source
        while place &+ 8 <= count {
            for next in 0..<8 { target[place &+ next] = unpackOne(start, next &* bits, bits) }
            place &+= 8
            start += bits
        }
        while place < count {
            target[place] = unpackOne(source, place &* bits, bits)
            place &+= 1
        }
    }

    @inline(__always)
    private static func unpackOne(_ source: UnsafeRawPointer, _ bit: Int, _ bits: Int) -> UInt32 {
        let word = source.loadUnaligned(fromByteOffset: bit &>> 3, as: UInt64.self)
        return UInt32(truncatingIfNeeded: word &>> UInt64(truncatingIfNeeded: bit & 7)) & mask(bits)
    }

    /// Adds the higher bits of the exceptions.
    @inline(never)
    private static func patch(
        _ reader: inout ByteReader, _ count: Int, _ bits: Int, _ target: UnsafeMutablePointer<UInt32>
    ) -> UInt32? {
        guard bits < 32, let exceptions = reader.byte(), exceptions > 0 else { return nil }
        var all = mask(bits)
        var next = 0
        for _ in 0..<exceptions {
            guard let place = reader.byte(), Int(place) >= next, Int(place) < count, let high = reader.varint(),
                high > 0, high <= UInt64(UInt32.max &>> UInt32(bits))
            else { return nil }
            target[Int(place)] |= UInt32(truncatingIfNeeded: high) &<< UInt32(bits)
            all |= target[Int(place)]
            next = Int(place) + 1
        }
        return all
    }
}

// Reading one.
extension PackedIntegers {
    /// Returns the integer at index `place` of `count` integers that `pack` wrote; `payload` has `payloadSize` bytes.
    @inline(__always)
    static func value(_ place: Int, of payload: Bytes, count: Int, bits: Int) -> UInt32 {
        guard bits > 0, let source = payload.baseAddress else { return 0 }
        guard count == capacity else { return packedValue(place, source, payload.count, bits) }
        let bit = (place &>> 2) &* bits
        let (word, lane) = (bit &>> 5, place & 3)
        let low = source.loadUnaligned(fromByteOffset: (word &* 4 &+ lane) &* 4, as: UInt32.self)
        // The last row ends with the last word. If that word is loaded twice, its second copy is masked out.
        let next = min(word &+ 1, bits &- 1)
        let high = source.loadUnaligned(fromByteOffset: (next &* 4 &+ lane) &* 4, as: UInt32.self)
        let both = UInt64(high) &<< 32 | UInt64(low)
        return UInt32(truncatingIfNeeded: both &>> UInt64(bit & 31)) & mask(bits)
    }

    private static func packedValue(_ place: Int, _ source: UnsafeRawPointer, _ size: Int, _ bits: Int) -> UInt32 {
        let bit = place &* bits
        let first = bit &>> 3
        if first &+ 8 <= size { return unpackOne(source, bit, bits) }
        let skipped = 8 &* max(size &- 8, 0)
        return UInt32(truncatingIfNeeded: lastWord(source, size) &>> UInt64(bit &- skipped)) & mask(bits)
    }
}
