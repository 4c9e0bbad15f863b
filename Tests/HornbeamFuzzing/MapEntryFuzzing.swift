// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the stored data of map indexes. Any bytes read as a key, as an entry's value or as a reducer's partial
// result give a valid result or none; the bytes written for a result give that result again.

import Foundation
import Hornbeam
import HornbeamMapReduce
import HornbeamPages

/// The first byte chooses how the rest is read.
public func fuzzMapEntries(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    let bytes = UnsafeRawBufferPointer(rebasing: input[1...])
    switch choice % 16 {
    case 0: readKey(bytes)
    case 1: readEntry(bytes)
    case 2: readPartial(.count() as CountReducer<Int>, bytes)
    case 3: readPartial(.sum() as IntegerSumReducer<Int>, bytes)
    case 4: readPartial(.sum() as IntegerSumReducer<UInt64>, bytes)
    case 5: readPartial(.sum() as FloatingSumReducer, bytes)
    case 6: readPartial(.average() as AverageReducer<Double>, bytes)
    case 7: readPartial(.stats() as StatisticsReducer<Int>, bytes)
    case 8: readPartial(.stats() as StatisticsReducer<Double>, bytes)
    case 9: readPartial(.min() as ChosenValueReducer<String>, bytes)
    case 10: readPartial(.max() as ChosenValueReducer<Double>, bytes)
    case 11: readPartial(.first() as ChosenValueReducer<Date>, bytes)
    case 12: readPartial(.last() as ChosenValueReducer<MapKey>, bytes)
    case 13: readPartial(.top(3) as TopReducer<Int>, bytes)
    case 14: readPartial(.bottom(2) as TopReducer<String>, bytes)
    default: readPartial(.distinctEstimate() as DistinctReducer<Int>, bytes)
    }
}

private func readKey(_ bytes: UnsafeRawBufferPointer) {
    guard let key = MapKey(columnValue: .data(Data(bytes))) else { return }
    precondition(MapKey(columnValue: key.columnValue) == key, "a key that was read and written reads differently")
}

private func readEntry(_ bytes: UnsafeRawBufferPointer) {
    guard let entry = MapEntryValue(bytes) else { return }
    let again = MapEntryValue.bytes(
        id: entry.id.map { Array($0) }, link: entry.link.map { Array($0) }, key: entry.key.map { Array($0) },
        value: entry.value.map { Array($0) })
    precondition(again?.elementsEqual(bytes) == true, "an entry's parts give other bytes than they were read from")
    _ = try? entry.value(as: Int.self)
    _ = try? entry.value(as: String.self)
    _ = try? entry.value(as: [Double?].self)
    _ = try? entry.value(as: MapKey.self)
    if let link = entry.link.flatMap({ EntityLink($0) }), let stored = entry.link {
        precondition(link.bytes.elementsEqual(stored), "a link gives other bytes than it was read from")
    }
}

private func readPartial<Reduce: Reducer>(_ reducer: Reduce, _ bytes: UnsafeRawBufferPointer) {
    guard let partial = reducer.decode(bytes) else { return }
    var sum = reducer.identity
    for _ in 0..<3 { reducer.combine(&sum, with: partial) }
    _ = try? reducer.finish(sum)
    guard let stored = reducer.encode(partial) else { return }
    let again = stored.withUnsafeBytes { reducer.decode($0) }
    precondition(again != nil, "a partial that was read can't be read once more")
}
