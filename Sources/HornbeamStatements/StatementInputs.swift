// SPDX-License-Identifier: Apache-2.0
// The values that all parts of a statement share in one run: parameters, and the time.

import FoundationEssentials

/// The inputs of a run. A class, because the binders of a statement and of its subqueries note together which
/// parameters are used.
final class StatementInputs {
    private let parameters: StatementParameters
    private var used: Set<Parameter.Name> = []
    /// The value of NOW().
    let moment = Date().timeIntervalSinceReferenceDate
    /// Bytes that the values of subqueries take.
    let kept = KeptBytes()
    /// The rows of the subqueries in FROM, by their positions: a subquery of WITH is run once, however often it is
    /// used.
    var rows: [TextPlace: SubqueryRows] = [:]
    /// The results of the subqueries behind IN and EXISTS, by their positions: an expression may be bound more than
    /// once.
    var values: [TextPlace: [StatementValue]] = [:]
    var found: [TextPlace: Bool] = [:]
    /// Whether only the names of the result's columns are asked for, so that no subquery is run.
    let isForNames: Bool
    /// Whether the steps are counted.
    let isAnalysed: Bool
    /// The steps of the subqueries of an analysed statement, in the order in which they were run.
    var subqueries: [PlanStep] = []

    init(
        _ parameters: StatementParameters = StatementParameters(), isForNames: Bool = false, isAnalysed: Bool = false
    ) {
        self.parameters = parameters
        self.isForNames = isForNames
        self.isAnalysed = isAnalysed
    }

    /// The value that is given for a parameter; nil if none is.
    func value(of name: Parameter.Name) -> Value? {
        used.insert(name)
        return switch name {
        case .position(let position):
            parameters.positions.indices.contains(position - 1) ? parameters.positions[position - 1] : nil
        case .name(let name): parameters.names[name]
        }
    }

    /// Refuses values for parameters that the statement doesn't have. Must be called when the whole statement is bound.
    func requireUse() throws(HornbeamError) {
        let last = used.reduce(0) { if case .position(let position) = $1 { max($0, position) } else { $0 } }
        if parameters.positions.count > last {
            throw HornbeamError(
                .invalid,
                "the statement has \(Spelling.counted(last, "parameter")), and "
                    + "\(Spelling.counted(parameters.positions.count, "value is", "values are")) given")
        }
        if let name = parameters.names.keys.sorted().first(where: { !used.contains(.name($0)) }) {
            throw HornbeamError(.invalid, "the statement has no parameter $\(name), for which a value is given")
        }
    }
}
