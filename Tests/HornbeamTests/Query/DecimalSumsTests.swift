// SPDX-License-Identifier: Apache-2.0
// Sums of decimals and floats, compared with sums of integers, and in any order.

import Foundation
import Hornbeam
import HornbeamTestSupport
import Testing

@EntityModel
private struct Booking {
    let id: Int
    var amount: Decimal
}

@Suite("Sums of decimals and floats")
struct DecimalSumsTests {
    private func decimal(_ text: String) throws -> Decimal { try #require(Decimal(string: text)) }

    private func sum(_ numbers: [Decimal]) throws -> Decimal {
        var sum = DecimalSummation()
        for number in numbers { sum.add(number) }
        return try sum.total()
    }

    @Test("are those of integers", .seeded)
    func exact() throws {
        var random = SeededGenerator()
        for _ in 0..<60 {
            var units: Int128 = 0
            let numbers = try (0..<random.below(60)).map { _ in
                let mantissa = Int.random(in: -1_000_000_000_000...1_000_000_000_000, using: &random)
                let exponent = Int.random(in: -10...6, using: &random)
                units += (0..<exponent + 10).reduce(Int128(mantissa)) { power, _ in power * 10 }
                return try decimal("\(mantissa)e\(exponent)")
            }
            #expect(try sum(numbers) == decimal("\(units)e-10"))
            let mean = units.quotientAndRemainder(dividingBy: Int128(max(numbers.count, 1)))
            guard mean.remainder == 0, !numbers.isEmpty else { continue }
            var all = DecimalSummation()
            for number in numbers { all.add(number) }
            #expect(try Decimal.average(all, count: numbers.count) == decimal("\(mean.quotient)e-10"))
        }
    }

    @Test("are the same in every order, with any intermediate sums", .seeded)
    func orders() throws {
        var random = SeededGenerator()
        let greatest = Decimal.greatestFiniteMagnitude
        let (least, digits) = (try decimal("1e-128"), try decimal("340282366920938463463374607431768211455"))
        for (numbers, total) in [
            ([greatest, greatest, -greatest, -greatest], Decimal(0)), ([greatest, greatest, -greatest], greatest),
            ([greatest, least, -greatest], least), ([-greatest, least, greatest, 3, -3], least),
            ([digits, try decimal("0.1"), -digits], try decimal("0.1")),
            // Rounded once, halves away from zero: one more digit than a mantissa holds.
            ([digits, try decimal("0.4")], digits), ([-digits, try decimal("-0.4")], -digits),
            ([try decimal("1e37"), try decimal("0.5")], try decimal("10000000000000000000000000000000000000.5")),
            ([try decimal("3e38"), try decimal("0.5")], try decimal("300000000000000000000000000000000000001")),
            ([try decimal("-3e38"), try decimal("-0.5")], try decimal("-300000000000000000000000000000000000001")),
            (
                [try decimal("3e38"), try decimal("0.4"), try decimal("0.1")],
                try decimal("300000000000000000000000000000000000001")
            ),
            ([digits, 1], try decimal("34028236692093846346337460743176821146e1")),
            ([try decimal("5e126"), try decimal("5e126")], try decimal("1e127")), ([], 0), ([-1, -2], -3),
        ] {
            for _ in 0..<12 {
                let numbers = numbers.shuffled(using: &random)
                #expect(try sum(numbers) == total, "\(numbers)")
            }
        }
        #expect(try sum([1, .nan, 2]).isNaN)
    }

    @Test("beyond the greatest decimal are an error, and their mean is not")
    func overflow() throws {
        var sum = DecimalSummation()
        for _ in 0..<3 { sum.add(.greatestFiniteMagnitude) }
        let error = #expect(throws: HornbeamError.self) { try sum.total() }
        #expect(error?.code == .invalid && error?.message.contains("greatest") == true)
        #expect(Decimal.average(sum, count: 3) == .greatestFiniteMagnitude)
        var thirds = DecimalSummation()
        thirds.add(2)
        #expect(try Decimal.average(thirds, count: 3) == decimal("0.66666666666666666666666666666666666667"))
        let context = try stored([.greatestFiniteMagnitude, .greatestFiniteMagnitude, -1])
        #expect(throws: HornbeamError.self) { try Booking.query().sum(\.amount, in: context) }
        #expect(try Booking.filter(\.id < 1).sum(\.amount, in: context) == .greatestFiniteMagnitude)
    }

    private func stored(_ amounts: [Decimal]) throws -> Context {
        var context = Context()
        for (id, amount) in amounts.enumerated() { try Booking(id: id, amount: amount).save(to: &context) }
        return context
    }

    @Test("of queries and of statements are the same")
    func queries() throws {
        let amounts = [try decimal("1e30"), try decimal("1e-20"), try decimal("-1e30"), try decimal("2e-20")]
        let total = try decimal("3e-20")
        let context = try stored(amounts)
        #expect(try Booking.query().sum(\.amount, in: context) == total)
        #expect(try Booking.query().average(\.amount, in: context) == decimal("0.75e-20"))
        let rows = try Statement("SELECT SUM(amount) AS total, AVG(amount) AS mean FROM Booking").resolve(in: context)
        #expect(try rows[0].value("total", as: Decimal.self) == total)
        #expect(try rows[0].value("mean", as: Decimal.self) == decimal("0.75e-20"))
    }

    @Test("of floats are rounded once", .seeded)
    func floats() throws {
        var random = SeededGenerator()
        // The sum is a little more than the middle between two floats: if it were first rounded to a double, it would
        // be the middle.
        let numbers: [Float] = [0x1p24, 1, 0x1p-40]
        for numbers in [numbers, numbers.map { -$0 }] {
            for _ in 0..<6 {
                var sum = FloatSummation()
                for number in numbers.shuffled(using: &random) { sum.add(number) }
                #expect(sum.total() == (numbers[0] > 0 ? 0x1p24 + 2 : -0x1p24 - 2))
            }
        }
        var half = FloatSummation()
        for number in [0x1p24, 1] as [Float] { half.add(number) }
        #expect(half.total() == 0x1p24)
        var great = FloatSummation()
        for number in [.greatestFiniteMagnitude, .greatestFiniteMagnitude, -.greatestFiniteMagnitude] as [Float] {
            great.add(number)
        }
        #expect(great.total() == .greatestFiniteMagnitude)
        great.add(.greatestFiniteMagnitude)
        #expect(great.total() == .infinity)
        great.add(-.infinity)
        #expect(great.total() == -.infinity)
    }
}
