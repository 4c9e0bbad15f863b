// SPDX-License-Identifier: Apache-2.0
// The condition of a partial index as it is written: what may stand behind WHERE, if a file can keep it.

extension StoredCondition {
    /// The condition that `text` states, in the syntax of WHERE. `.invalid` unless it is a condition on stored
    /// properties that a file can keep.
    package init(statement text: String, _ type: EntityDescription) throws(HornbeamError) {
        let filter: PushedFilter?
        do {
            var binder = try Binder(text, to: type)
            let tree = try QueryLanguage.expression(text)
            if tree.isOfTime {
                throw HornbeamError(.invalid, "the condition “\(text)” of an index is not the same at all times")
            }
            let bound = try binder.bind(tree)
            filter = FilterPush(binder: binder, source: binder.sources[0], frame: Frame(slots: binder.slotCount))
                .filter(bound)
        } catch let error as HornbeamError {
            throw error
        } catch {
            throw HornbeamError(.invalid, "the condition “\(text)” can't be read: \(error)")
        }
        guard let filter, filter.isExact, let stored = StoredCondition(filter.filter, type) else {
            throw HornbeamError(
                .invalid,
                "its condition “\(text)” is not one that a file keeps: compare stored properties with values, ask with "
                    + "IN, BETWEEN, IS VALUED, CONTAINS or ARRAY_CONTAINS, and join such by AND, OR and NOT")
        }
        self = stored
    }
}
