// SPDX-License-Identifier: Apache-2.0
// Which of several full-text indexes says what a word is: the same one for a filter, with or without the index's help,
// for highlights and for snippets, so that what is found is what is marked.

enum TextWording {
    /// The place of the index that says it of some columns, among those that are there, as they are declared: the one
    /// over exactly these, in their order or in another one; else the first that has all of them among its own; else
    /// the first that has one of them.
    static func place(of columns: [Int], in indexes: [[Int]]) -> Int? {
        if let exact = indexes.firstIndex(of: columns) { return exact }
        let wanted = Set(columns)
        return indexes.firstIndex { $0.count == wanted.count && Set($0) == wanted }
            ?? indexes.firstIndex { wanted.isSubset(of: $0) } ?? indexes.firstIndex { !wanted.isDisjoint(with: $0) }
    }
}
